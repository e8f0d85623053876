"""The gate on the recording: its sources and what was published keep every rule."""

from pyspark.sql import SparkSession

from expectations import SUITES
from schemas import QUALITY_RESULTS, QUARANTINE
from tests.spark.recording.conftest import Audited


def test_every_expectation_is_evaluated_and_holds(spark: SparkSession, audited: Audited) -> None:
    """Nor is it that the recording is shorter than the hour that is audited."""
    results = [row for row in audited.rows(spark, QUALITY_RESULTS) if row["run_id"] == audited.result.run["run_id"]]
    assert [(row["table_name"], row["expectation"]) for row in results if not row["success"]] == []
    looked_at = {(row["table_name"], row["expectation"]) for row in results}
    assert looked_at >= {(suite.table.name, one.name) for suite in SUITES for one in suite.expectations}
    assert not audited.warehouse.exists(spark, QUARANTINE) or audited.result.run["run_id"] not in {
        row["run_id"] for row in audited.rows(spark, QUARANTINE)
    }
