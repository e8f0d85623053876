"""Source rows written by hand, gathered without Spark."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from schemas import CAPTURE_CALLS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, SOURCES, Table
from spark_jobs.domain.model.window import from_micros
from spark_jobs.ingest.sightings import sightings
from spark_jobs.pipeline.gather import without_spark
from spark_jobs.pipeline.gather.sightings import sighted, sighted_states, unanswered_states
from spark_jobs.store.arrow import arrow_schema, columns_of

Row = Mapping[str, Any]
Rows = Mapping[Table, Sequence[Row]]
#: What sightings are made of.
_SIGHTED = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS)


def gathered(rows: Rows, seen: Rows | None = None) -> tuple[pa.Table, pa.Table]:
    """States and samples of all groups and topics. `seen`: memberships and routes that sightings were made of; without
    them, those of the rows.
    """
    snapshots = {table: _table(table, rows[table]) for table in SOURCES if rows.get(table)}
    shown = snapshots if seen is None else {table: _table(table, seen[table]) for table in _SIGHTED if table in seen}
    silent = (
        call
        for call in rows.get(CAPTURE_CALLS, ())
        if call["request"] == "connection" and call["outcome"] not in ("ANSWERED", "NOT_ONLINE")
    )
    beside = [_sightings(shown), unanswered_states(_table(CAPTURE_CALLS, [*silent]))]
    return without_spark.gathered(snapshots, pa.concat_tables(beside))


def _table(table: Table, rows: Sequence[Row]) -> pa.Table:
    """By hand structs may be tuples, as Spark takes them too; what is not named is null."""
    schema = pa.schema([field.with_nullable(True) for field in arrow_schema(table)])
    return pa.table(columns_of(rows, schema), schema)


def _sightings(sources: Mapping[Table, pa.Table]) -> pa.Table:
    shown = [(table, _known(row)) for table in _SIGHTED if table in sources for row in sources[table].to_pylist()]
    return sighted_states(sighted(_table(SIGHTINGS, sightings(shown)), from_micros(0)))


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """The row without queues that are null."""
    return row | {"queues": [queue for queue in row.get("queues") or () if queue]}
