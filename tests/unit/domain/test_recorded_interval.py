"""Snapshots that are taken at another interval than the configured 20 s hold as long as theirs says."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from schemas import FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.evaluate import as_recorded
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.support.kernel import SETTINGS, WINDOW, group_histories, published
from tests.support.snapshots import healthy_group
from tests.support.times import at

HOUR = timedelta(hours=1)
SECONDS = 3600


def interval(seconds: Iterable[float], configured: AuditSettings = SETTINGS) -> tuple[float, float]:
    """The collection interval, and how long a snapshot holds, for the step of 10:00 (seconds)."""
    (history,) = group_histories(healthy_group(seconds, "c1"))
    found = as_recorded(history, WINDOW, configured)
    return found.cadence / SECOND, found.max_gap / SECOND


@pytest.mark.parametrize(
    ("seconds", "recorded"),
    [
        (range(0, SECONDS, 70), (70, 210)),
        (range(0, SECONDS, 5), (5, 15)),
        # 71, 71 and 68 s apart, again and again.
        ([70 * number + number % 3 for number in range(40)], (71, 213)),
        # About as configured; ten times between two snapshots, and one less: the recorder has just begun; a broker that
        # answers now and then.
        (range(0, SECONDS, 27), (20, 60)),
        (range(0, SECONDS, 13), (20, 60)),
        (range(0, SECONDS, 10), (10, 30)),
        (range(0, SECONDS, 30), (30, 90)),
        (range(0, 770, 70), (70, 210)),
        (range(0, 700, 70), (20, 60)),
        ([second for second in range(0, SECONDS, 20) if second % 140 in (0, 20, 100)], (20, 60)),
    ],
)
def test_the_interval_is_the_one_that_regular_snapshots_show(
    seconds: Sequence[float], recorded: tuple[int, int]
) -> None:
    assert interval(seconds) == recorded


def test_a_gap_that_is_configured_stays() -> None:
    configured = AuditSettings(SETTINGS.step, 20 * SECOND, 100 * SECOND, SETTINGS.thresholds)
    assert interval(range(0, SECONDS, 70), configured) == (70, 100)


def unobserved(seconds: Iterable[float]) -> list[tuple[Any, Any]]:
    """The times of the step of 10:00 in which nothing is known, that are a finding."""
    found = published(healthy_group(seconds, "c1"), Interval(at(0), at(0) + HOUR))[FINDINGS]
    return [(row["started_at"], row["ended_at"]) for row in found if row["rule"] == "UNOBSERVED"]


def test_a_recorder_with_a_longer_interval_is_observed() -> None:
    """Every snapshot would hold for 60 s, with half a minute between."""
    assert unobserved(range(-720, SECONDS, 90)) == []


def test_a_recorder_with_a_shorter_interval_hides_no_gap() -> None:
    """Snapshots of every 5 s hold for 15 s."""
    seconds = [second for second in range(-700, SECONDS, 5) if not 600 < second < 645]
    assert [(start, end) for start, end in unobserved(seconds)] == [(naive(615), naive(645))]


def naive(second: float) -> Any:
    return at(second).replace(tzinfo=None)


def test_a_step_is_audited_the_same_alone_and_with_others() -> None:
    """The recorder's interval changes at 11:00: that step has snapshots of both, and uses the configured one."""
    rows = healthy_group([*range(0, SECONDS, 20), *range(SECONDS, 3 * SECONDS, 70)], "c1")
    hours = [Interval(at(hour * SECONDS), at((hour + 1) * SECONDS)) for hour in range(3)]
    together = published(rows, Interval(at(0), at(3 * SECONDS)))
    alone = [published(rows, hour) for hour in reversed(hours)]
    for table in (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS):
        assert together[table] == [row for step in reversed(alone) for row in step[table]]
    assert [row["status"] for row in alone[0][REBALANCE_INTERVALS]] == ["REPLAYED"]
