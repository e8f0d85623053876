"""500 synthetic groups: nothing beyond INFO is found in the healthy ones, and in the others exactly their fault.

`SEED` names another five hundred.
"""

import os
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.model.window import HOUR
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.what_if.answer import advice_in_numbers
from tests.support.kernel import settings
from tests.support.one_cause import assert_one_cause
from tests.support.synthetic_groups.healthy import HEALTHY, Kind
from tests.support.synthetic_groups.planted import PLANTED
from tests.support.synthetic_groups.recorder import recorded
from tests.support.synthetic_groups.samples import START

#: An hour, sampled every minute; a snapshot applies for three.
SETTINGS = settings(60)
SEED = os.environ.get("SEED", "1")
OF_EACH_FAULT = 5
HEALTHY_GROUPS = 500 - OF_EACH_FAULT * len(PLANTED)
Groups = Mapping[str, Sequence[EvaluatedStep]]


@pytest.fixture(scope="module")
def groups() -> Groups:
    """The only step of every group, by its kind."""
    kinds = {name: fault.life for name, fault in PLANTED.items()} | HEALTHY
    counts = dict.fromkeys(PLANTED, OF_EACH_FAULT)
    counts |= {name: len(range(number, HEALTHY_GROUPS, len(HEALTHY))) for number, name in enumerate(HEALTHY)}
    return {name: [evaluated(name, kinds[name], number) for number in range(counts[name])] for name in kinds}


def evaluated(kind: str, life: Kind, number: int) -> EvaluatedStep:
    random = Random(f"{SEED} {kind} {number}")
    history = recorded(f"{kind}-{number}", life(random), random)
    (step,) = evaluate(history, StrategySettings(), SETTINGS, START, START + HOUR, advice_in_numbers)
    return step


def beyond_info(step: EvaluatedStep) -> set[str]:
    return {f"{one.rule}/{one.cause}" for one in step.findings if one.severity != "INFO"}


@pytest.mark.parametrize("kind", HEALTHY)
def test_nothing_beyond_info_is_found_in_healthy_groups(groups: Groups, kind: str) -> None:
    assert [beyond_info(step) for step in groups[kind]] == [set()] * len(groups[kind])


@pytest.mark.parametrize("kind", PLANTED)
def test_the_fault_is_found_and_nothing_else(groups: Groups, kind: str) -> None:
    assert [beyond_info(step) for step in groups[kind]] == [PLANTED[kind].found] * OF_EACH_FAULT


#: Kinds in which more consumers would have helped: no member is there, or their caches are full all the time. Of a
#: slow listener nothing is reported that shows it.
TOO_FEW = {"offline", "created_again_while_offline", "caches_too_much"}


def test_more_consumers_are_advised_only_if_they_are_too_few(groups: Groups) -> None:
    statuses = {kind: [step.status for step in steps] for kind, steps in groups.items()}
    advised = {kind for kind, of in statuses.items() if any(status and status.more_members_help for status in of)}
    assert advised == TOO_FEW


@pytest.mark.parametrize(
    ("kind", "bottleneck"), [("batch", "WORKED_OFF"), ("stands_while_a_batch_is_worked_off", "STUCK_CONSUMER")]
)
def test_a_queue_that_stands_in_a_falling_backlog_is_the_bottleneck(groups: Groups, kind: str, bottleneck: str) -> None:
    assert {step.status.bottleneck for step in groups[kind] if step.status} == {bottleneck}


#: Why intervals of these kinds are not replayed.
REASONS = dict.fromkeys(("pop", "pops_after_a_pause", "grpc_on_a_broker"), "BROKER_REBALANCE")
REASONS |= {"behind_a_proxy": "CONSUMED_THROUGH_PROXY", "broadcasting": "BROADCASTING"}


@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_groups_are_replayed_or_not_as_their_kind_says(groups: Groups, kind: str) -> None:
    """Apart from retry topics, time that was not recorded, and topics without a route."""
    found = {
        (str(each.status), each.reason)
        for step in groups[kind]
        for each in step.step.intervals
        if each.is_ordinary and each.status != "UNOBSERVED" and each.reason != "NO_ROUTE"
    }
    assert found == {("NOT_APPLICABLE", REASONS[kind]) if kind in REASONS else ("REPLAYED", None)}


def test_healthy_groups_have_findings_of_info(groups: Groups) -> None:
    found = {
        each.rule for steps in groups.values() for step in steps for each in step.findings if each.severity == "INFO"
    }
    assert found >= {"DUPLICATE_CLIENT_ID", "REDELIVERY_EXPOSURE", "MEMBERS_UNSEEN", "UNASSIGNED_QUEUE"}


def test_a_queue_has_one_cause_and_one_backlog(groups: Groups) -> None:
    queues, bottlenecks, backlogs = assert_one_cause(step for steps in groups.values() for step in steps)
    assert queues > 200
    assert bottlenecks > 20
    assert backlogs > 300
