"""Outcomes → Arrow tables as in `schemas`, inserted by key: rows that exist stay, others are added once."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from schemas import Table
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.files import KEPT_CONTENT
from spark_jobs.ingest.recording import Outcome, Quarantined
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.spark_types import same_key
from spark_jobs.store.warehouse import Warehouse

#: A chunk is full with the first of the two; the second bounds memory where lines are long.
CHUNK_LINES: Final = 25_000
CHUNK_BYTES: Final = 64 * 1024 * 1024

#: The additional column: which of the given rows each is.
PLACE: Final = "__place"


def chunks(outcomes: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """The outcomes in order, in lists of bounded size; what comes before a file that cannot be read comes first."""
    chunk: list[Outcome] = []
    size, unreadable = 0, None
    try:
        for outcome in outcomes:
            chunk.append(outcome)
            size += len(outcome.line.content)
            if len(chunk) >= CHUNK_LINES or size >= CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
    except InputFileError as error:
        unreadable = error
    if chunk:
        yield chunk
    if unreadable:
        raise unreadable


def arrow_table(table: Table, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """The rows with the columns that jobs write, timestamps in UTC microseconds, and `PLACE`."""
    schema = pa.schema([arrow_schema(table).field(name) for name in table.columns])
    places = pa.array(range(len(rows)), pa.int64())
    return pa.Table.from_pylist([*map(dict, rows)], schema).append_column(PLACE, places)


def quarantine_row(rejected: Quarantined, rejected_at: datetime) -> dict[str, object]:
    """One row of `quarantine`; its id depends on the file's name, the line's number and its content only."""
    content, detail, file_name = rejected.line.content, rejected.detail, rejected.line.source
    if len(content) > KEPT_CONTENT:
        detail += f" (content: the first {KEPT_CONTENT} of {len(content)} bytes)"
    identity = hashlib.sha256(f"{file_name}\0{rejected.line.number}\0".encode())
    identity.update(content)
    return {
        "quarantine_id": identity.hexdigest(),
        "source_table": rejected.table.name if rejected.table else None,
        "source_file": file_name,
        "line_number": rejected.line.number,
        "row_key": json.dumps(rejected.key)[:KEPT_CONTENT] if rejected.key else None,
        "reasons": [rejected.reason.value],
        "detail": detail,
        "run_id": None,
        "content": content[:KEPT_CONTENT].decode(errors="replace"),
        "rejected_at": rejected_at,
    }


def known(spark: SparkSession, warehouse: Warehouse, table: Table, source: pa.Table, within: Column) -> dict[int, bool]:
    """Places of rows whose key is in the table → whether they are equal. `within`: true for all such rows `t`."""
    target = warehouse.read(spark, table).alias("t").where(within)
    same = _columns("s", table).eqNullSafe(_columns("t", table))
    pairs = spark.createDataFrame(source).alias("s").join(target, on=same_key(table), how="inner")
    return dict(pairs.select(PLACE, same).collect())


def insert(spark: SparkSession, warehouse: Warehouse, table: Table, source: pa.Table, within: Column) -> int:
    """Insert rows of new keys, and return their number. Raises `PublishConflictError` if other writers leave no gap."""
    if not source.num_rows:
        return 0
    frame = spark.createDataFrame(source.drop_columns([PLACE])).alias("s")

    def merge() -> int:
        merged = warehouse.delta_table(spark, table).alias("t").merge(frame, within & same_key(table))
        result = merged.whenNotMatchedInsert(values={name: F.col(f"s.{name}") for name in table.columns}).execute()
        return int(result.collect()[0]["num_inserted_rows"])

    return retry_on_conflict(merge, f"insert into {table.name}")


def _columns(alias: str, table: Table) -> Column:
    return F.struct(*(F.col(f"{alias}.{name}") for name in table.columns))
