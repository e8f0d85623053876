"""One measurement in a process of its own: a task as JSON in, its result as the last line out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.fleet import Fleet
from benchmarks.snapshots import make
from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import load
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.session import get_session
from spark_jobs.warehouse import Warehouse

#: What an audit of a healthy route reads, and therefore what the scan that it is compared with reads.
_SCANNED: tuple[tuple[Table, str], ...] = (
    (
        MEMBERSHIP_SNAPSHOTS,
        "cluster consumer_group broker_name captured_at message_model connections subscriptions.topic",
    ),
    (ROUTE_SNAPSHOTS, "cluster topic captured_at queues"),
    (
        OFFSET_SNAPSHOTS,
        "cluster consumer_group topic captured_at offsets.broker_name offsets.queue_id offsets.broker_offset "
        "offsets.consumer_offset offsets.last_timestamp",
    ),
    (
        CLIENT_SNAPSHOTS,
        "cluster consumer_group client_id captured_at answered strategy_class client_rebalance subscriptions.topic",
    ),
)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _scan(spark: SparkSession, warehouse: Warehouse, interval: Interval) -> None:
    """Reads what an audit of the interval reads, table by table, and throws it away."""
    within = (F.col("captured_at") >= F.lit(interval.start)) & (F.col("captured_at") < F.lit(interval.end))
    for table, names in _SCANNED:
        columns = [F.col(name).alias(name.replace(".", "_")) for name in names.split()]
        warehouse.read(spark, table).where(within).select(*columns).write.format("noop").mode("overwrite").save()


def _audit(spark: SparkSession, warehouse: Warehouse, interval: Interval) -> None:
    run(spark, warehouse, RunRequest(interval), load(None), _say)


_ACTIONS: Mapping[str, Callable[[SparkSession, Warehouse, Interval], None]] = {"scan": _scan, "audit": _audit}


def _seconds(spark: SparkSession, task: Mapping[str, Any]) -> list[list[float]]:
    """Seconds per target and round, after a warm-up on the first target that does not count.

    The targets take turns: what slows the machine down for a while does not hit one of them only.
    """
    act = _ACTIONS[task["action"]]
    work = [(Warehouse.parse(target["warehouse"]), Interval.parse(target["interval"])) for target in task["targets"]]
    act(spark, work[0][0], Interval.parse(task["warm_up"]))
    seconds: list[list[float]] = [[] for _ in work]
    for turn in range(task["rounds"]):
        for number, (warehouse, interval) in enumerate(work):
            began = time.perf_counter()
            act(spark, warehouse, interval)
            seconds[number].append(time.perf_counter() - began)
            _say(f"{warehouse.location}, round {turn + 1}: {seconds[number][-1]:.1f} s")
    return seconds


def perform(task: Mapping[str, Any]) -> dict[str, Any]:
    """`make` makes fleets; `scan` and `audit` give `seconds` per target and round, and the size of the JVM's `heap`."""
    spark = get_session()
    if task["action"] == "make":
        for warehouse, fleet in task["fleets"].items():
            make(spark, Warehouse.parse(warehouse), Fleet(**fleet))
        return {}
    return {"seconds": _seconds(spark, task), "heap": spark.conf.get("spark.driver.memory")}


if __name__ == "__main__":
    print(json.dumps(perform(json.loads(sys.argv[1]))), flush=True)
