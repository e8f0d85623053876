"""Tables are made from their schemas, and found again only as such."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rebalance_audit
from schemas import MEMBERSHIP_SNAPSHOTS, OUTPUTS, REBALANCE_INTERVALS, SOURCES, TABLES
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.staging import drop_staged, stage, staged_times
from spark_jobs.store.warehouse import Warehouse
from tests.support.commands import Typed
from tests.support.snapshots import load, membership
from tests.support.times import naive

HOUR = Interval.parse("2026-03-01T10:00/2026-03-01T11:00")


def test_every_column_says_what_it_means() -> None:
    for table in TABLES:
        for field in table.schema:
            assert field.comment, f"{table.name}.{field.name}"
        assert set(table.key) <= set(table.schema.names), table.name


def test_tables_are_made_as_their_schemas_say(spark: SparkSession, warehouse: Warehouse) -> None:
    warehouse.create(spark, [MEMBERSHIP_SNAPSHOTS, REBALANCE_INTERVALS])
    described = spark.sql(f"DESCRIBE {warehouse.identifier('membership_snapshots')}").collect()
    comments = {row.col_name: row.comment for row in described}
    assert comments["consumer_group"] == "consumer group"
    detail = warehouse.delta_table(spark, MEMBERSHIP_SNAPSHOTS).detail().collect()[0]
    assert detail.clusteringColumns == ["captured_at"]
    assert detail.properties["delta.constraints.known_message_model"]
    outputs = warehouse.delta_table(spark, REBALANCE_INTERVALS).detail().collect()[0]
    assert outputs.partitionColumns == ["step_start"]
    assert outputs.properties["delta.dataSkippingStatsColumns"] == "cluster,consumer_group"
    assert "delta.dataSkippingStatsColumns" not in detail.properties


def test_the_printed_sql_and_the_api_make_the_source_tables(spark: SparkSession, tmp_path: Path, typed: Typed) -> None:
    """With the comments of the schemas, though no statement has a semicolon inside."""
    for statement in typed("sql sources", warehouse=tmp_path / "sql").out.split(";")[:-1]:
        spark.sql(statement)
    for _ in range(2):  # tables that are there stay
        rebalance_audit.open(tmp_path / "api", spark=spark).create_sources()
    for table in SOURCES:
        wanted = [(field.name, field.comment, field.nullable) for field in table.schema]
        for folder in ("sql", "api"):
            made = Warehouse.parse(str(tmp_path / folder)).read(spark, table).schema
            assert [(field.name, field.metadata["comment"], field.nullable) for field in made] == wanted


def test_the_day_is_generated_and_constraints_hold(spark: SparkSession, warehouse: Warehouse) -> None:
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(0, "c1"), membership(86_400)]})
    days = {str(row.captured_date) for row in warehouse.read(spark, MEMBERSHIP_SNAPSHOTS).collect()}
    assert days == {"2026-03-01", "2026-03-02"}
    wrong_model = {**membership(0, "c1"), "message_model": "SHOUTING"}
    without_group = {**membership(0, "c1"), "consumer_group": None}
    for wrong in (wrong_model, without_group):
        with pytest.raises((PySparkException, Py4JJavaError, ValueError), match=r"known_message_model|consumer_group"):
            load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [wrong]})


def test_a_version_can_be_pinned(spark: SparkSession, warehouse: Warehouse) -> None:
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(0, "c1")]})
    version = warehouse.version(spark, MEMBERSHIP_SNAPSHOTS)
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(20, "c1")]})
    pinned = warehouse.read(spark, MEMBERSHIP_SNAPSHOTS, version).collect()
    assert [row.captured_at for row in pinned] == [naive(0)]


def test_a_schema_that_is_not_there_is_named(spark: SparkSession) -> None:
    with pytest.raises(WarehouseError, match=r"there is no schema spark_catalog\.nowhere: make it with CREATE SCHEMA"):
        Warehouse.parse("spark_catalog.nowhere").create(spark, [MEMBERSHIP_SNAPSHOTS])


def test_a_catalog_schema_is_a_warehouse_too(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS spark_catalog.audit_test")
    try:
        warehouse = Warehouse.parse("spark_catalog.audit_test")
        assert warehouse.in_catalog
        load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(0, "c1")]})
        assert warehouse.read(spark, MEMBERSHIP_SNAPSHOTS).count() == 1
        frame = stage(spark, warehouse, "x", spark.range(3))
        assert frame.count() == 3
        assert list(staged_times(spark, warehouse)) == ["x"]
        with claim(warehouse.folder(spark), RunSpec(HOUR), "first") as held:
            databases = Path(urlsplit(str(spark.conf.get("spark.sql.warehouse.dir"))).path)
            files = (databases / "audit_test.db" / "_claims").glob("*.json")
            assert [path.name for path in files] == [f"{held.name}.json"]
        drop_staged(spark, warehouse, "x")
        assert staged_times(spark, warehouse) == {}
    finally:
        spark.sql("DROP SCHEMA spark_catalog.audit_test CASCADE")


@pytest.mark.parametrize("name", ["a#b?c", "a;b%c", "a*{b}"])
def test_spark_claims_and_staged_results_share_the_folder_that_is_named(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    for place in (folder := tmp_path / name, tmp_path / f"{name} too"):
        warehouse = Warehouse.parse(str(place) if place is folder else place.as_uri())
        warehouse.create(spark, [REBALANCE_INTERVALS])
        staged = stage(spark, warehouse, "x", spark.range(3))
        with claim(warehouse.folder(spark), RunSpec(HOUR), "first"):
            assert sorted(path.name for path in place.iterdir()) == ["_claims", "_staging", "rebalance_intervals"]
        assert (staged.count(), warehouse.version(spark, REBALANCE_INTERVALS)) == (3, 0)
        assert DeltaTables(warehouse).version(REBALANCE_INTERVALS) == 0


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_location_is_refused(text: str) -> None:
    with pytest.raises(WarehouseError, match="warehouse is empty"):
        Warehouse.parse(text)


def test_credentials_in_a_uri_are_refused_and_not_repeated() -> None:
    with pytest.raises(WarehouseError, match="has credentials in it") as raised:
        Warehouse.parse("s3a://AKIA:hush@bucket/audit")
    assert "hush" not in str(raised.value)
    assert Warehouse.parse("abfss://container@account.dfs.core.windows.net/audit").scheme == "abfss"


def test_locations_give_identifiers_and_local_paths() -> None:
    assert Warehouse.parse("s3a://bucket/audit/").identifier("t") == "delta.`s3a://bucket/audit/t`"
    assert Warehouse.parse("s3a://bucket/a`b").identifier("t") == "delta.`s3a://bucket/a``b/t`"
    assert Warehouse.parse("s3a://bucket/audit").local_path is None
    assert Warehouse.parse("file:/data/audit").local_path == Path("/data/audit")
    assert Warehouse.parse("main.audit").identifier("t") == "main.audit.t"
    assert len(SOURCES) + len(OUTPUTS) < len(TABLES)
