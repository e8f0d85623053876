"""500 made groups: nothing beyond INFO is said of those in health, and of the others just what is wrong.

`SEED` names another five hundred.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.support.kernel import settings
from tests.support.made_groups.confusion import HOUR, kinds
from tests.support.made_groups.kinds import Kind
from tests.support.made_groups.planted import PLANTED
from tests.support.made_groups.recorder import recorded
from tests.support.made_groups.samples import START

#: An hour, asked every minute; what was seen holds for three.
SETTINGS = settings(60)
SEED = os.environ.get("SEED", "1")
GROUPS, UNHEALTHY = 500, 5 * len(PLANTED)


class Group(NamedTuple):
    kind: Kind
    evaluated: EvaluatedStep


def made() -> Iterator[Group]:
    for kind, number in kinds(GROUPS, UNHEALTHY):
        name, random = f"{kind.__name__}-{number}", Random(f"{SEED} {kind.__name__} {number}")
        history = recorded(name, kind(random, 1), random)
        (evaluated,) = evaluate(history, StrategySettings(), SETTINGS, START, START + HOUR)
        yield Group(kind, evaluated)


@pytest.fixture(scope="module")
def groups() -> list[Group]:
    return list(made())


def beyond_info(group: Group) -> set[str]:
    return {f"{one.rule}/{one.cause}" for one in group.evaluated.findings if one.severity != "INFO"}


def test_nothing_beyond_info_is_said_of_groups_in_health(groups: list[Group]) -> None:
    healthy = [one for one in groups if one.kind not in PLANTED]
    assert len(healthy) == GROUPS - UNHEALTHY
    alarmed = {one.evaluated.step.history.cluster: found for one in healthy if (found := beyond_info(one))}
    assert alarmed == {}


@pytest.mark.parametrize("kind", PLANTED, ids=lambda kind: kind.__name__)
def test_what_is_wrong_is_said_and_nothing_else(groups: list[Group], kind: Kind) -> None:
    of_kind = [one for one in groups if one.kind is kind]
    assert len(of_kind) == UNHEALTHY // len(PLANTED)
    for one in of_kind:
        assert beyond_info(one) == PLANTED[kind], one.evaluated.step.history.cluster


#: Kinds in which more consumers would have helped, or might: nobody is there, or the members consume too little.
TOO_FEW = {
    *("offline", "created_again_while_nobody_is_there", "slow_listener", "caches_too_much"),
    "leaves_while_much_is_in_flight",
}
#: A pause of a minute after a rebalance is shorter than `stalled_after_seconds`; or messages wait all the time.
MIGHT_BE = {"slow_start", "slave_serves", "queues_removed", "queues_removed_for_good", "much_in_flight"}


def test_more_consumers_are_advised_only_where_they_are_too_few(groups: list[Group]) -> None:
    advised = {one.kind.__name__ for one in groups if one.evaluated.status and one.evaluated.status.more_members_help}
    assert advised - MIGHT_BE == TOO_FEW


#: What limited the groups whose backlog is there at the beginning, and only falls.
LIMITS = {"batch": "WORKED_OFF", "stands_while_a_batch_is_worked_off": "STUCK_CONSUMER"}


@pytest.mark.parametrize("kind", LIMITS)
def test_a_queue_that_stands_in_a_backlog_that_falls_is_the_limit(groups: list[Group], kind: str) -> None:
    statuses = [one.evaluated.status for one in groups if one.kind.__name__ == kind]
    assert {status.bottleneck for status in statuses if status} == {LIMITS[kind]}


#: What becomes of the intervals of each kind, retry topics, time that was not recorded and topics that are gone aside.
REASONS = dict.fromkeys(("pop", "pops_after_a_pause", "grpc_on_a_broker"), "BROKER_REBALANCE")
REASONS |= {"behind_a_proxy": "CONSUMED_THROUGH_PROXY", "broadcasting": "BROADCASTING"}


def test_the_groups_are_what_their_kinds_say(groups: list[Group]) -> None:
    """Nobody is quiet because nothing of it can be evaluated; all life that was meant is there."""
    for one in groups:
        intervals = [
            each
            for each in one.evaluated.step.intervals
            if each.is_ordinary and each.status != "UNOBSERVED" and each.reason != "NO_ROUTE"
        ]
        found = {(str(each.status), each.reason and str(each.reason)) for each in intervals}
        if one.kind not in PLANTED:
            reason = REASONS.get(one.kind.__name__)
            status = "NOT_APPLICABLE" if reason else "REPLAYED"
            assert found == {(status, reason)}, one.evaluated.step.history
    told = {found.rule for one in groups for found in one.evaluated.findings if found.severity == "INFO"}
    assert told >= {"DUPLICATE_CLIENT_ID", "REDELIVERY_EXPOSURE", "MEMBERS_UNSEEN", "UNASSIGNED_QUEUE"}
