"""The model beside a recording of a real cluster: what it was, and the changes that were made while it was recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schemas import Table
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.config.file import load
from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.history import GroupHistory
from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.replays import Replays
from spark_jobs.domain.what_if.cases import AS_IT_WAS
from spark_jobs.domain.what_if.outcome import compare
from spark_jobs.domain.what_if.owned import owned_in
from spark_jobs.domain.what_if.pace import members_of
from spark_jobs.domain.what_if.play import KnownMembers, play
from spark_jobs.domain.what_if.recorded import Recorded, recorded
from spark_jobs.domain.window import SECOND, to_micros
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Row, outcomes
from tests.kernel import audited_steps, group_histories

EXAMPLES = Path(__file__).parents[3] / "examples"
HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
#: The times of the recording's README are seconds after this.
T0 = to_micros(Interval.parse("2026-11-21T02:01:54.278Z/2026-11-21T03:00").start)
CONFIGURATION: Configuration = load(EXAMPLES / "demo.yaml")


@pytest.fixture(scope="module")
def groups() -> Mapping[str, GroupHistory]:
    rows: dict[Table, list[dict[str, Any]]] = defaultdict(list)
    for one in outcomes(read_lines(EXAMPLES / "recording.jsonl.gz")):
        if isinstance(one, Row):
            rows[one.table].append(one.values)
    return {history.consumer_group: history for history in group_histories(rows)}


def steps_of(history: GroupHistory) -> list[AuditedStep]:
    names = history.cluster, history.consumer_group
    settings, configured = audit_settings(CONFIGURATION, *names), strategy_settings(CONFIGURATION, *names)
    return audited_steps(history, settings, HOUR, configured)


def test_played_as_it_was_every_group_is_near_what_was_recorded(groups: Mapping[str, GroupHistory]) -> None:
    far = {}
    for name, history in groups.items():
        configured = strategy_settings(CONFIGURATION, history.cluster, name)
        found = compare(steps_of(history), [AS_IT_WAS], configured)
        if found is not None:
            assert found.error is not None
            assert found.recorded.highest is not None
            far[name] = found.error / max(20, found.recorded.highest / 10)
    assert len(far) == 15
    assert {name: distance for name, distance in far.items() if distance > 1} == {}


@pytest.mark.parametrize(
    ("group", "known", "played", "highest", "twice"),
    [
        # From members with ids of their own: what twins will do, for ten minutes at 20 messages a second.
        ("payment-service", (33, 301), (321.6, 921.6), 6023, 5993),
        ("payment-service", (951, 1500), (321.6, 921.6), 6023, 5993),
        # Both members leave.
        ("batch-export", (33, 240), (245, 720), 18846, 0),
        # A slow listener, and mixed strategies, go on.
        ("legacy-import", (33, 600), (600, 1500), 2229, 0),
        ("mixed-service", (33, 600), (600, 1500), 2724, 2619),
    ],
)
def test_from_before_a_change_the_backlog_after_it_is_predicted(
    groups: Mapping[str, GroupHistory],
    group: str,
    known: tuple[float, float],
    played: tuple[float, float],
    highest: int,
    twice: int,
) -> None:
    found = recorded(steps_of(groups[group]))
    assert found is not None
    after = between(found, *played)
    owned = owned_in(AS_IT_WAS, after, Replays(strategy_settings(CONFIGURATION, "demo", group)))
    result = play(AS_IT_WAS, owned, after, KnownMembers(members_of(between(found, *known))))
    assert result is not None
    assert float(np.nanmax(found.course.total[~np.isnan(result.waiting)])) == pytest.approx(highest, abs=1)
    assert float(np.nanmax(result.waiting)) == pytest.approx(highest, rel=0.01)
    assert result.twice == pytest.approx(twice, rel=0.01, abs=1)


def between(found: Recorded, start: float, end: float) -> Recorded:
    """Only what held between these seconds."""
    first, last = (T0 + round(second * SECOND) for second in (start, end))
    held = {
        topic: [
            one._replace(start=max(one.start, first), end=min(one.end, last))
            for one in of_topic
            if one.start < last and one.end > first
        ]
        for topic, of_topic in found.held.items()
    }
    return replace(found, held=held)
