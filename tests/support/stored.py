"""Tables written by hand without Spark, as delta-rs writes them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from schemas import Table
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import rows as rows_of


def write(warehouse: Path, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Appends rows, of which what is not named is null."""
    write_deltalake(warehouse / table.name, arrow_table(table, rows), mode="append")


def stored_rows(warehouse: Location, table: Table) -> list[dict[str, Any]]:
    """The table's rows, in one order."""
    return sorted(rows_of(DeltaTables(warehouse).read(table, table.columns)), key=repr)


def arrow_table(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as Arrow has them; what is not named is null."""
    named = [{name: row.get(name) for name in table.schema.names} for row in rows]
    return pa.Table.from_pylist(named, pa.schema([field.with_nullable(True) for field in arrow_schema(table)]))


def audit_run(interval: Interval, published_versions: Mapping[str, int], **values: Any) -> dict[str, Any]:
    """A row of `audit_runs`: a run of everything that has published these versions of tables, in steps of an hour."""
    run: dict[str, Any] = {
        **dict.fromkeys(("run_id", "configuration_hash", "code_version"), "r"),
        "configuration": "{}",
        **dict.fromkeys(("cluster", "consumer_group", "topic", "message")),
        **{name: {} for name in ("source_versions", "row_counts", "content_hashes")},
        **dict.fromkeys(("started_at", "interval_start"), interval.start),
        **dict.fromkeys(("finished_at", "interval_end"), interval.end),
    }
    run |= {"step_seconds": 3600, "not_evaluated": [], "outcome": "published", "published_versions": published_versions}
    return run | values


def set_property(warehouse: Path, table: Table, name: str, value: str) -> None:
    """As `ALTER TABLE … SET TBLPROPERTIES` does it: delta-rs refuses names that are not Delta's."""
    log = warehouse / table.name / "_delta_log"
    commits = sorted(log.glob("*.json"))
    actions = (json.loads(line) for commit in commits for line in commit.read_text(encoding="utf-8").splitlines())
    *_, metadata = (action["metaData"] for action in actions if "metaData" in action)
    metadata["configuration"][name] = value
    entries = {"metaData": metadata}, {"commitInfo": {"operation": "SET TBLPROPERTIES", "timestamp": 0}}
    text = "".join(f"{json.dumps(entry)}\n" for entry in entries)
    (log / f"{int(commits[-1].stem) + 1:020}.json").write_text(text, encoding="utf-8")
