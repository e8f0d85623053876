"""The upkeep that tables need, by delta-rs and Delta's log: Spark takes half a minute for it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from schemas import AUDIT_RUNS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, SOURCES, TABLES, Table
from spark_jobs.domain.model.message_queue import PERM_READ
from spark_jobs.pipeline.publish.claims import claims_of, drop_dead_claims
from spark_jobs.store.delta_log import LocalLog
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import StoredTables, rows
from spark_jobs.store.sql import is_same_check

#: Delta's own `delta.logRetentionDuration`, which must not be shorter than that of files.
_LOG_RETENTION = timedelta(days=30)


@dataclass(frozen=True)
class Upkeep:
    """A table: version, files, bytes, properties; whether to compact or vacuum it (unknown: true, Spark decides)."""

    version: int
    files: int
    bytes: int
    properties: Mapping[str, str]
    compact: bool = True
    vacuum: bool = True

    def lacks(self, table: Table, days: int) -> dict[str, str]:
        """Properties to set: the table's layout, and that versions stay readable for `days`. VACUUM's own argument is
        ignored by Delta.
        """
        wanted = {
            **table.layout,
            "delta.logRetentionDuration": _duration(max(timedelta(days=days), _LOG_RETENTION)),
            "delta.deletedFileRetentionDuration": _duration(timedelta(days=days)),
        }
        return {} if wanted.items() <= self.properties.items() else wanted


@dataclass(frozen=True)
class Maintained:
    """The outcome for one table: files, bytes and versions before and after, and days that versions stay readable."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    version_before: int
    version_after: int
    retention_days: int

    @classmethod
    def of(cls, table: Table, before: Upkeep, after: Upkeep, days: int) -> Self:
        """The change of the table between the two."""
        return cls(
            table.name, before.files, after.files, before.bytes, after.bytes, before.version, after.version, days
        )


def wrong_constraints(table: Table, properties: Mapping[str, str]) -> dict[str, str | None]:
    """By name, what Delta keeps instead of a constraint of the table's module; None: nothing."""
    stored = {name: properties.get(f"delta.constraints.{name}") for name in table.checks}
    return {name: check for name, check in stored.items() if not is_same_check(check, table.checks[name])}


def _duration(length: timedelta) -> str:
    return f"interval {length.days} days"


def upkeep_of(tables: DeltaTables, table: Table, days: int) -> Upkeep:
    """The upkeep by the log: compact partitions of several files, remove files that are older than the days."""
    opened = tables.open(table)
    files = pa.table(opened.get_add_actions(flatten=True))
    partitions = files.select([name for name in files.column_names if name.startswith("partition.")])
    several = partitions.group_by(partitions.column_names).aggregate([([], "count_all")])["count_all"]
    old = opened.vacuum(days * 24, dry_run=True, enforce_retention_duration=False, full=True)
    return Upkeep(
        opened.version(),
        files.num_rows,
        pc.sum(files["size_bytes"]).as_py() or 0,
        opened.metadata().configuration,
        compact=(pc.max(several).as_py() or 0) > 1 if partitions.num_columns else files.num_rows > 1,
        vacuum=bool(old),
    )


def oldest_versions(stored: StoredTables, since: datetime) -> dict[str, int]:
    """The oldest version per table that a run ended since then, or the newest published one, has read or published."""
    if not stored.exists(AUDIT_RUNS):
        return {}
    oldest: dict[str, int] = {}
    columns = ("source_versions", "published_versions")
    runs = rows(stored.read(AUDIT_RUNS, (*columns, "finished_at", "outcome")))
    newest = max((run["finished_at"] for run in runs if run["outcome"] == "published"), default=since)
    for run in (run for run in runs if run["finished_at"] >= min(since, newest)):
        for name, version in (pair for column in columns for pair in run[column].items()):
            oldest[name] = min(version, oldest.get(name, version))
    return oldest


def days_to_keep(made: datetime | None, retention: timedelta) -> int:
    """The retention, or the age of the oldest commit to keep (None: none) if that is more, in whole days."""
    age = datetime.now(UTC) - made if made else retention
    return math.ceil(max(retention, age) / timedelta(days=1))


