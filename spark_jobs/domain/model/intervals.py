"""Half-open UTC intervals and the fixed grid of audit steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from spark_jobs.errors import IntervalError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_utc(text: str) -> datetime:
    """The time in UTC, which is the default; raises `IntervalError` if the text is not ISO 8601, or not in `EVER`."""
    try:
        moment = as_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        raise IntervalError(
            f"'{text}' is not a time: write it as 2026-11-21T02:00 or 2026-11-21T02:00:00Z (UTC)"
        ) from None
    if not EVER.start <= moment <= EVER.end:
        raise IntervalError(f"'{text}' is not a time from 1970 to 9998")
    return moment


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC; one without an offset is UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def format_utc(moment: datetime) -> str:
    """ISO 8601 with a Z; seconds and milliseconds only where they are not zero."""
    moment = moment.astimezone(UTC)
    if moment.microsecond:
        text = moment.isoformat(timespec="milliseconds")
    else:
        text = moment.isoformat(timespec="seconds" if moment.second else "minutes")
    return text.replace("+00:00", "Z")


def duration_text(span: timedelta) -> str:
    """The two largest units: `45 s`, `10 min 23 s`, `1 h 05 min`, `2 d 03 h`."""
    seconds = round(span.total_seconds())
    for unit, size, below, below_size in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            number, remainder = divmod(seconds, size)
            return f"{number} {unit} {remainder // below_size:02} {below}"
    return f"{seconds} s"


@dataclass(frozen=True, order=True)
class Interval:
    """A half-open span `[start, end)` in UTC, never empty."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for moment in (self.start, self.end):
            if moment.tzinfo is None:
                raise IntervalError(f"{moment.isoformat()} has no time zone: intervals are UTC")
        if self.end == self.start:
            raise IntervalError(f"the interval {self} is empty: its end must be after its start")
        if self.end < self.start:
            raise IntervalError(f"the interval {self} is reversed: write START/END with START before END")

    def __str__(self) -> str:
        return f"{format_utc(self.start)}/{format_utc(self.end)}"

    @classmethod
    def parse(cls, text: str) -> Interval:
        """`2026-03-01T10:00/2026-03-01T11:00` as a value; raises `IntervalError`."""
        start, separator, end = text.partition("/")
        if not separator:
            raise IntervalError(f"'{text}' is not an interval: write START/END, e.g. {_EXAMPLE}")
        return cls(parse_utc(start), parse_utc(end))

    def intersect(self, other: Interval) -> Interval | None:
        """The common part of both, or None where they only touch or lie apart."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Interval(start, end) if start < end else None


def check_begun(interval: Interval, now: datetime) -> None:
    """Raises `IntervalError` for an interval of which nothing has happened yet."""
    if interval.start >= now:
        raise IntervalError(f"the interval {interval} is in the future: it is {format_utc(now.replace(microsecond=0))}")


#: All of history, and more.
EVER = Interval(EPOCH, datetime(9999, 1, 1, tzinfo=UTC))
_EXAMPLE = "2026-03-01T10:00/2026-03-01T11:00"


@dataclass(frozen=True)
class StepGrid:
    """The audit steps of a warehouse: `[k·length, (k+1)·length)` since 1970-01-01T00:00Z."""

    length: timedelta

    def __post_init__(self) -> None:
        if self.length <= timedelta(0) or timedelta(days=1) % self.length:
            raise IntervalError(
                f"a step of {self.length.total_seconds():g} s does not divide a day: "
                "choose for example 300, 3600 or 86400"
            )

    def floor(self, moment: datetime) -> datetime:
        """Start of the step that holds the moment."""
        return moment - (moment - EPOCH) % self.length

    def check_whole_steps(self, interval: Interval) -> None:
        """Raises `IntervalError`, naming the nearest whole steps, unless both ends lie on the grid."""
        start, end = self.floor(interval.start), self.floor(interval.end)
        if (start, end) != (interval.start, interval.end):
            widened = Interval(start, end if end == interval.end else end + self.length)
            raise IntervalError(
                f"the interval {interval} is off the grid of {self.length.total_seconds():g} s steps: "
                f"the whole steps around it are {widened}"
            )

    def check_steps(self, interval: Interval, now: datetime) -> None:
        """`check_whole_steps`; raises `IntervalError` also if the last step has not begun."""
        self.check_whole_steps(interval)
        check_begun(Interval(interval.end - self.length, interval.end), now)

    def steps(self, interval: Interval) -> Iterator[Interval]:
        """The steps of an interval in order; raises `IntervalError` if it is off the grid."""
        self.check_whole_steps(interval)
        start = interval.start
        while start < interval.end:
            yield Interval(start, start + self.length)
            start += self.length
