"""Recordings of `capture`, read and audited without Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from schemas import CAPTURE_CALLS, FINDINGS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.recording import Meta, NoObservation, Outcome, Row, outcomes
from spark_jobs.ingest.silent_brokers import without_silent_brokers
from tests.support.kernel import published, settings

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Gap(NamedTuple):
    """A time of which the audit says that nothing was observed, and what is missing."""

    start: datetime
    end: datetime
    sources: tuple[str, ...]


class Recorded(NamedTuple):
    """Every line of every file, the one that is being written too."""

    outcomes: list[Outcome]

    @classmethod
    def read(cls, folder: Path) -> Recorded:
        files = sorted(folder.glob("*.jsonl.gz*"))
        return cls([outcome for file in files for outcome in without_silent_brokers(outcomes(read_lines(file)))])

    def rows(self, table: Table) -> list[Mapping[str, Any]]:
        return [outcome.values for outcome in self.outcomes if isinstance(outcome, Row) and outcome.table is table]

    def times(self, fate: str, called: str) -> list[datetime]:
        """When calls to the broker ended so."""
        calls = self.rows(CAPTURE_CALLS)
        return sorted(row["captured_at"] for row in calls if (row["outcome"], row["called"]) == (fate, called))

    def check_whole(self) -> None:
        """Every line was written whole, and tells of nothing twice."""
        assert {type(outcome) for outcome in self.outcomes} <= {Row, Meta, NoObservation}
        keys = Counter((outcome.table.name, *outcome.key) for outcome in self.outcomes if isinstance(outcome, Row))
        assert [key for key, count in keys.items() if count > 1] == []

    def audited(self, cadence: int, step: timedelta = timedelta(hours=1)) -> dict[Table, list[dict[str, Any]]]:
        """What is published of the steps that hold all of it; times with their zone."""
        rows: dict[Table, list[Mapping[str, Any]]] = defaultdict(list)
        for outcome in self.outcomes:
            if isinstance(outcome, Row):
                rows[outcome.table].append(outcome.values)
        times = sorted(row["captured_at"] for of_table in rows.values() for row in of_table)
        first, last = (moment - (moment - _EPOCH) % step for moment in (times[0], times[-1]))
        seconds = int(step.total_seconds())
        found = published(rows, Interval(first, last + step), settings(cadence, step=seconds))
        return {table: [_zoned(row) for row in of_table] for table, of_table in found.items()}

    def unobserved(self, cadence: int, topic: str) -> list[tuple[datetime, datetime]]:
        """When nothing is known of the topic in the middle of the recording."""
        found = [row for row in self.audited(cadence)[REBALANCE_INTERVALS] if row["topic"] == topic]
        known = [row for row in found if row["status"] != "UNOBSERVED"]
        first, last = min(row["interval_start"] for row in known), max(row["interval_end"] for row in known)
        spans = {(row["interval_start"], row["interval_end"]) for row in found if row["status"] == "UNOBSERVED"}
        inside = sorted((start, end) for start, end in spans if first < start and end < last)
        starts = [start for start, _ in inside if start not in {end for _, end in inside}]
        ends = [end for _, end in inside if end not in {start for start, _ in inside}]
        return list(zip(starts, ends, strict=True))

    def gaps(self, cadence: int, group: str) -> list[Gap]:
        """What UNOBSERVED says of the middle of the recording: times of 20 s and more."""
        return [
            Gap(
                finding["started_at"],
                finding["ended_at"],
                tuple(party["name"] for party in finding["evidence"]["conflicting_values"]),
            )
            for finding in sorted(self.audited(cadence)[FINDINGS], key=lambda finding: finding["started_at"])
            if (finding["consumer_group"], finding["rule"], finding["severity"]) == (group, "UNOBSERVED", "WARN")
        ]


def _zoned(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for name, value in row.items()}
