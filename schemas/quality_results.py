"""The result of every expectation in every run: a long table, so that a trend is one query."""

from schemas.common import STEP_START
from schemas.table import Table
from schemas.types import BOOLEAN, DOUBLE, LONG, STRING, TIMESTAMP, Array, Field, Struct, required

QUALITY_RESULTS = Table(
    name="quality_results",
    comment="One row per (run, step, table, expectation, column)",
    schema=Struct(
        required("run_id", STRING, "run, as in audit_runs; of `validate`: its own"),
        required("checked_at", TIMESTAMP, "time of the check"),
        STEP_START,
        required("table_name", STRING, "checked table"),
        required("expectation", STRING, "name"),
        Field("column_name", STRING, "column; null: the row or table as a whole"),
        required("severity", STRING, "critical or warning"),
        required("success", BOOLEAN, "true: it holds in this step"),
        Field("observed_value", DOUBLE, "rows, part or rate, as the expectation says"),
        Field("unexpected_count", LONG, "rows that break it; null: not about rows"),
        Field("unexpected_percent", DOUBLE, "in percent of the step's rows; null: no rows"),
        required("examples", Array(STRING), "keys of up to 5 such rows, as JSON"),
    ),
    key=("run_id", "step_start", "table_name", "expectation", "column_name"),
    cluster_by=("step_start",),
    checks={"known_severity": "severity IN ('critical', 'warning')"},
)
