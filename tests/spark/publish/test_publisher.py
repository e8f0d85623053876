"""A publish: the rows that it replaces, those that it leaves, its commits, and the hash of its content."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import OUTPUTS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.publish.content import NOTHING, content, contents_of
from spark_jobs.pipeline.publish.publisher import publish
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse
from tests.support.times import HOUR

NEXT = Interval(HOUR.end, HOUR.end + timedelta(hours=1))
#: Required columns of an interval whose values do not matter here.
_VALUES = {"membership_view": "*", "status": "UNOBSERVED", "reason": "UNOBSERVED", "member_count": 0, "queue_count": 0}


def intervals(spark: SparkSession, start: datetime, topics: Sequence[str]) -> dict[Table, DataFrame]:
    rows = [
        {"step_start": start, "cluster": "c", "consumer_group": "g", "topic": topic, "interval_start": start}
        | {"interval_end": start + timedelta(minutes=1)}
        | _VALUES
        for topic in topics
    ]
    return {REBALANCE_INTERVALS: spark.createDataFrame(rows, spark_schema(REBALANCE_INTERVALS))}


@pytest.fixture
def in_catalog(spark: SparkSession) -> Iterator[Warehouse]:
    spark.sql("CREATE SCHEMA spark_catalog.publish_test")
    yield Warehouse.parse("spark_catalog.publish_test")
    spark.sql("DROP SCHEMA spark_catalog.publish_test CASCADE")


@pytest.mark.parametrize("where", ["warehouse", pytest.param("in_catalog", marks=pytest.mark.slow)])
def test_what_was_written_is_counted_on_the_way(
    spark: SparkSession, where: str, request: pytest.FixtureRequest
) -> None:
    """Appended, replaced by other rows, and by none."""
    warehouse: Warehouse = request.getfixturevalue(where)
    for run_id, topics in (("first", ["a", "b"]), ("again", ["c"]), ("empty", [])):
        outputs = intervals(spark, HOUR.start, topics) if topics else {}
        found = publish(spark, warehouse, RunSpec(HOUR), outputs, run_id, one_step=True)
        rows = warehouse.read(spark, REBALANCE_INTERVALS).select(*REBALANCE_INTERVALS.columns)
        assert found[REBALANCE_INTERVALS.name].content == content(rows)
        assert content(rows).rows == len(topics)


def written(spark: SparkSession, warehouse: Warehouse) -> list[tuple[str, str]]:
    """How each version of the intervals was written, oldest first, and by which run."""
    history = warehouse.delta_table(spark, REBALANCE_INTERVALS).history().orderBy("version").where("version > 0")
    return [(row.operationParameters["mode"], row.userMetadata) for row in history.collect()]


def topics(spark: SparkSession, warehouse: Warehouse) -> dict[datetime, list[str]]:
    rows = warehouse.read(spark, REBALANCE_INTERVALS).groupBy("step_start").agg(F.sort_array(F.collect_list("topic")))
    return {row[0]: row[1] for row in rows.collect()}


@pytest.mark.usefixtures("tables")
def test_a_new_step_is_appended_and_one_that_is_there_is_replaced(spark: SparkSession, warehouse: Warehouse) -> None:
    publish(spark, warehouse, RunSpec(HOUR), intervals(spark, HOUR.start, ["a", "b"]), "first")
    publish(spark, warehouse, RunSpec(NEXT), intervals(spark, NEXT.start, ["c"]), "second")
    again = publish(spark, warehouse, RunSpec(HOUR), intervals(spark, HOUR.start, ["d"]), "third")
    ten, eleven = (step.replace(tzinfo=None) for step in (HOUR.start, NEXT.start))
    assert topics(spark, warehouse) == {ten: ["d"], eleven: ["c"]}
    assert written(spark, warehouse) == [("Append", "first"), ("Append", "second"), ("Overwrite", "third")]
    assert again[REBALANCE_INTERVALS.name].version == 3
    assert again[REBALANCE_INTERVALS.name].content.rows == 1


@pytest.mark.usefixtures("tables")
def test_what_has_no_rows_is_not_written_but_removes_what_is_there(spark: SparkSession, warehouse: Warehouse) -> None:
    nothing = publish(spark, warehouse, RunSpec(HOUR), {}, "first")
    assert {(one.content, one.version) for one in nothing.values()} == {(NOTHING, 0)}
    publish(spark, warehouse, RunSpec(HOUR), intervals(spark, HOUR.start, ["a"]), "second")
    publish(spark, warehouse, RunSpec(HOUR), {}, "third")
    assert topics(spark, warehouse) == {}
    assert written(spark, warehouse)[-1] == ("Overwrite", "third")
    untouched = [table for table in OUTPUTS if table is not REBALANCE_INTERVALS]
    assert [warehouse.version(spark, table) for table in untouched] == [0] * len(untouched)


def test_files_that_no_version_has_keep_a_step_from_being_free(warehouse: Warehouse) -> None:
    """What a killed run wrote; also folders that are not those of steps, as another layout has."""
    folder = warehouse.local_path
    assert folder is not None
    table = folder / REBALANCE_INTERVALS.name
    (table / "_delta_log").mkdir(parents=True)
    assert warehouse.is_free(REBALANCE_INTERVALS, HOUR)
    (table / f"step_start={HOUR.start:%Y-%m-%d %H}%3A00%3A00").mkdir()
    assert not warehouse.is_free(REBALANCE_INTERVALS, HOUR)
    assert warehouse.is_free(REBALANCE_INTERVALS, NEXT)
    (table / "a1").mkdir()
    assert not warehouse.is_free(REBALANCE_INTERVALS, NEXT)


@pytest.mark.parametrize("location", ["s3a://bucket/audit", "catalog.audit"])
def test_what_cannot_be_claimed_is_never_free(location: str) -> None:
    assert not Warehouse.parse(location).is_free(REBALANCE_INTERVALS, HOUR)


def test_contents_of_several_tables_are_those_of_each(spark: SparkSession) -> None:
    frames = intervals(spark, HOUR.start, ["a", "b"]) | {
        OUTPUTS[1]: spark.createDataFrame([], spark_schema(OUTPUTS[1]))
    }
    assert contents_of(frames) == {table: content(frame) for table, frame in frames.items()}
    assert contents_of(frames)[OUTPUTS[1]] == NOTHING


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
