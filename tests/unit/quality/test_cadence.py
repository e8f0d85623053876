"""Of everything that was recorded in a step the snapshots are there, one per cadence from its first to its last."""

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND
from spark_jobs.pipeline.quality.facts import ROWS, SERIES, SPANS, STEP
from spark_jobs.pipeline.quality.suites import of_source

HOUR = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")


@pytest.mark.parametrize(
    ("rows", "series", "seconds", "percent"),
    [
        # Two series, three minutes each at a cadence of 20 s: 10 snapshots.
        (20, 2, 2 * 180, 100),
        (18, 2, 2 * 180, 90),
        (17, 2, 2 * 180, 85),
        (180, 1, 3580, 100),
        (1, 1, 0, 100),
        # Every 12.5 s, and every 10 s.
        (288, 1, 3580, 160),
        (360, 1, 3580, 200),
    ],
)
def test_what_is_missing_is_missing_between_snapshots(rows: int, series: int, seconds: int, percent: float) -> None:
    (_, cadence) = of_source(MEMBERSHIP_SNAPSHOTS, HOUR, Configuration())
    step = {STEP: HOUR.start.isoformat(), ROWS: rows, SERIES: series, SPANS: seconds * SECOND}
    assert cadence._evaluated(step) == {"success": 90 <= percent <= 160, "observed": percent}