def nothing_to_maintain(tables: DeltaTables, retention: timedelta) -> list[Maintained] | None:
    """Return `maintain`'s answer if there is nothing to do, else None; removes what killed runs have left."""
    location = tables.location
    root, claims = location.local_path, claims_of(location)
    if root is None or (claims and claims.notes()) or any(root.glob("_staging/*")):
        return None
    maintained = []
    oldest = oldest_versions(tables, datetime.now(UTC) - retention)
    for table in [table for table in TABLES if tables.exists(table)] or [SOURCES[0]]:
        oldest_version = oldest.get(table.name)
        made_at = None if oldest_version is None else LocalLog(root / table.name).made(oldest_version)
        days = days_to_keep(made_at, retention)
        upkeep = upkeep_of(tables, table, days)
        if upkeep.lacks(table, days) or upkeep.compact or upkeep.vacuum or wrong_constraints(table, upkeep.properties):
            return None
        maintained.append(Maintained.of(table, upkeep, upkeep, days))
    if not are_sightings_complete(tables):
        return None
    drop_leavings(location)
    return maintained


def drop_leavings(location: Location) -> None:
    """Removes the claims of killed runs and, from a day on, files that they left unfinished in Delta's logs."""
    drop_dead_claims(location)
    if location.local_path:
        for log in location.local_path.glob("*/_delta_log"):
            LocalLog(log.parent).drop_unfinished(datetime.now(UTC) - timedelta(days=1))


def are_sightings_complete(tables: DeltaTables) -> bool:
    """Return whether `sightings` is complete; there is nothing to be remembered where a source of it is missing."""
    if not all(map(tables.exists, (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS))):
        return True
    return tables.exists(SIGHTINGS) and has_all_sightings(tables)


_PER_HOUR = "date_trunc('hour', captured_at) AS hour, min(captured_at) AS first_at, max(captured_at) AS last_at"
_GROUPS = f"SELECT cluster, consumer_group, {_PER_HOUR} FROM {MEMBERSHIP_SNAPSHOTS.name} GROUP BY 1, 2, 3"
_BROKERS = (
    "SELECT cluster, topic, entry['broker_name'] AS broker_name, coalesce(entry['read_queue_nums'], -1) AS "
    f"read_queue_nums, {_PER_HOUR} "
    f"FROM (SELECT cluster, topic, captured_at, unnest(queues) AS entry FROM {ROUTE_SNAPSHOTS.name}) "
    f"WHERE entry['broker_name'] IS NOT NULL AND entry['perm'] & {PERM_READ} != 0 GROUP BY 1, 2, 3, 4, 5"
)
_WITHOUT_ROUTE = (
    f"SELECT cluster, topic, '' AS broker_name, -1 AS read_queue_nums, {_PER_HOUR} "
    f"FROM {ROUTE_SNAPSHOTS.name} WHERE empty(queues) GROUP BY 1, 2, 5"
)


def has_all_sightings(tables: DeltaTables) -> bool:
    """Return whether the table has all that `ingest.sightings.sightings_of_sources` would add to it, since the first
    snapshot that is kept.
    """
    opened = {table: tables.open(table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS)}

    def holds(source: Table, seen: str, same: str) -> bool:
        first = f"SELECT date_trunc('hour', min(captured_at)) FROM {source.name}"
        known = f"SELECT * FROM {SIGHTINGS.name} WHERE hour >= ({first})"
        same += " AND s.cluster = t.cluster AND s.hour = t.hour AND s.first_at >= t.first_at AND s.last_at <= t.last_at"
        lacking = f"SELECT 1 FROM ({seen}) s LEFT ANTI JOIN ({known}) t ON {same} LIMIT 1"
        return not len(tables.query(lacking, opened))

    of_broker = "s.broker_name = coalesce(t.broker_name, '') AND s.read_queue_nums = coalesce(t.read_queue_nums, -1)"
    of_routes = f"{_BROKERS} UNION ALL {_WITHOUT_ROUTE}"
    return holds(MEMBERSHIP_SNAPSHOTS, _GROUPS, "s.consumer_group = t.consumer_group") and holds(
        ROUTE_SNAPSHOTS, of_routes, f"s.topic = t.topic AND {of_broker}"
    )
