"""Which runs have published what, as `audit_runs` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from schemas import GROUP_STATUS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.publish.content import Content
from spark_jobs.pipeline.publish.request import RunRequest


@dataclass(frozen=True)
class PublishedRun:
    """A published run: its request, in steps of how many seconds, with which configuration; the version of every source
    table it read (none of a table that was not there), and the content it published, by table name.
    """

    request: RunRequest
    step_seconds: int
    configuration_hash: str
    source_versions: Mapping[str, int]
    contents: Mapping[str, Content]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the run of a row of `audit_runs`."""
        interval = Interval(row["interval_start"], row["interval_end"])
        return cls(
            RunRequest(interval, row["cluster"], row["consumer_group"], row["topic"]),
            row["step_seconds"],
            row["configuration_hash"],
            row["source_versions"],
            {name: Content(rows, row["content_hashes"][name]) for name, rows in row["row_counts"].items()},
        )

    def rows_of_its_groups(self) -> str:
        """SQL condition of what it audited, in any output table: whole groups, also if it published one topic."""
        return replace(self.request, topic=None).replaces(GROUP_STATUS)


def of_one_topic(runs: Sequence[PublishedRun]) -> str:
    """SQL condition of rows whose group was last audited for one topic only: what concerns the whole group was
    published, and its other topics are as an earlier run left them, or not there.
    """
    conditions = []
    for place, topic_run in enumerate(runs):
        if topic_run.request.topic is not None:
            later = [
                run for run in runs[:place] if run.request.topic is None and run.request.overlaps(topic_run.request)
            ]
            again = " OR ".join(f"({run.rows_of_its_groups()})" for run in later) or "false"
            conditions.append(f"({topic_run.rows_of_its_groups()} AND NOT ({again}))")
    return " OR ".join(conditions) or "false"
