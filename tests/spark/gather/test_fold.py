"""Spark folds equal states into one: whatever the order of lists, and nothing else.

That a run publishes what the kernel evaluates of the same rows: `tests/end_to_end/reliability/test_hostile_rows.py`.
"""

from collections import Counter
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SOURCES, Table
from spark_jobs.pipeline.gather.gather import Gathered, Sources
from spark_jobs.store.spark_types import spark_schema
from tests.support.snapshots import client, membership, route
from tests.support.times import at
from tests.unit.gather.test_histories import owned

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
    states = folded(spark, {MEMBERSHIP_SNAPSHOTS: rows}, "membership")
    sizes = Counter((len(row["membership"]["connections"]), len(row["times"])) for row in states)
    assert sizes == {(2, 2): 1, (2, 1): 2, (1, 1): 1, (0, 1): 1}


def test_states_differ_by_request_modes_and_not_by_their_order(spark: SparkSession) -> None:
    pop, pull = ("t", "POP", 1), ("u", "PULL", None)
    recorded = [None, [], [pop], [("t", "POP", 2)], [("t", "POP", None)], [pop, pull], [pull, pop]]
    rows = [membership(20 * place) | {"request_modes": modes} for place, modes in enumerate(recorded)]
    states = folded(spark, {MEMBERSHIP_SNAPSHOTS: rows}, "membership")
    assert sorted(len(row["times"]) for row in states) == [1, 1, 1, 1, 1, 2]


def test_routes_differ_by_addresses_and_not_by_their_order(spark: SparkSession) -> None:
    master, slave = ("b", 0, "h:1"), ("b", 1, "h:2")
    recorded = [None, [], [master], [("b", 0, "h:2")], [("b", None, "h:1")], [master, slave], [slave, master]]
    rows = [route(20 * place, 4) | {"addresses": addresses} for place, addresses in enumerate(recorded)]
    states = folded(spark, {ROUTE_SNAPSHOTS: rows}, "route")
    assert sorted(len(row["times"]) for row in states) == [1, 1, 1, 1, 1, 2]


def test_the_hash_of_a_state_differs_for_unknown_and_empty_and_for_each_unknown_column(spark: SparkSession) -> None:
    answers: list[dict[str, Any]] = [
        {},
        *({name: []} for name in ("subscriptions", "owned_queues")),
        *({name: True} for name in ("consume_orderly", "client_rebalance")),
        *({name: "x"} for name in ("strategy_class", "message_model")),
        {"owned_queues": [owned("t", 0, locked=True), owned("t", 1)]},
        {"owned_queues": [owned("t", 0), owned("t", 1, locked=True)]},
        {"owned_queues": [owned("t", 0, dropped=True), owned("t", 1)]},
        *({name: 1} for name in ("consume_threads", "consume_batch_size", "pull_batch_size", "pull_interval_ms")),
        *({name: 1} for name in ("pull_threshold_for_queue", "pull_threshold_size_for_queue")),
        *({name: 1} for name in ("consume_max_span", "consume_timeout_minutes")),
        *({name: False} for name in ("answered", "in_group")),
    ]
    rows = [client(place, **answer, started_at=at(0)) for place, answer in enumerate(answers)]
    rows += [client(100 + place, **answer, started_at=at(60 + place)) for place, answer in enumerate(answers)]
    states = folded(spark, {CLIENT_SNAPSHOTS: rows}, "client")
    assert len({row["fingerprint"] for row in states}) == len(states) == len(answers)
