"""Rows of `coverage` by hand, as a run publishes them with the status of their groups. No Spark."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deltalake import DeltaTable

from schemas import AUDIT_RUNS, COVERAGE, FINDINGS, GROUP_STATUS, SIGHTINGS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from tests.support.published import STATUS
from tests.support.stored import audit_run, write
from tests.support.tables import time_spans
from tests.support.times import at


def row(name: str, hour: int, missing: str = "") -> dict[str, Any]:
    """Of `coverage`: the group `d/g`, or `*` for the cluster; `missing`: seconds of the hour without members."""
    cluster, _, group = name.rpartition("/")
    times = [(3600 * hour + start, 3600 * hour + end) for start, end in time_spans(missing)]
    observed = 3600.0 - sum(end - start for start, end in times)
    seconds = ("observed_seconds", "members_seconds", "routes_seconds", "offsets_seconds")
    reason = {"source": "membership_snapshots", "reason": "NO_SNAPSHOTS"}
    return {
        "cluster": cluster or "c",
        "consumer_group": None if group == "*" else group,
        "step_start": at(3600 * hour),
        "expected_seconds": 3600.0,
        "clients_seconds": 0.0,
        **dict.fromkeys(seconds, observed),
        "first_snapshot_at": at(3600 * hour),
        "last_snapshot_at": at(3600 * hour + 3540),
        "missing": [{"started_at": at(start), "ended_at": at(end)} | reason for start, end in times],
    }


def published(
    warehouse: Path,
    rows: Iterable[Mapping[str, Any]],
    seen: Sequence[Mapping[str, Any]] = (),
    more: Mapping[Table, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
) -> None:
    """One run of these rows of coverage, of the status of their groups, and of more rows; `seen`: of `sightings`."""
    rows = [*rows]
    groups = [row for row in rows if row["consumer_group"] is not None]
    names = ("cluster", "consumer_group", "step_start")
    statuses = [{name: row[name] for name in names} | STATUS for row in groups]
    tables: dict[Table, Sequence[Mapping[str, Any]]] = {FINDINGS: [], COVERAGE: rows, GROUP_STATUS: statuses, **more}
    for table, found in tables.items():
        write(warehouse, table, found)
    write(warehouse, SIGHTINGS, seen)
    versions = {table.name: DeltaTable(warehouse / table.name).version() for table in tables}
    steps = [row["step_start"] for row in rows]
    run = audit_run(Interval(min(steps), max(steps) + timedelta(hours=1)), versions)
    of_run = {"configuration": Configuration().model_dump_json()}
    write(warehouse, AUDIT_RUNS, [run | of_run | {"finished_at": at(10 * 3600 + versions[COVERAGE.name])}])
