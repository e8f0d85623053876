"""Counts of Spark's work; those of a whole run: `recording/test_kernel.py`."""

from pathlib import Path

from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.store.warehouse import Warehouse
from tests.support.counted import counted
from tests.support.snapshots import load, membership


def test_in_a_session_what_lies_outside_the_block_does_not_count(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(0, "c1")]})
    rows = warehouse.read(spark, MEMBERSHIP_SNAPSHOTS)
    rows.collect()
    with counted(spark, tmp_path / "events") as found:
        rows.select("captured_at").union(rows.select("captured_at").where("broker_name IS NOT NULL")).collect()
        spark.sparkContext.parallelize([1, 2], 2).count()
    rows.collect()
    told = found()
    assert (told.actions, told.scans) == (2, {"membership_snapshots": 2})
    assert told.stages >= 2
