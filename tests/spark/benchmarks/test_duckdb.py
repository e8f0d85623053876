"""DuckDB computes what a run publishes: intervals, owners and lags, whole tables of a fleet of six groups."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.actions import Target, replayed_rows
from benchmarks.duckdb_replay import connect, export_states, load, replay
from benchmarks.fleet import Fleet
from benchmarks.snapshots import files, make
from schemas import (
    ALLOCATIONS,
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
)
from spark_jobs.config import Configuration
from spark_jobs.pipeline.gather.evaluated import unpacked
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse

pytestmark = pytest.mark.slow

#: A member of every group without twins leaves and comes back in each of two hours; one group has twins.
FLEET = Fleet(groups=6, fewest_members=3, most_members=5, queues=8, hours=2, churn=1.0, duplicates=0.2)
#: In the second hour: nothing of one group's members, of another's route.
_MISSING = (
    (MEMBERSHIP_SNAPSHOTS, "consumer_group = 'group-0001'", "01:10", "01:25"),
    (ROUTE_SNAPSHOTS, "topic = 'topic-0002'", "01:20", "01:40"),
)

Rows = set[tuple[Any, ...]]


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The fleet with gaps, audited."""
    made = Warehouse.parse(str(tmp_path_factory.mktemp("duckdb") / "warehouse"))
    make(spark, made, FLEET)
    for table, whose, start, end in _MISSING:
        when = f"captured_at BETWEEN '2026-03-01 {start}:00' AND '2026-03-01 {end}:00'"
        made.delta_table(spark, table).delete(f"{whose} AND {when}")
    run(spark, made, RunSpec(FLEET.interval), Configuration())
    return made


@pytest.fixture(scope="module")
def replayed(spark: SparkSession, warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(threads=2) as connection:
        load(connection, files(spark, warehouse), FLEET.interval, Configuration())
        replay(connection)
        yield connection


_KEY = ("step_start", "consumer_group", "topic", "interval_start")


def rows(connection: duckdb.DuckDBPyConnection, table: str, *columns: str) -> Rows:
    """Of a table that knows its interval by number: with the interval's key."""
    names = ", ".join((*_KEY, *columns))
    source = table if table == "intervals" else f"{table} JOIN intervals USING (id)"
    return {_hashable(row) for row in connection.sql(f"SELECT {names} FROM {source}").fetchall()}


def _hashable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)


def test_duckdb_computes_the_published_intervals(
    spark: SparkSession, warehouse: Warehouse, replayed: duckdb.DuckDBPyConnection
) -> None:
    published = warehouse.read(spark, REBALANCE_INTERVALS)
    wanted = published.select(*_KEY, "interval_end", "reason", "members.client_id").collect()
    found = rows(replayed, "intervals", "interval_end", "reason", "CASE WHEN reason IS NULL THEN ids END")
    assert found == {_hashable(tuple(row)) for row in wanted}
    assert replayed.sql("SELECT count(*) FROM intervals").fetchall() == [(len(wanted),)]
    # 12 topics × 2 steps, twice what is cut by members that leave and come back, and before the first snapshots.
    assert len(wanted) > 50
    assert {row.reason for row in wanted} == {None, "NO_ROUTE_SNAPSHOT", "NO_MEMBERSHIP_SNAPSHOT"}


def test_duckdb_computes_the_published_owners(
    spark: SparkSession, warehouse: Warehouse, replayed: duckdb.DuckDBPyConnection
) -> None:
    owners = F.array_sort(F.transform("owners", lambda one: F.concat_ws(" ", one["client_id"], one["client_addr"])))
    wanted = warehouse.read(spark, ALLOCATIONS).select(*_KEY, "broker_name", "queue_id", owners).collect()
    texts = "list_sort([o.client_id || ' ' || o.client_addr FOR o IN owners])"
    assert rows(replayed, "allocations", "broker_name", "queue_id", texts) == {_hashable(tuple(row)) for row in wanted}
    assert replayed.sql("SELECT count(*) FROM allocations").fetchall() == [(len(wanted),)]
    # Twins: queues that nobody owns, and queues that two connections own.
    assert {len(row[-1]) for row in wanted} == {0, 1, 2}


def test_duckdb_computes_the_published_lags(
    spark: SparkSession, warehouse: Warehouse, replayed: duckdb.DuckDBPyConnection
) -> None:
    columns = ("broker_name", "queue_id", "readings", "lag_first", "lag_last", "lag_max")
    wanted = warehouse.read(spark, QUEUE_PROGRESS).select(*_KEY, *columns).collect()
    assert rows(replayed, "progress", *columns) == {tuple(row) for row in wanted}
    assert replayed.sql("SELECT count(*) FROM progress").fetchall() == [(len(wanted),)]
    impossible = "lag_sum < lag_max OR lag_sum > lag_max * readings"
    assert replayed.sql(f"SELECT count(*) FROM progress WHERE {impossible}").fetchall() == [(0,)]


def test_what_rocketmqs_loop_is_given(replayed: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Group 0 has twins in no hour: with the last member and without it, each with its own topic and its retry topic;
    180 snapshots an hour.
    """
    export_states(replayed, tmp_path / "states.tsv")
    lines = [line.split("\t") for line in (tmp_path / "states.tsv").read_text().splitlines()]
    of_group = [line for line in lines if line[1] == "group-0000"]
    assert {(topic, queues) for _, _, topic, _, queues in of_group} == {
        ("topic-0000", "broker-00#8"),
        ("%RETRY%group-0000", "broker-00#1"),
    }
    assert sum(int(snapshots) for snapshots, *_ in of_group) == 2 * 360
    twins = [line[3].split(" ") for line in lines if line[1] == "group-0004"]
    assert {len(ids) - len(set(ids)) for ids in twins} == {1}


def test_what_is_compared_with_duckdb_is_what_a_run_publishes(spark: SparkSession, warehouse: Warehouse) -> None:
    target = Target(warehouse, FLEET.interval, Configuration())
    packed = replayed_rows(spark, target).localCheckpoint()
    for table in (REBALANCE_INTERVALS, ALLOCATIONS, QUEUE_PROGRESS):
        found, wanted = unpacked(packed, table), warehouse.read(spark, table)
        assert found.exceptAll(wanted).count() == wanted.exceptAll(found).count() == 0
    assert unpacked(packed, FINDINGS).count() == unpacked(packed, GROUP_STATUS).count() == 0
