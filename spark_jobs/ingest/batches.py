"""Outcomes → Arrow tables with the columns and types of `schemas`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from schemas import Table
from spark_jobs.ingest.files import KEPT_CONTENT
from spark_jobs.ingest.recording import Outcome, Quarantined
from spark_jobs.spark_types import spark_schema

#: A chunk is full with the first of the two; the second bounds memory where lines are long.
CHUNK_LINES: Final = 25_000
CHUNK_BYTES: Final = 64 * 1024 * 1024

#: The column beside the table's own that tells which line a row came from.
LINE_NUMBER: Final = "__line_number"


def chunks(found: Iterable[Outcome]) -> Iterator[list[Outcome]]:
    """The outcomes in order, in lists of bounded size."""
    chunk: list[Outcome] = []
    size = 0
    for outcome in found:
        chunk.append(outcome)
        size += len(outcome.line.content)
        if len(chunk) >= CHUNK_LINES or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def arrow_table(table: Table, rows: Sequence[Mapping[str, object]], line_numbers: Sequence[int]) -> pa.Table:
    """The rows with the columns that jobs write, timestamps in UTC microseconds, and `LINE_NUMBER`."""
    fields = [spark_schema(table)[name] for name in table.columns] + [StructField(LINE_NUMBER, LongType(), False)]
    numbered = [{**row, LINE_NUMBER: number} for row, number in zip(rows, line_numbers, strict=True)]
    return pa.Table.from_pylist(numbered, schema=to_arrow_schema(StructType(fields)))


def quarantine_row(rejected: Quarantined, file_name: str) -> dict[str, object]:
    """One row of `quarantine`; its id depends on the file's name, the line's number and its content only."""
    content, detail = rejected.line.content, rejected.detail
    if len(content) > KEPT_CONTENT:
        detail += f" (content: the first {KEPT_CONTENT} of {len(content)} bytes)"
    identity = hashlib.sha256(f"{file_name}\0{rejected.line.number}\0".encode())
    identity.update(content)
    return {
        "quarantine_id": identity.hexdigest(),
        "source_table": rejected.table.name if rejected.table else None,
        "source_file": file_name,
        "line_number": rejected.line.number,
        "key": json.dumps(rejected.key)[:KEPT_CONTENT] if rejected.key else None,
        "reasons": [rejected.reason.value],
        "detail": detail,
        "run_id": None,
        "content": content[:KEPT_CONTENT].decode(errors="replace"),
    }
