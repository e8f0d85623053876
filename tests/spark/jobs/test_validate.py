"""`validate` on what a run has published: clean, changed behind its back, of one topic only, and bad use."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import (
    ALLOCATIONS,
    AUDIT_RUNS,
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    TABLES,
    Table,
)
from spark_jobs.cli.exit_codes import quality_exit_code
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import ConfigurationError, ExitCode, IntervalError, PublishConflictError, WarehouseError
from spark_jobs.operate import validate as operated
from spark_jobs.operate.validate import Validation, validate
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.run import RunSpec
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import load, membership
from tests.support.times import HOUR, at

CONFIGURATION = Configuration()


def failed(validation: Validation) -> list[tuple[str, str, str]]:
    broken = (result for result in validation.results if not result.success)
    return [(result.severity, result.table_name, result.expectation) for result in broken]


def failed_of(spark: SparkSession, warehouse: Warehouse, table: Table) -> list[tuple[str, str, str]]:
    return failed(validate(spark, warehouse, CONFIGURATION, table))


def test_what_a_run_published_holds_and_nothing_else_is_written(spark: SparkSession, copied: Warehouse) -> None:
    there = [table for table in TABLES if copied.exists(spark, table)]
    before = {table.name: copied.version(spark, table) for table in there}
    messages: list[str] = []
    validation = validate(spark, copied, CONFIGURATION, progress=messages.append)
    assert failed(validation) == []
    assert validation.interval == HOUR
    assert messages == ["checking the sources", "checking the outputs"]
    after = {table.name: copied.version(spark, table) for table in there}
    assert {name for name in before if after[name] != before[name]} == {"quality_results"}
    recorded = copied.read(spark, QUALITY_RESULTS).where(F.col("run_id") == validation.run_id)
    assert recorded.count() == len(validation.results)
    assert recorded.where("expectation = 'content_is_as_published'").count() == len(OUTPUTS)
    assert validation.pages is not None
    assert validation.run_id in validation.pages.read_text(encoding="utf-8")


def test_the_documented_reader_sees_a_run_whole_while_another_is_publishing(
    spark: SparkSession, copied: Warehouse
) -> None:
    text = (Path(__file__).parents[3] / "docs" / "expectations.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    documented: dict[str, Any] = {}
    exec(code, documented)
    spark.sql(f"DELETE FROM {copied.identifier(ALLOCATIONS.name)}")
    assert documented["as_published"](spark, copied.location, HOUR.start, "allocations").count() == 2
    assert documented["as_published"](spark, copied.location, HOUR.start, "findings").count() == 4


@pytest.mark.slow
def test_a_broken_source_row_is_a_warning_and_lost_rows_are_critical(spark: SparkSession, copied: Warehouse) -> None:
    """One source row of 361 is 0.3 %, less than the 1 % that a step may lose."""
    load(spark, copied, {MEMBERSHIP_SNAPSHOTS: [membership(3590, "")]})
    spark.sql(f"DELETE FROM {copied.identifier(ALLOCATIONS.name)}")
    broken = [result for result in validate(spark, copied, CONFIGURATION, interval=HOUR).results if not result.success]
    warnings = [result for result in broken if result.severity == "warning"]
    (warning,) = warnings
    assert (warning.table_name, warning.expectation) == ("membership_snapshots", "client_ids_are_names")
    assert (warning.unexpected_count, warning.step_start) == (1, at(0))
    assert warning.examples == [
        '{"cluster":"c","consumer_group":"g","broker_name":"b","captured_at":"2026-03-01T10:59:50.000Z"}'
    ]
    assert quality_exit_code([result.severity for result in warnings]) is ExitCode.WARNINGS
    assert {(result.table_name, result.expectation) for result in broken if result.severity == "critical"} == {
        ("allocations", "content_is_as_published"),
        ("rebalance_intervals", "every_readable_queue_is_allocated_once"),
        ("rebalance_intervals", "double_owned_queues_are_counted"),
        ("queue_progress", "queue_is_allocated"),
        ("findings", "queues_are_allocated"),
    }
    assert quality_exit_code([result.severity for result in broken]) is ExitCode.FINDINGS


@pytest.mark.slow
def test_a_run_of_one_topic_leaves_groups_in_part(spark: SparkSession, copied: Warehouse) -> None:
    """Of the two findings that a status counts one is gone: wrong, unless the group was last audited for a topic."""
    spark.sql(f"DELETE FROM {copied.identifier(FINDINGS.name)} WHERE rule = 'DOUBLE_OWNED_QUEUE'")
    later = F.expr("finished_at + INTERVAL 1 MINUTE")
    of_a_topic = copied.read(spark, AUDIT_RUNS).withColumn("finished_at", later).withColumn("topic", F.lit("t"))
    copied.save(of_a_topic.localCheckpoint().write.format("delta").mode("append"), AUDIT_RUNS)
    assert failed_of(spark, copied, GROUP_STATUS) == []
    again = of_a_topic.withColumn("finished_at", later).withColumn("topic", F.lit(None).cast("string"))
    copied.save(again.localCheckpoint().write.format("delta").mode("append"), AUDIT_RUNS)
    assert failed_of(spark, copied, GROUP_STATUS) == [("critical", "group_status", "findings_are_counted")]


def test_bad_use_is_an_error_that_names_what_is_wrong(
    spark: SparkSession, twins_hour: Warehouse, tmp_path: Path
) -> None:
    with pytest.raises(WarehouseError, match="there is no table membership_snapshots in the warehouse"):
        validate(spark, Warehouse.parse(str(tmp_path / "nothing")), CONFIGURATION)
    assert not (tmp_path / "nothing").exists()
    half = Interval(HOUR.start, HOUR.end - timedelta(minutes=30))
    with pytest.raises(IntervalError, match="is off the grid"):
        validate(spark, twins_hour, CONFIGURATION, interval=half)
    with pytest.raises(ConfigurationError, match="was audited in steps of 3600 s, and step_seconds is 300"):
        validate(spark, twins_hour, Configuration(step_seconds=300))
    with claim(twins_hour, RunSpec(HOUR), "other"), pytest.raises(PublishConflictError, match="run other is auditing"):
        validate(spark, twins_hour, CONFIGURATION)


def test_it_keeps_no_run_from_the_steps_and_notices_one_that_publishes(
    spark: SparkSession, copied: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks_at = operated._rows

    def meanwhile(*arguments: Any) -> DataFrame:
        with claim(copied, RunSpec(HOUR), "meanwhile"):
            return looks_at(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(operated, "_rows", meanwhile)
        frames, _ = operated._unchanged(spark, copied, HOUR)
    assert frames[FINDINGS].count() == 4

    def published_meanwhile(*arguments: Any) -> DataFrame:
        later = F.expr("finished_at + INTERVAL 1 MINUTE")
        again = copied.read(spark, AUDIT_RUNS).withColumn("finished_at", later).localCheckpoint()
        copied.save(again.write.format("delta").mode("append"), AUDIT_RUNS)
        monkeypatch.setattr(operated, "_rows", looks_at)
        return looks_at(*arguments)

    monkeypatch.setattr(operated, "_rows", published_meanwhile)
    with pytest.raises(PublishConflictError, match="has published some of the steps meanwhile"):
        operated._unchanged(spark, copied, HOUR)


def test_a_warehouse_without_rows_has_nothing_to_look_at(spark: SparkSession, warehouse: Warehouse) -> None:
    load(spark, warehouse, {})
    assert validate(spark, warehouse, CONFIGURATION).interval is None
    assert not warehouse.exists(spark, QUALITY_RESULTS)
