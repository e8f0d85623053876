"""A warehouse of any age, made by writing published rows: no audit, and no Spark."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import WriterProperties, write_deltalake

from schemas import AUDIT_RUNS, COVERAGE, FINDINGS, GROUP_STATUS, SIGHTINGS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.finding import Evidence
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.store.arrow import arrow_schema

_HOUR = timedelta(hours=1)
_CLUSTER = "fleet"
_PUBLISHED = (GROUP_STATUS, FINDINGS, COVERAGE)
#: Rows are written some steps at a time, so that a year fits into memory.
_STEPS_AT_ONCE = 200


@dataclass(frozen=True)
class PublishedHistory:
    """Hourly steps of some groups that end now, each published by a run. Of `open_incidents` groups nobody is connected
    since the first step; in each step another group is offline for ten minutes.
    """

    groups: int
    steps: int
    open_incidents: int = 10

    @property
    def newest(self) -> Interval:
        """The newest step."""
        end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        return Interval(end - _HOUR, end)

    def write(self, warehouse: Path) -> None:
        """Writes its tables into an empty folder."""
        first = self.newest.end - self.steps * _HOUR
        starts = [first + number * _HOUR for number in range(self.steps)]
        for place in range(0, len(starts), _STEPS_AT_ONCE):
            some = starts[place : place + _STEPS_AT_ONCE]
            for table, rows in self._rows(some).items():
                _write(warehouse, table, rows)
        versions = dict.fromkeys((table.name for table in _PUBLISHED), (len(starts) - 1) // _STEPS_AT_ONCE)
        _write(warehouse, AUDIT_RUNS, (_run(start, versions) for start in starts))

    def _rows(self, starts: Iterable[datetime]) -> dict[Table, Iterator[Mapping[str, Any]]]:
        steps = [*starts]
        keys = [_key(group) | {"step_start": start} for start in steps for group in range(self.groups)]
        clusters = ({"cluster": _CLUSTER, "consumer_group": None, "step_start": start} for start in steps)
        return {
            GROUP_STATUS: (_STATUS | key for key in keys),
            COVERAGE: (_coverage(key) for key in (*keys, *clusters)),
            SIGHTINGS: (_sighting(key) for key in keys),
            FINDINGS: (finding for start in steps for finding in self._findings(start)),
        }

    def _findings(self, start: datetime) -> Iterator[Mapping[str, Any]]:
        number = int(start.timestamp()) // 3600
        for group in range(self.open_incidents):
            yield _finding(group, start, start, start + _HOUR)
        if self.groups > self.open_incidents:
            other = self.open_incidents + number % (self.groups - self.open_incidents)
            yield _finding(other, start, start + 2 * _HOUR / 6, start + 3 * _HOUR / 6)


def _write(warehouse: Path, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    named = [{name: row.get(name) for name in table.schema.names} for row in rows]
    schema = pa.schema([field.with_nullable(True) for field in arrow_schema(table)])
    write_deltalake(
        warehouse / table.name,
        pa.Table.from_pylist(named, schema),
        mode="append",
        partition_by=[*table.partition_by],
        writer_properties=WriterProperties(compression="SNAPPY"),
    )


def _key(group: int) -> dict[str, Any]:
    return {"cluster": _CLUSTER, "consumer_group": f"group-{group:04}"}


_STATUS = {"finding_count": 1, "unknown_queues": 0, "bottleneck": "NO_BACKLOG", "advice": "No.", "member_count": 4}
_OBSERVED = ("expected", "observed", "members", "routes", "offsets", "clients")


def _coverage(key: Mapping[str, Any]) -> dict[str, Any]:
    start = key["step_start"]
    seen = {"first_snapshot_at": start, "last_snapshot_at": start + _HOUR - timedelta(seconds=20)}
    return {**key, **{f"{name}_seconds": 3600.0 for name in _OBSERVED}, **seen, "missing": []}


def _sighting(key: Mapping[str, Any]) -> dict[str, Any]:
    start = key["step_start"]
    seen = {"hour": start, "first_at": start, "last_at": start + _HOUR - timedelta(seconds=20)}
    return {"cluster": key["cluster"], "consumer_group": key["consumer_group"], **seen}


def _finding(group: int, step: datetime, start: datetime, end: datetime) -> dict[str, Any]:
    key = _key(group)
    times = {"step_start": step, "started_at": start, "ended_at": end, "active_since": start}
    queue = {"topic": "orders", "broker_name": "broker-0", "role": "UNASSIGNED", "started_at": start, "ended_at": end}
    numbers = dict.fromkeys(("backlog_start", "backlog_end", "backlog_max", "produced"), 100) | {"consumed": 0}
    evidence = dict.fromkeys(Evidence._fields) | numbers | {"client_ids": [], "unknown_queues": 0}
    evidence["queues"] = [queue | numbers | {"queue_id": number} for number in range(16)]
    named = {"rule": "GROUP_OFFLINE", "cause": "NO_MEMBERS", "severity": "ERROR", "subject": key["consumer_group"]}
    return {**key, **times, **named, "evidence": evidence, "advice": "Start it.", "finding_id": f"{group}-{start}"}


def _run(start: datetime, versions: Mapping[str, int]) -> dict[str, Any]:
    return {
        **dict.fromkeys(("run_id", "configuration_hash", "code_version"), f"{start:%Y%m%d%H}"),
        **{name: {} for name in ("source_versions", "row_counts", "content_hashes")},
        **dict.fromkeys(("started_at", "finished_at"), start + _HOUR + timedelta(minutes=10)),
        "interval_start": start,
        "interval_end": start + _HOUR,
        "step_seconds": 3600,
        "not_evaluated": [],
        "configuration": Configuration().model_dump_json(),
        "published_versions": versions,
        "outcome": "published",
    }
