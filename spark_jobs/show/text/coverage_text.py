"""How much was observed, in the words of the commands."""

from datetime import datetime, timedelta

from spark_jobs.domain.coverage import Coverage
from spark_jobs.domain.model.intervals import duration_text, format_utc


def data_until_text(coverage: Coverage, now: datetime) -> str:
    """A clause: where the data of some clusters end, how long ago, and of which they end earlier."""
    newest = max(coverage.data_until.values())
    earlier = (
        f"; of {name} at {_moment(end, now)}" for name, end in sorted(coverage.data_until.items()) if end < newest
    )
    return "".join((f"The data end at {_moment(newest, now)}", *earlier))


def _moment(end: datetime, now: datetime) -> str:
    return f"{format_utc(end.replace(microsecond=0))}, {duration_text(max(now - end, timedelta()))} ago"
