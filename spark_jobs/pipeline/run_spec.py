"""`RunSpec`: what a run is asked for, and the published rows that it replaces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from expectations.rows import CheckSettings
from schemas import COVERAGE, FINDINGS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.store.read.published import Scope
from spark_jobs.store.sql import literal


@dataclass(frozen=True)
class RunSpec(Scope):
    """Whole audit steps, of all clusters, groups and topics or of those named (exact names)."""

    interval: Interval
    topic: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """The spec of a run, from its row of `audit_runs`."""
        interval = Interval(row["interval_start"], row["interval_end"])
        return cls(interval, row["cluster"], row["consumer_group"], row["topic"])

    def as_json(self) -> str:
        """JSON that `from_json` reads; the same every time."""
        return json.dumps([str(self.interval), self.cluster, self.consumer_group, self.topic])

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec that `as_json` wrote; raises `json.JSONDecodeError` where it was not written whole."""
        interval, cluster, consumer_group, topic = json.loads(text)
        return cls(Interval.parse(interval), cluster, consumer_group, topic)

    @property
    def covers_everything(self) -> bool:
        """Return whether it is of all clusters, groups and topics."""
        return self == RunSpec(self.interval)

    @property
    def covers_clusters(self) -> bool:
        """Return whether it is of all groups and topics of the clusters that it is about."""
        return self.consumer_group is None and self.topic is None

    def publishes(self, table: Table) -> bool:
        """Return whether it replaces rows of the output table: of one topic, a run leaves as it is what is known of how
        much of whole groups was audited.
        """
        return table is not COVERAGE or self.topic is None

    def filters(self) -> list[str]:
        """SQL conditions on cluster and group, for any table that has them."""
        return [f"{column} = {literal(name)}" for column, name in self.names.items()]

    def replaces(self, table: Table) -> str:
        """SQL condition of the rows that this run publishes, and so replaces.

        A group is always audited whole, so what concerns all its topics is published with any one of them.
        """
        start, end = (moment.strftime("%Y-%m-%d %H:%M:%S") for moment in (self.interval.start, self.interval.end))
        conditions = [f"step_start >= TIMESTAMP '{start}'", f"step_start < TIMESTAMP '{end}'", *self.filters()]
        if self.topic is not None and "topic" in table.columns:
            of_topic = f"topic = {literal(self.topic)}"
            conditions.append(f"({of_topic} OR topic IS NULL)" if table is FINDINGS else of_topic)
        return " AND ".join(conditions)

    def check_settings(self, configuration: Configuration) -> CheckSettings:
        """The settings of the run for expectations."""
        return CheckSettings(
            read_start=self.interval.start - configuration.look_back,
            read_end=self.interval.end,
            step=configuration.grid.length,
            whole_groups=self.topic is None,
            has_coverage=self.topic is None,
        )

    def overlaps(self, other: RunSpec) -> bool:
        """Return whether both would replace some of the same rows."""
        # Findings of a whole group are published with each of its topics: topics do not keep two runs apart.
        same_rows = all(other.names.get(column, name) == name for column, name in self.names.items())
        return same_rows and self.interval.intersect(other.interval) is not None
