"""What every expectation saw in every run: a long table, so that a trend is one query."""

from pyspark.sql.types import ArrayType, BooleanType, DoubleType, LongType, StringType, StructType, TimestampType

from schemas.common import STEP_START
from schemas.table import Table, column, required

QUALITY_RESULTS = Table(
    name="quality_results",
    comment="One row per (run, step, table, expectation, column)",
    schema=StructType(
        [
            required("run_id", StringType(), "the run that looked, as in audit_runs; of `validate`: its own"),
            required("checked_at", TimestampType(), "UTC; when the run looked"),
            STEP_START,
            required("table_name", StringType(), "table that was looked at"),
            required("expectation", StringType(), "name; docs/expectations.md explains each"),
            column("column_name", StringType(), "column it is about; null: the row or the table as a whole"),
            required("severity", StringType(), "critical: nothing is published; warning: published, exit code 2"),
            required("success", BooleanType(), "whether it holds in this step"),
            column("observed_value", DoubleType(), "rows, share or rate, as the expectation says"),
            column("unexpected_count", LongType(), "rows that break it; null: it is not about single rows"),
            column("unexpected_percent", DoubleType(), "the same in percent of the step's rows; null: no rows"),
            required("examples", ArrayType(StringType(), False), "keys of up to 5 rows that break it, as JSON"),
        ]
    ),
    key=("run_id", "step_start", "table_name", "expectation", "column_name"),
    cluster_by=("step_start",),
    checks={"known_severity": "severity IN ('critical', 'warning')"},
)
