"""The content hash sees every change and no order."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.pipeline.publish.content import content


def test_order_does_not_count_and_repeats_do(spark: SparkSession) -> None:
    one = spark.createDataFrame([(1, "a"), (2, "b")], "n int, t string")
    other_order = spark.createDataFrame([(2, "b"), (1, "a")], "n int, t string")
    repeated = spark.createDataFrame([(1, "a"), (2, "b"), (2, "b")], "n int, t string")
    changed = spark.createDataFrame([(1, "a"), (2, None)], "n int, t string")
    assert content(one) == content(other_order)
    assert len({content(frame).hash for frame in (one, repeated, changed)}) == 3


def test_the_parts_add_up_to_the_whole(spark: SparkSession) -> None:
    whole = spark.range(1000)
    parts = [content(whole.where(f"id % 3 = {rest}")) for rest in range(3)]
    assert f"{sum(int(part.hash, 16) for part in parts) % 2**64:016x}" == content(whole).hash
    assert content(whole.where("id < 0")).rows == 0
