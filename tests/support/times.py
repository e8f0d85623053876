"""The hour from 2026-03-01T10:00Z, in which most tests by hand take place; seconds count from its beginning."""

from datetime import UTC, datetime, timedelta

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND, to_micros

DAY = datetime(2026, 3, 1, 10, tzinfo=UTC)
HOUR = Interval(DAY, DAY + timedelta(hours=1))
START = to_micros(DAY)


def at(seconds: float) -> datetime:
    return DAY + timedelta(seconds=seconds)


def naive(seconds: float) -> datetime:
    """The time as published tables have it: UTC without a zone."""
    return at(seconds).replace(tzinfo=None)


def micros(seconds: float) -> int:
    return START + round(seconds * SECOND)


def ms(seconds: float) -> float:
    """As JavaScript has it."""
    return at(seconds).timestamp() * 1000


def second_of(moment: int) -> int:
    """Whole seconds of microseconds."""
    return (moment - START) // SECOND
