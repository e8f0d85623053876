"""One measurement in a process of its own: a task as JSON in, its result as the last line out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.fleet import Fleet
from benchmarks.snapshots import make
from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import load
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.session import get_session
from spark_jobs.warehouse import Warehouse

#: What an audit reads of every snapshot, and therefore what the scan that it is compared with reads.
_COLUMNS: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (
        MEMBERSHIP_SNAPSHOTS,
        (
            "cluster",
            "consumer_group",
            "broker_name",
            "captured_at",
            "message_model",
            "connections",
            "subscriptions.topic",
        ),
    ),
    (ROUTE_SNAPSHOTS, ("cluster", "topic", "captured_at", "queues")),
    (
        OFFSET_SNAPSHOTS,
        (
            "cluster",
            "consumer_group",
            "topic",
            "captured_at",
            "offsets.broker_name",
            "offsets.queue_id",
            "offsets.broker_offset",
            "offsets.consumer_offset",
            "offsets.last_timestamp",
        ),
    ),
    (
        CLIENT_SNAPSHOTS,
        (
            "cluster",
            "consumer_group",
            "client_id",
            "captured_at",
            "answered",
            "strategy_class",
            "client_rebalance",
            "subscriptions.topic",
        ),
    ),
)

Target = Mapping[str, str]
Action = Callable[[SparkSession, Warehouse, Interval], None]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _scan(spark: SparkSession, warehouse: Warehouse, interval: Interval) -> None:
    """Reads what an audit of the interval reads, table by table, and throws it away."""
    within = (F.col("captured_at") >= F.lit(interval.start)) & (F.col("captured_at") < F.lit(interval.end))
    for table, columns in _COLUMNS:
        fields = [F.col(name).alias(name.replace(".", "_")) for name in columns]
        frame: DataFrame = warehouse.read(spark, table).where(within).select(*fields)
        frame.write.format("noop").mode("overwrite").save()


def _audit(spark: SparkSession, warehouse: Warehouse, interval: Interval) -> None:
    run(spark, warehouse, RunRequest(interval), load(None), _say)


_ACTIONS: Mapping[str, Action] = {"scan": _scan, "audit": _audit}


def _time(spark: SparkSession, action: str, targets: Sequence[Target], rounds: int) -> list[list[float]]:
    """Seconds per target and round, after one that does not count: the first target's first hour.

    Targets take turns, so that what slows the machine down for a while does not hit one of them only.
    """
    work = [(Warehouse.parse(target["warehouse"]), Interval.parse(target["interval"])) for target in targets]
    warm_up = Interval.parse(targets[0]["warm_up"])
    _ACTIONS[action](spark, work[0][0], warm_up)
    seconds: list[list[float]] = [[] for _ in work]
    for _ in range(rounds):
        for number, (warehouse, interval) in enumerate(work):
            began = time.perf_counter()
            _ACTIONS[action](spark, warehouse, interval)
            seconds[number].append(time.perf_counter() - began)
    return seconds


def perform(task: Mapping[str, Any]) -> list[list[float]]:
    """`make` fleets (no result), or the seconds of `scan` or `audit`, per target and round."""
    spark = get_session()
    if task["action"] != "make":
        return _time(spark, task["action"], task["targets"], task["rounds"])
    for warehouse, fleet in task["fleets"].items():
        _say(f"making {warehouse}")
        make(spark, Warehouse.parse(warehouse), Fleet(**fleet))
    return []


if __name__ == "__main__":
    print(json.dumps(perform(json.loads(sys.argv[1]))), flush=True)
