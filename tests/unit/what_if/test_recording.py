"""The model beside a recording of a real cluster: what it was, and the changes that were made while it was recorded."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.config.file import load
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.what_if.cases import UNCHANGED_CASE
from spark_jobs.what_if.outcome import compare
from spark_jobs.what_if.pace import members_of
from spark_jobs.what_if.recorded import Recorded, recorded
from spark_jobs.what_if.simulation import play
from tests.support.kernel import audited_steps, group_histories, recorded_rows

EXAMPLES = Path(__file__).parents[3] / "examples"
HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
#: The times of the recording's README are seconds after this.
T0 = to_micros(Interval.parse("2026-11-21T02:01:54.278Z/2026-11-21T03:00").start)
CONFIGURATION: Configuration = load(EXAMPLES / "demo.yaml")


@pytest.fixture(scope="module")
def groups() -> Mapping[str, GroupHistory]:
    rows = recorded_rows(EXAMPLES / "recording.jsonl.gz")
    return {history.consumer_group: history for history in group_histories(rows)}


def steps_of(history: GroupHistory) -> list[AuditedStep]:
    names = history.cluster, history.consumer_group
    settings, configured = audit_settings(CONFIGURATION, *names), strategy_settings(CONFIGURATION, *names)
    return audited_steps(history, settings, HOUR, configured)


def test_played_as_it_was_every_group_is_near_what_was_recorded(groups: Mapping[str, GroupHistory]) -> None:
    far = {}
    for name, history in groups.items():
        configured = strategy_settings(CONFIGURATION, history.cluster, name)
        found = compare(steps_of(history), [UNCHANGED_CASE], configured)
        if found is not None:
            assert found.error is not None
            assert found.recorded.highest is not None
            far[name] = found.error / max(20, found.recorded.highest / 10)
    assert len(far) == 15
    assert {name: distance for name, distance in far.items() if distance > 1} == {}


#: Changes that were made while it was recorded: the group, from which seconds the members are known, and which are
#: predicted. Of the recording's README; `foreseen`: the highest backlog and when it is drained come out right.
CHANGES = [
    ("twins for ten minutes, known from members with ids of their own", "payment-service", (33, 301), (321.6, 921.6)),
    ("twins for ten minutes, known from after the cure", "payment-service", (951, 1500), (321.6, 921.6)),
    ("twins get ids of their own", "payment-service", (321, 921), (942, 1500)),
    ("both members leave", "batch-export", (33, 240), (245, 720)),
    ("both come back", "batch-export", (33, 240), (720, 1010)),
    ("3 members, then 5", "order-service", (33, 360), (372, 600)),
    ("5 members, then 4", "order-service", (33, 360), (612, 1190)),
    ("a member leaves and joins", "flapper", (33, 620), (622, 900)),
    ("one of three leaves", "near-service", (33, 780), (790, 1190)),
    ("a shared id under CONSISTENT_HASH", "tick-service", (33, 480), (490, 840)),
    ("one of five freezes", "audit-service", (33, 540), (545, 655)),
    ("the frozen one is dropped", "audit-service", (33, 540), (665, 900)),
    ("it comes back", "audit-service", (33, 540), (905, 1190)),
    ("a slow listener goes on", "legacy-import", (33, 600), (600, 1500)),
    ("mixed strategies go on", "mixed-service", (33, 600), (600, 1500)),
]
#: No member tells that its process will freeze, that a queue will be added, or how long a member that joins takes.
NOT_FORESEEN = {"one of five freezes", "5 members, then 4", "a member leaves and joins"}
CADENCE = 10


@pytest.mark.parametrize(("change", "group", "known", "predicted"), CHANGES, ids=[one[0] for one in CHANGES])
def test_from_before_a_change_the_backlog_after_it_is_predicted(
    groups: Mapping[str, GroupHistory],
    change: str,
    group: str,
    known: tuple[float, float],
    predicted: tuple[float, float],
) -> None:
    found = recorded(steps_of(groups[group]))
    assert found is not None
    before = known_in(found, *known)
    assert before.reported
    after = between(found, *predicted)
    replays = Replays(strategy_settings(CONFIGURATION, "demo", group))
    result = play(UNCHANGED_CASE, after, members_of(before), replays)
    assert result.paced
    assert not result.at_most
    # What waited when it began is a part of both.
    rows = np.flatnonzero(~np.isnan(result.waiting))
    start, real = after.course.total[rows[0] - 1], after.course.total[rows]
    highest, drained = outlook(np.append(start, result.waiting[rows]), after.course.times[[rows[0] - 1, *rows]])
    highest_real, drained_real = outlook(np.append(start, real), after.course.times[[rows[0] - 1, *rows]])
    print(f"{change}: {highest:.0f}, drained {drained}; really {highest_real:.0f}, {drained_real}")
    is_right = abs(highest - highest_real) <= max(20, highest_real / 10) and (
        drained == drained_real
        if drained is None or drained_real is None
        else abs(drained - drained_real) <= max(2 * CADENCE, drained_real / 5)
    )
    assert is_right == (change not in NOT_FORESEEN)


def outlook(waiting: Any, times: Any) -> tuple[float, float | None]:
    """The highest backlog, and seconds from then until a tenth of it, or 32 messages, are left."""
    top = int(np.argmax(waiting))
    drained = np.flatnonzero(waiting[top:] <= max(32, waiting[top] / 10))
    return float(waiting[top]), float(times[top + drained[0]] - times[top]) / SECOND if len(drained) else None


def between(found: Recorded, start: float, end: float) -> Recorded:
    """Only what held between these seconds."""
    first, last = (T0 + round(second * SECOND) for second in (start, end))
    replayed = {
        topic: [
            one._replace(start=max(one.start, first), end=min(one.end, last))
            for one in of_topic
            if one.start < last and one.end > first
        ]
        for topic, of_topic in found.replayed.items()
    }
    return replace(found, replayed=replayed)


def known_in(found: Recorded, start: float, end: float) -> Recorded:
    """The same with the samples and the reports of only these seconds."""
    first, last = (T0 + round(second * SECOND) for second in (start, end))
    rows = (found.course.times >= first) & (found.course.times <= last)
    course = {name: getattr(found.course, name)[rows] for name in ("times", "produced", "consumed", "waiting", "known")}
    parts = ((client_id, throughput.between(first, last)) for client_id, throughput in found.reported.items())
    reported = {client_id: part for client_id, part in parts if part}
    return replace(between(found, start, end), course=replace(found.course, **course), reported=reported)
