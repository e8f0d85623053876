"""What Spark folds and gathers is what the kernel needs, whatever the names, the nulls and the order of lists."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OUTPUTS, ROUTE_SNAPSHOTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.pipeline.gather.fold import Sources
from spark_jobs.pipeline.gather.judged import Gathered, judged_steps
from spark_jobs.pipeline.gather.packed import unpacked
from spark_jobs.pipeline.gather.rows import tables
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.quality.checks import settings_of
from spark_jobs.store.spark_types import spark_schema
from tests.gather.test_histories import HOSTILE, all_groups, client, owned
from tests.kernel import judged
from tests.snapshots import HOUR, at, membership, route

CONFIGURATION = Configuration()
Rows = dict[Table, list[dict[str, Any]]]


def sources_of(spark: SparkSession, rows: Rows) -> Sources:
    def frame(table: Table) -> Any:
        schema = StructType([field for field in spark_schema(table) if field.name in table.columns])
        whole = [dict.fromkeys(schema.names) | row for row in rows.get(table, [])]
        return spark.createDataFrame(whole, schema)

    return {table: frame(table) for table in SOURCES}


def nested(value: Any) -> Any:
    return value.asDict(recursive=True) if hasattr(value, "asDict") else value


def folded(spark: SparkSession, rows: Rows, kind: str) -> list[dict[str, Any]]:
    states = Gathered.of(sources_of(spark, rows)).folded
    return [nested(row) for row in states.where(F.col("kind") == kind).collect()]


def audited(sources: Sources) -> dict[Table, DataFrame]:
    settings = settings_of(HOUR, CONFIGURATION, whole_groups=True)
    packed = judged_steps(Gathered.of(sources), RunRequest(HOUR), CONFIGURATION, settings).localCheckpoint()
    return {table: unpacked(packed, table) for table in OUTPUTS}


def connection(client_id: str, client_addr: str | None, language: str | None) -> dict[str, Any]:
    return {"client_id": client_id, "client_addr": client_addr, "language": language, "version": 1}


def test_what_is_listed_in_another_order_is_the_same_state_and_what_is_unknown_elsewhere_is_not(
    spark: SparkSession,
) -> None:
    lists = [
        [connection("a", "x", None), connection("b", None, "x")],
        [connection("b", None, "x"), connection("a", "x", None)],
        [connection("a", None, "x"), connection("b", "x", None)],
        [connection("a", "x", None)],
        [connection("a", "x", None)] * 2,
        [],
    ]
    rows = [membership(20 * place, topics=["t", "u"]) for place, _ in enumerate(lists)]
    subscribed = membership(0, "c", topics=["t", "u"])["subscriptions"]
    for row, connections in zip(rows, lists, strict=True):
        row |= {"connections": connections, "subscriptions": subscribed, "message_model": "CLUSTERING"}
    rows[1]["subscriptions"] = [*reversed(subscribed)]
    found = folded(spark, {MEMBERSHIP_SNAPSHOTS: rows}, "membership")
    sizes = Counter((len(row["membership"]["connections"]), len(row["times"])) for row in found)
    assert sizes == {(2, 2): 1, (2, 1): 2, (1, 1): 1, (0, 1): 1}


def test_request_modes_tell_states_apart_and_their_order_does_not(spark: SparkSession) -> None:
    one, other = ("t", "POP", 1), ("u", "PULL", None)
    lists = [None, [], [one], [("t", "POP", 2)], [("t", "POP", None)], [one, other], [other, one]]
    rows = [membership(20 * place) | {"request_modes": modes} for place, modes in enumerate(lists)]
    found = folded(spark, {MEMBERSHIP_SNAPSHOTS: rows}, "membership")
    assert sorted(len(row["times"]) for row in found) == [1, 1, 1, 1, 1, 2]


def test_addresses_tell_routes_apart_and_their_order_does_not(spark: SparkSession) -> None:
    one, other = ("b", 0, "h:1"), ("b", 1, "h:2")
    lists = [None, [], [one], [("b", 0, "h:2")], [("b", None, "h:1")], [one, other], [other, one]]
    rows = [route(20 * place, 4) | {"addresses": addresses} for place, addresses in enumerate(lists)]
    found = folded(spark, {ROUTE_SNAPSHOTS: rows}, "route")
    assert sorted(len(row["times"]) for row in found) == [1, 1, 1, 1, 1, 2]


def test_the_hash_of_a_state_tells_unknown_from_empty_and_one_unknown_from_another(spark: SparkSession) -> None:
    said: list[dict[str, Any]] = [
        {},
        {"subscriptions": []},
        {"owned_queues": []},
        {"consume_orderly": True},
        {"client_rebalance": True},
        {"strategy_class": "x"},
        {"message_model": "x"},
        {"owned_queues": [owned("t", 0, locked=True), owned("t", 1)]},
        {"owned_queues": [owned("t", 0), owned("t", 1, locked=True)]},
        {"owned_queues": [owned("t", 0, dropped=True), owned("t", 1)]},
        {"consume_threads": 1},
        {"consume_batch_size": 1},
        {"pull_batch_size": 1},
        {"pull_interval_ms": 1},
        {"pull_threshold_for_queue": 1},
        {"pull_threshold_size_for_queue": 1},
        {"consume_max_span": 1},
        {"answered": False},
        {"in_group": False},
    ]
    rows = [client(place, **one, started_at=at(0)) for place, one in enumerate(said)]
    rows += [client(100 + place, **one, started_at=at(60 + place)) for place, one in enumerate(said)]
    found = folded(spark, {CLIENT_SNAPSHOTS: rows}, "client")
    assert len({row["fingerprint"] for row in found}) == len(found) == len(said)


@pytest.fixture(scope="module")
def rows() -> Rows:
    """The hostile groups, one of which only clients tell of, and one only offsets."""
    rows = all_groups()
    rows[MEMBERSHIP_SNAPSHOTS] = [row for row in rows[MEMBERSHIP_SNAPSHOTS] if row["consumer_group"] not in HOSTILE[:2]]
    rows[CLIENT_SNAPSHOTS] = [row for row in rows[CLIENT_SNAPSHOTS] if row["consumer_group"] != HOSTILE[0]]
    for row in rows[CLIENT_SNAPSHOTS]:
        row["subscriptions"] = membership(0, "c")["subscriptions"]
    return rows


def test_the_rows_out_of_spark_are_those_of_the_kernel(spark: SparkSession, rows: Rows) -> None:
    """The group without a name breaks a rule, as does the route that names its broker: both are left out."""
    found = audited(sources_of(spark, rows))
    named = {table: [row for row in several if is_named(row)] for table, several in rows.items()}
    expected = tables(judged(named, HOUR))
    for table in OUTPUTS:
        assert found[table].columns == list(table.columns)
        assert in_order(found[table].toArrow().to_pylist()) == in_order(expected[table.name].to_pylist())
    assert {row["consumer_group"] for row in expected["group_status"].to_pylist()} == set(HOSTILE) - {""}


def is_named(row: dict[str, Any]) -> bool:
    hosts = [entry["broker_name"] for entry in row.get("queues", ())]
    return row.get("consumer_group") != "" and "" not in hosts


def test_no_snapshots_are_no_rows(spark: SparkSession) -> None:
    found = audited(sources_of(spark, {}))
    assert [frame.count() for frame in found.values()] == [0] * len(OUTPUTS)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)
