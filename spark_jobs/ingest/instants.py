"""RocketMQ's clock: milliseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from spark_jobs.domain.intervals import EPOCH
from spark_jobs.ingest.fields import check_range

_MILLISECOND: Final = timedelta(milliseconds=1)

#: The years 2000 to 2199: seconds or microseconds given as milliseconds lie outside.
PLAUSIBLE: Final = range(
    (datetime(2000, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND,
    (datetime(2200, 1, 1, tzinfo=UTC) - EPOCH) // _MILLISECOND,
)


def instant(milliseconds: int, path: str) -> datetime:
    """The point in time, exact; `OUT_OF_RANGE` outside the years 2000 to 2199."""
    return EPOCH + timedelta(milliseconds=check_range(milliseconds, PLAUSIBLE, path))
