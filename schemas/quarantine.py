"""Rejected lines and rows, and why; nothing is lost."""

from schemas.table import Table
from schemas.types import LONG, STRING, TIMESTAMP, Array, Field, Struct, required

QUARANTINE = Table(
    name="quarantine",
    comment="One row per rejected input line or source row",
    schema=Struct(
        required("quarantine_id", STRING, "stable over runs"),
        Field("source_table", STRING, "table; null: unknown"),
        Field("source_file", STRING, "file name; null: a source row"),
        Field("line_number", LONG, "line, from 1; null: a source row"),
        Field("row_key", STRING, "its key as JSON, as far as it is readable"),
        required("reasons", Array(STRING), "every rule that it breaks"),
        Field("detail", STRING, "what is wrong, in words"),
        Field("run_id", STRING, "run that rejected the source row first; null: ingested line"),
        Field("content", STRING, "the line or row, cut after 64 KiB"),
        Field("rejected_at", TIMESTAMP, "UTC; null: unknown, by an older version"),
    ),
    key=("quarantine_id",),
    cluster_by=("quarantine_id",),
)
