"""A warehouse of any age, made by writing published rows: no audit, and no Spark."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, WriterProperties, write_deltalake

from schemas import (
    AUDIT_RUNS,
    COVERAGE,
    FINDINGS,
    GROUP_STATUS,
    OUTPUTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    SIGHTINGS,
    SOURCES,
    Table,
)
from spark_jobs.config import Configuration
from spark_jobs.domain.model.finding import Evidence
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.upkeep import Upkeep
from spark_jobs.store.arrow import arrow_schema, delta_schema

_HOUR = timedelta(hours=1)
_CLUSTER = "fleet"
_TABLES = (*SOURCES, SIGHTINGS, *OUTPUTS, AUDIT_RUNS)
#: What `maintain` sets, unless another time is named.
_RETENTION_DAYS = 30
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
        """Writes its tables into an empty folder: compacted, as `maintain` leaves them, and each with a checkpoint of
        its log, as Delta makes them by and by.
        """
        made = {table: _create(warehouse, table) for table in _TABLES}
        first = self.newest.end - self.steps * _HOUR
        starts = [first + number * _HOUR for number in range(self.steps)]
        of_first = {table: _rows(table, rows) for table, rows in self._of_groups(first).items()}
        for place in range(0, len(starts), _STEPS_AT_ONCE):
            some = starts[place : place + _STEPS_AT_ONCE]
            for table, rows in of_first.items():
                _write(made[table], table, pa.concat_tables(_later(rows, start - first) for start in some))
            findings = (finding for start in some for finding in self._findings(start))
            _write(made[FINDINGS], FINDINGS, _rows(FINDINGS, findings))
        made[SIGHTINGS].optimize.compact()
        versions = {table: made[table].version() + 1 for table in _TABLES}  # with its constraints
        _write(made[AUDIT_RUNS], AUDIT_RUNS, _rows(AUDIT_RUNS, (_run(start, versions) for start in starts)))
        for table, written in made.items():
            written.create_checkpoint()
            _constrain(warehouse, table, written.version() + 1)

    def _of_groups(self, start: datetime) -> dict[Table, Iterator[Mapping[str, Any]]]:
        """Rows of the step of which every one has the same but later."""
        keys = [_key(group) | {"step_start": start} for group in range(self.groups)]
        cluster = {"cluster": _CLUSTER, "consumer_group": None, "step_start": start}
        return {
            GROUP_STATUS: (_STATUS | key for key in keys),
            COVERAGE: (_coverage(key) for key in (*keys, cluster)),
            SIGHTINGS: (_sighting(key) for key in keys),
            REBALANCE_INTERVALS: (_interval(key) | _INTERVAL for key in keys),
            QUEUE_PROGRESS: (_interval(key) | _PROGRESS for key in keys),
        }

    def _findings(self, start: datetime) -> Iterator[Mapping[str, Any]]:
        number = int(start.timestamp()) // 3600
        for group in range(self.open_incidents):
            yield _finding(group, start, start, start + _HOUR)
        if self.groups > self.open_incidents:
            other = self.open_incidents + number % (self.groups - self.open_incidents)
            yield _finding(other, start, start + 2 * _HOUR / 6, start + 3 * _HOUR / 6)


def _create(warehouse: Path, table: Table) -> DeltaTable:
    """The empty table with the properties that `maintain` sets."""
    properties, partitions = Upkeep(0, 0, 0, {}).lacks(table, _RETENTION_DAYS), [*table.partition_by]
    location = warehouse / table.name
    return DeltaTable.create(location, delta_schema(table), partition_by=partitions, configuration=properties)


def _constrain(warehouse: Path, table: Table, version: int) -> None:
    """Commit the constraints, so that `maintain` finds them: delta-rs cannot evaluate all of them."""
    log = warehouse / table.name / "_delta_log"
    actions = map(json.loads, (log / f"{0:020}.json").read_text().splitlines())
    (metadata,) = (action["metaData"] for action in actions if "metaData" in action)
    metadata["configuration"] |= {f"delta.constraints.{name}": check for name, check in table.checks.items()}
    commit = {"metaData": metadata}, {"commitInfo": {"operation": "ADD CONSTRAINT", "timestamp": 0}}
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, commit)))


def _rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    named = [{name: row.get(name) for name in table.schema.names} for row in rows]
    return pa.Table.from_pylist(named, pa.schema([field.with_nullable(True) for field in arrow_schema(table)]))


def _later(rows: pa.Table, by: timedelta) -> pa.Table:
    """The rows with later times."""
    columns = [
        pc.add(column, pa.scalar(by)) if pa.types.is_timestamp(column.type) else column for column in rows.columns
    ]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _write(made: DeltaTable, table: Table, rows: pa.Table) -> None:
    properties, partitions = WriterProperties(compression="SNAPPY"), [*table.partition_by]
    write_deltalake(made, rows, mode="append", partition_by=partitions, writer_properties=properties)


def _key(group: int) -> dict[str, Any]:
    return {"cluster": _CLUSTER, "consumer_group": f"group-{group:04}"}


_STATUS = {"finding_count": 1, "unknown_queues": 0, "bottleneck": "NO_BACKLOG", "advice": "No.", "member_count": 4}
_COUNTS = {"member_count": 4, "distinct_members": 4, "queue_count": 16, "unassigned_queues": 0}
_INTERVAL = {"status": "REPLAYED", **_COUNTS, "members": [], "queues": [], "triggers": []}
_PROGRESS = {"broker_name": "broker-0", "queue_id": 0, "readings": 180, "lag_quality": "MEASURED", "lag_last": 0}
_OBSERVED = ("expected", "observed", "members", "routes", "offsets", "clients")


def _coverage(key: Mapping[str, Any]) -> dict[str, Any]:
    start = key["step_start"]
    seen = {"first_snapshot_at": start, "last_snapshot_at": start + _HOUR - timedelta(seconds=20)}
    return {**key, **{f"{name}_seconds": 3600.0 for name in _OBSERVED}, **seen, "missing": []}


def _interval(key: Mapping[str, Any]) -> dict[str, Any]:
    of_topic = {"topic": "orders", "membership_view": "*"}
    return {**key, **of_topic, "interval_start": key["step_start"], "interval_end": key["step_start"] + _HOUR}


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


def _run(start: datetime, versions: Mapping[Table, int]) -> dict[str, Any]:
    return {
        **dict.fromkeys(("run_id", "configuration_hash", "code_version"), f"{start:%Y%m%d%H}"),
        **{name: {} for name in ("row_counts", "content_hashes")},
        "source_versions": {table.name: versions[table] for table in (*SOURCES, SIGHTINGS)},
        "published_versions": {table.name: versions[table] for table in OUTPUTS},
        **dict.fromkeys(("started_at", "finished_at"), start + _HOUR + timedelta(minutes=10)),
        "interval_start": start,
        "interval_end": start + _HOUR,
        "step_seconds": 3600,
        "not_evaluated": [],
        "configuration": Configuration().model_dump_json(),
        "outcome": "published",
    }
