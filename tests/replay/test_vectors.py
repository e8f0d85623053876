"""Every result of RocketMQ's Java classes, on Spark: all of them in one job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.message_queue import MessageQueue
from spark_jobs.errors import StrategyError
from spark_jobs.replay.inputs import Inputs
from spark_jobs.replay.pop import pop_assignment
from spark_jobs.replay.strategies import SHARES
from tests.domain.vectors import Result, Vector, read_vectors
from tests.replay.allocations import SETTINGS, settings_row

_SCHEMA = f"""
    number int, strategy string, pop_share int, topic string, client_ids array<string>,
    queues array<struct<broker_name: string, queue_id: int>>, settings {SETTINGS}, asked array<string>
"""
Answers = dict[str, frozenset[MessageQueue] | None]


def answers(spark: SparkSession, vectors: Iterable[Vector]) -> dict[int, Answers]:
    """Per vector what each client takes; None: it keeps what it had."""
    rows = spark.createDataFrame([_row(vector) for vector in vectors], _SCHEMA)
    inputs = Inputs(*(F.col(name) for name in ("topic", "client_ids", "queues", "settings")))
    shares = F.coalesce(*(F.when(F.col("strategy") == name, share(inputs)) for name, share in SHARES.items()))
    asked = rows.withColumn("shares", shares).select("*", F.explode("asked").alias("client_id"))
    popped = pop_assignment(inputs, F.col("shares"), F.col("pop_share"), F.col("client_id"))
    taken = F.when(F.col("pop_share").isNull(), _taken(inputs)).otherwise(popped)
    return _by_vector(asked.select("number", "topic", "client_id", taken.alias("taken")).collect())


def _taken(inputs: Inputs) -> Column:
    """The queues in the share of the first position of `client_id`; null where the allocation throws.

    An empty own id, for which it throws too, is in no broker's list: the replay does not know it.
    """
    mine = F.array_position(inputs.client_ids, F.col("client_id")).cast("int") - 1
    numbered = F.transform(inputs.queues, lambda queue, index: F.struct(queue.alias("queue"), index.alias("index")))
    held = F.filter(numbered, lambda q: F.array_contains(F.element_at(F.col("shares"), q["index"] + 1), mine))
    return F.when(F.col("shares").isNotNull() & (F.col("client_id") != ""), held["queue"])


def _can_start(vector: Vector) -> bool:
    """Settings that Java refuses are no input of the replay: the configuration refuses them, too."""
    try:
        return bool(vector.strategy)
    except StrategyError:
        return False


def _row(vector: Vector) -> tuple[Any, ...]:
    topic = vector.queues[0].topic if vector.queues else "none"
    queues = [(queue.broker_name, queue.queue_id) for queue in vector.queues]
    settings = settings_row(vector.strategy)
    asked = list(vector.results)
    share = vector.pop_share
    return vector.number, vector.strategy_name, share, topic, list(vector.client_ids), queues, settings, asked


def _by_vector(rows: Iterable[Row]) -> dict[int, Answers]:
    answers: dict[int, Answers] = {}
    for row in rows:
        queues = None if row.taken is None else frozenset(MessageQueue(row.topic, *queue) for queue in row.taken)
        answers.setdefault(row.number, {})[row.client_id] = queues
    return answers


def _expected(result: Result) -> frozenset[MessageQueue] | None:
    """Java's exceptions are one here, the client keeps what it had; its null only CONFIG answers, never configured."""
    assert result is not None
    return None if isinstance(result, str) else result


def test_clients_get_what_java_gives_them(spark: SparkSession) -> None:
    vectors = [vector for vector in read_vectors() if _can_start(vector)]
    found = answers(spark, vectors)
    for vector in vectors:
        expected = {client_id: _expected(result) for client_id, result in vector.results.items()}
        assert found[vector.number] == expected, f"vector {vector.number}"
