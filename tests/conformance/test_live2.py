"""Sixteen minutes of a real cluster with Go, Java, Python and Node clients: the owners and incidents of the audit, held
against what the clients themselves wrote. No configuration, no Spark. `tests/data/live2/README.md` says what was done.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import number_ranges
from spark_jobs.domain.model.window import from_micros
from spark_jobs.pipeline.publish.rows import tables
from tests.support.agreement import SPLIT, Holder, agreement, held, owned
from tests.support.kernel import evaluated, recorded_rows, settings
from tests.support.tables import cells
from tests.unit.project.test_layers import ROOT

FOLDER = ROOT / "tests" / "data" / "live2"
HOUR = Interval.parse("2026-11-25T22:00/2026-11-25T23:00")
CADENCE = 10
#: Of begin and end: a collection interval, and a second for the call itself.
TOLERANCE = timedelta(seconds=CADENCE + 1)
SETTINGS = settings(CADENCE)
#: Seconds since 1970: the second round of the recorder, and when it stopped.
FIRST, END = (
    int(datetime(2026, 11, 25, 22, minute, second, tzinfo=UTC).timestamp()) for minute, second in ((22, 48), (38, 28))
)
#: The groups whose clients report their queues.
REPORTING = (*("go-block", "go-circle", "go-kill", "go-order", "go-subs", "go-twin", "mix-avg", "mix-hash", "old-avg"),)
#: rule | group | client ids | queues | begin | end, of all beyond INFO that is no symptom of another one (`…`: the
#: recording begins or ends there). Times are those of the events.
INCIDENTS = """
    DUPLICATE_CLIENT_ID   | go-twin   | 192.0.2.2@1     |                | 22:24:58 | 22:32:28
    GROUP_OFFLINE         | go-kill   |                 |                | 22:34:58 | 22:36:28
    CLIENT_HUNG           | go-circle | 192.0.2.2@c2    | broker-a:1, broker-b:0,3 | 22:29:08 | 22:31:12
    MIXED_CLIENTS         | mix-hash  |                 |                | …        | 22:33:28
    CONSUMER_STOPPED      | go-block  |                 | broker-a:0-3   | 22:24:28 | 22:30:28
    UNASSIGNED_QUEUE      | go-order  | 192.0.2.2@19882 | broker-b:0-3   | 22:35:48 | 22:36:48
    SUBSCRIPTION_MISMATCH | go-subs   |                 |                | …        | …
    SUBSCRIPTION_MISMATCH | node-push |                 |                | 22:29:29 | …
