"""What an explanation is made of: the published rows of one group and one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from spark_jobs.config import GroupSettings
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.thresholds import Thresholds

#: A row of a published table; its times know that they are UTC.
Row = Mapping[str, Any]


@dataclass(frozen=True)
class GroupStep:
    """One group, one moment and the step that holds it.

    `intervals`: all of the step; `allocations` and `progress`: at least those of the intervals that hold the moment
    and, where one is unobserved, of the last one known before it; `findings`: those that hold the moment; `status`:
    the row of `group_status`. `settings`, `allowed_lag`: the configuration of the run that published the step. `topic`:
    tell of no other one.
    """

    cluster: str
    consumer_group: str
    at: datetime
    step: Interval
    intervals: Sequence[Row]
    allocations: Sequence[Row] = ()
    progress: Sequence[Row] = ()
    findings: Sequence[Row] = ()
    status: Row | None = None
    settings: GroupSettings = field(default_factory=GroupSettings)
    allowed_lag: int = Thresholds().allowed_lag
    topic: str | None = None


def holding(rows: Sequence[Row], at: datetime) -> list[Row]:
    """The rows whose interval holds the moment, by view."""
    held = [row for row in rows if row["interval_start"] <= at < row["interval_end"]]
    return sorted(held, key=lambda row: str(row["membership_view"]))


def last_before(rows: Sequence[Row], at: datetime) -> Row | None:
    """The last observed interval that was over at the moment; of views that ended together the first by name."""
    over = [row for row in rows if row["interval_end"] <= at and row["status"] != "UNOBSERVED"]
    return min(over, key=lambda row: (-row["interval_end"].timestamp(), row["membership_view"]), default=None)


def first_after(rows: Sequence[Row], at: datetime) -> Row | None:
    """The first observed interval that begins after the moment; of views that begin together the first by name."""
    later = [row for row in rows if row["interval_start"] > at and row["status"] != "UNOBSERVED"]
    return min(later, key=lambda row: (row["interval_start"], row["membership_view"]), default=None)
