"""Rejected lines and rows, and why; nothing is lost."""

from schemas.table import Table
from schemas.types import LONG, STRING, Array, Field, Struct, required

QUARANTINE = Table(
    name="quarantine",
    comment="One row per rejected input line or source row",
    schema=Struct(
        required("quarantine_id", STRING, "stable: the same rejected line has the same id in every run"),
        Field("source_table", STRING, "table it was meant for; null where the line does not tell"),
        Field("source_file", STRING, "name of the file it came from; null for a source row"),
        Field("line_number", LONG, "line in that file, from 1; null for a source row"),
        Field("row_key", STRING, "its key as JSON, as far as it could be read"),
        required("reasons", Array(STRING), "every rule it breaks, as enum names"),
        Field("detail", STRING, "what exactly is wrong, in words"),
        Field("run_id", STRING, "run that rejected the source row first; null for a line that was ingested"),
        Field("content", STRING, "the line or row itself; longer than 64 KiB is cut, as detail then says"),
    ),
    key=("quarantine_id",),
    cluster_by=("quarantine_id",),
    former={
        "row_key": "key",
    },
)