"""
#: Clients behind a proxy consume less than the offsets show, which are those of what was handed out.
BEHIND_A_PROXY = ("py-slow",)


@pytest.fixture(scope="module")
def steps() -> Mapping[str, EvaluatedStep]:
    """The only step of each group."""
    found = evaluated(recorded_rows(FOLDER / "recording.jsonl.gz"), HOUR, SETTINGS)
    return {step.step.history.consumer_group: step for step in found}


def holders(group: str) -> list[Holder]:
    """Every process of a group, by its own log."""
    lines = [line.split() for line in (FOLDER / "holdings.txt").read_text("utf-8").splitlines()]
    processes: dict[str, list[list[str]]] = {}
    for of_group, process, *words in lines:
        if of_group == group:
            processes.setdefault(process, []).append(words)
    return [_holder(of_process) for of_process in processes.values()]


def _holder(lines: Sequence[Sequence[str]]) -> Holder:
    changes, suspended, since = [], [], 0.0
    for _, milliseconds, topic, queues in lines:
        at = int(milliseconds) / 1000
        if queues == "suspended":
            since = at
        elif queues == "goes-on":
            suspended.append((since, at))
        else:
            changes.append((at, topic, frozenset(queues.split(","))))
    return Holder(lines[0][0], changes, suspended)


def compared(group: str, step: EvaluatedStep) -> Counter[bool | None]:
    """How many seconds of its queues have the owners that hold them, but for the time around changes."""
    owners, seconds = owned(tables([step])["allocations"].to_pylist()), range(FIRST, END)
    assert SPLIT not in {ids for of_queue in owners.values() for ids in of_queue.values()}
    processes = holders(group)
    return agreement(owners, held(processes, owners, seconds), seconds, CADENCE, processes)


@pytest.mark.parametrize("group", REPORTING)
def test_owners_are_those_that_hold_the_queues(group: str, steps: Mapping[str, EvaluatedStep]) -> None:
    right = compared(group, steps[group])
    assert right[True] >= 0.99 * right.total() > 5000


def test_strategies_are_observed_where_nobody_reports_them(steps: Mapping[str, EvaluatedStep]) -> None:
    strategies = {
        group: {
            (member.strategy, interval.strategy_source)
            for interval in steps[group].step.replayed
            for member in interval.members or ()
        }
        for group in REPORTING
    }
    java = {"mix-hash": {("CONSISTENT_HASH", "CLIENT")}, "old-avg": {("AVG", "CLIENT")}, "mix-avg": {("AVG", "CLIENT")}}
    observed = {group: {("AVG", "OBSERVED")} for group in REPORTING if group.startswith("go-")}
    assert strategies == observed | {"go-circle": {("AVG_BY_CIRCLE", "OBSERVED")}} | java


def test_incidents_and_no_others(steps: Mapping[str, EvaluatedStep]) -> None:
    found = {
        (finding.rule, group): finding
        for group, step in steps.items()
        for finding in step.findings
        if finding.severity != "INFO" and finding.root_finding_id is None and group not in BEHIND_A_PROXY
    }
    assert found.keys() == {line[:2] for line in cells(INCIDENTS)}
    for rule, group, client_ids, queues, begin, end in cells(INCIDENTS):
        finding = found[rule, group]
        assert client_ids in ("", *finding.evidence.client_ids), rule
        assert queues in ("", _queues(finding.evidence.queues)), rule
        for moment, clock in ((finding.started_at, begin), (finding.ended_at, end)):
            assert clock == "…" or abs(from_micros(moment) - _at(clock)) <= TOLERANCE, (rule, group)


def test_what_a_broker_refuses_is_at_least_what_was_produced(steps: Mapping[str, EvaluatedStep]) -> None:
    """x1 gets nothing of t-kill, whose producer sends two messages a second to each queue; x2 gets t-old."""
    (refused,) = [each for each in steps["go-subs"].findings if each.cause == "REFUSED"]
    assert (_queues(refused.evidence.queues), refused.evidence.client_ids) == ("broker-a:0-3", ["192.0.2.2@17750"])
    assert abs((refused.evidence.backlog_max or 0) - 2 * 4 * (END - FIRST)) <= 2 * 4 * 60
    assert refused.root_finding_id is not None


def test_what_was_handed_out_is_at_least_what_waits(steps: Mapping[str, EvaluatedStep]) -> None:
    """Clients of py-slow and node-push pop through the proxy: what they hold is in no count."""
    minimum = {group: step.status.backlog_is_minimum for group, step in steps.items() if step.status}
    assert {group for group, is_minimum in minimum.items() if is_minimum} >= {"py-slow", "node-push"}
    assert not {group for group in REPORTING if minimum[group]}
    (lagging,) = [each for each in steps["py-slow"].findings if each.rule == "CONSUMER_LAGGING"]
    assert "come on top" in lagging.advice


def _at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-25T{clock}+00:00")


def _queues(evidence: Sequence[tuple[object, ...]]) -> str:
    ids_of: dict[str, set[int]] = {}
    for _, broker, number, *_ in evidence:
        ids_of.setdefault(str(broker), set()).add(int(str(number)))
    return ", ".join(f"{broker}:{number_ranges(sorted(ids))}" for broker, ids in sorted(ids_of.items()))
