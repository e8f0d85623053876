"""Until when the data of a warehouse go, and how old they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from schemas import GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.domain.model.intervals import EVER, Interval, duration_text, format_utc
from spark_jobs.domain.model.statuses import Status
from spark_jobs.store.read.published import PublishedTables, Scope
from spark_jobs.store.read.stored import Filter, tuples

_STEP = ("cluster", "step_start")
_IS_OBSERVED = Filter("status", "IN", [status.value for status in Status if status is not Status.UNOBSERVED])


@dataclass(frozen=True)
class DataAge:
    """By cluster the end of the last audited time that snapshots cover; `step`: the length of an audit step."""

    until: Mapping[str, datetime]
    step: timedelta

    def text(self, now: datetime) -> str:
        """A sentence: where the data end, how long ago, and which are older than two steps."""
        if not self.until:
            return "No snapshot was audited."
        newest = max(self.until.values())
        sentence = f"The data end at {self._moment(newest, now)}"
        if self._is_old(newest, now):
            return sentence
        old = [f"; of {name} at {self._moment(end, now)}" for name, end in self.until.items() if self._is_old(end, now)]
        return sentence + "".join(sorted(old))

    def is_old(self, now: datetime) -> bool:
        """Return whether the data of one of the clusters are older than two steps."""
        return any(self._is_old(end, now) for end in self.until.values())

    def _moment(self, end: datetime, now: datetime) -> str:
        ago = f"{format_utc(end.replace(microsecond=0))}, {duration_text(max(now - end, timedelta()))} ago"
        return f"{ago}{_OLD}" if self._is_old(end, now) else ago

    def _is_old(self, end: datetime, now: datetime) -> bool:
        return now - end > 2 * self.step


_OLD = ": older than two steps, check the recorder and the schedule"


def data_age(tables: PublishedTables, cluster: str | None = None) -> DataAge:
    """The age of the data of all clusters, or of one: reads back, doubling, to a step with snapshots."""
    last_step: dict[str, datetime] = {}
    first_step = EVER.end
    for name, step in tuples(tables.read(GROUP_STATUS, Scope(cluster=cluster), _STEP)):
        last_step[name] = max(step, last_step.get(name, step))
        first_step = min(first_step, step)
    ends = {name: _last_end(tables, name, first_step, step + tables.grid.length) for name, step in last_step.items()}
    return DataAge({name: end for name, end in ends.items() if end is not None}, tables.grid.length)


def _last_end(tables: PublishedTables, cluster: str, first_step: datetime, end: datetime) -> datetime | None:
    length = tables.grid.length
    while end > first_step:
        interval = Interval(max(end - length, first_step), end)
        observed = tables.read(REBALANCE_INTERVALS, Scope(interval, cluster), ["interval_end"], [_IS_OBSERVED])
        if observed.num_rows:
            last: datetime = max(moment for (moment,) in tuples(observed))
            return last
        end, length = interval.start, 2 * length
    return None
