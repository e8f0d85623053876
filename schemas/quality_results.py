"""The result of every expectation in every run: a long table, so that a trend is one query."""

from schemas.common import STEP_START
from schemas.table import Table
from schemas.types import BOOLEAN, DOUBLE, LONG, STRING, TIMESTAMP, Array, Field, Struct, required

QUALITY_RESULTS = Table(
    name="quality_results",
    comment="One row per (run, step, table, expectation, column)",
    schema=Struct(
        required("run_id", STRING, "the run that looked, as in audit_runs; of `validate`: its own"),
        required("checked_at", TIMESTAMP, "UTC; when the run looked"),
        STEP_START,
        required("table_name", STRING, "table that was checked"),
        required("expectation", STRING, "name; docs/expectations.md explains each"),
        Field("column_name", STRING, "column it is about; null: the row or the table as a whole"),
        required("severity", STRING, "critical: nothing is published; warning: published, exit code 2"),
        required("success", BOOLEAN, "whether it holds in this step"),
        Field("observed_value", DOUBLE, "rows, share or rate, as the expectation says"),
        Field("unexpected_count", LONG, "rows that break it; null: it is not about single rows"),
        Field("unexpected_percent", DOUBLE, "the same in percent of the step's rows; null: no rows"),
        required("examples", Array(STRING), "keys of up to 5 rows that break it, as JSON"),
    ),
    key=("run_id", "step_start", "table_name", "expectation", "column_name"),
    cluster_by=("step_start",),
    checks={"known_severity": "severity IN ('critical', 'warning')"},
)
