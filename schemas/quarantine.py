"""What was rejected, and why; nothing is lost."""

from pyspark.sql.types import ArrayType, LongType, StringType, StructType

from schemas.table import Table, column, required

QUARANTINE = Table(
    name="quarantine",
    comment="One row per rejected input line or source row",
    schema=StructType(
        [
            required("quarantine_id", StringType(), "stable: the same rejected line has the same id in every run"),
            column("source_table", StringType(), "table it was meant for; null where the line does not tell"),
            column("source_file", StringType(), "name of the file it came from; null for a source row"),
            column("line_number", LongType(), "line in that file, from 1; null for a source row"),
            column("key", StringType(), "its key as JSON, as far as it could be read"),
            required("reasons", ArrayType(StringType(), containsNull=True), "every rule it breaks, as enum names"),
            column("detail", StringType(), "what exactly is wrong, in words"),
            column("run_id", StringType(), "run that rejected the source row first; null for a line that was ingested"),
            column(
                "content",
                StringType(),
                "the line or row itself; longer than 64 KiB is cut, as detail then says",
            ),
        ]
    ),
    key=("quarantine_id",),
    cluster_by=("quarantine_id",),
)
