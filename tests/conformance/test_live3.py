"""A real cluster in the middle of an upgrade: what was done, and what is said about it. No Spark, no configuration.
`tests/data/live3/README.md` says what was done when.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.window import SECOND, from_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.what_if.rollout import other_orders
from tests.support.kernel import evaluated, recorded_rows, settings
from tests.support.tables import cells
from tests.unit.project.test_layers import ROOT

FOLDER = ROOT / "tests" / "data" / "live3"
HOUR = Interval.parse("2026-11-27T21:00/2026-11-27T22:00")
CADENCE = 10
#: Of begin and end: a collection interval, and a second for the call itself.
TOLERANCE = timedelta(seconds=CADENCE + 1)
Steps = Mapping[str, EvaluatedStep]
#: group | rule | cause | severity | queues | begin | end: all root causes beyond INFO.
INCIDENTS = """
    code-pause | CONSUMER_STOPPED    | SUSPENDED           | ERROR | broker-a:0-3 | 21:27:18 | 21:32:28
    cast-mix   | MIXED_CLIENTS       | DIFFERENT_MESSAGE_MODELS | ERROR |         | 21:29:52 | 21:34:53
    net-cut    | MEMBERSHIP_VIEW_SPLIT | BROKERS_DISAGREE  | ERROR |              | 21:30:30 | 21:32:13
    net-cut2   | MEMBERSHIP_VIEW_SPLIT | BROKERS_DISAGREE  | ERROR |              | 21:49:26 | 21:51:23
    dup-order  | DUPLICATE_CLIENT_ID | FIXED_INSTANCE_NAME | ERROR |              | 21:29:23 | 21:34:38
    back-reset | OFFSET_REWOUND      | RESET               | WARN  | broker-a:0-3, broker-b:0-3 | 21:32:48 | 21:33:40
"""


@pytest.fixture(scope="module")
def steps() -> Steps:
    """The only step of each group of both recordings."""
    files = (FOLDER / "recording.jsonl.gz", FOLDER / "b.jsonl.gz")
    found = [step for file in files for step in evaluated(recorded_rows(file), HOUR, settings(CADENCE))]
    return {step.step.history.consumer_group: step for step in found}


def roots(step: EvaluatedStep) -> list[Finding]:
    return [each for each in step.findings if each.severity != "INFO" and each.root_finding_id is None]


@pytest.mark.parametrize(("group", "rule", "cause", "severity", "queues", "begin", "end"), cells(INCIDENTS))
def test_what_was_done_is_the_only_root_cause(
    group: str, rule: str, cause: str, severity: str, queues: str, begin: str, end: str, steps: Steps
) -> None:
    (found,) = roots(steps[group])
    assert (found.rule, found.cause, found.severity) == (rule, cause, severity)
    places = {(queue.broker_name, queue.queue_id) for queue in found.evidence.queues}
    assert queues in ("", queue_ranges(places))
    for moment, clock in ((found.started_at, begin), (found.ended_at, end)):
        assert abs(from_micros(moment) - datetime.fromisoformat(f"2026-11-27T{clock}+00:00")) <= TOLERANCE


@pytest.mark.parametrize("group", ["up-java", "calm-ok", "lite-assign"])
def test_nothing_is_said_of_the_healthy(group: str, steps: Steps) -> None:
    assert roots(steps[group]) == []


def test_members_that_are_replaced_one_by_one_are_a_rollout(steps: Steps) -> None:
    """r5 starts at 21:30:18, r4 stops at 21:31:39. By the clients' logs 32 queues go to another one meanwhile, and 16
    messages are consumed twice.
    """
    step = steps["roll-web"]
    (rollout,) = [each for each in step.findings if each.rule == "ROLLOUT"]
    measures = dict(rollout.evidence.measures or ())
    counts = ("members_replaced", "waves", "queues_moved", "minimum_moves", "in_flight_total")
    assert (rollout.severity, *(measures[name] for name in counts)) == ("INFO", 4, 4, 32, 8, 24)
    for moment, clock in ((rollout.started_at, "21:30:18"), (rollout.ended_at - 20 * SECOND, "21:31:39")):
        assert abs(from_micros(moment) - datetime.fromisoformat(f"2026-11-27T{clock}+00:00")) <= TOLERANCE
    symptoms = {each.rule for each in step.findings if each.root_finding_id == rollout.finding_id}
    assert symptoms == {"REBALANCE_STORM", "REDELIVERY_EXPOSURE"}
    compared = other_orders([step.step], ["one-by-one"], StrategySettings())
    assert compared is not None
    assert [(each.queues_moved, each.in_flight) for each in compared.outcomes] == [(32, 24)] * 2


def test_a_suspended_client_is_no_matter_of_members(steps: Steps) -> None:
    status = steps["code-pause"].status
    assert status is not None
    assert (status.bottleneck, status.more_members_help) == ("SUSPENDED", False)
    assert "2,947 messages in 4 queues" in status.advice


def test_assigned_queues_have_a_backlog_and_the_others_are_not_theirs(steps: Steps) -> None:
    step = steps["lite-assign"]
    assert {row.interval.reason for row in step.step.progress} == {"ASSIGNED_BY_HAND"}
    queues = {queue for row in step.step.progress for queue in row.queues}
    assert queues == {*(("broker-a", number) for number in range(4)), ("broker-b", 0)}
    assert step.status is not None
    assert (step.status.bottleneck, step.status.more_members_help) == ("NO_BACKLOG", False)
