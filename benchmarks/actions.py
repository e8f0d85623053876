"""What is timed in a Spark session: a scan, an audit, or a part of one."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.kernel import replayed_rows, strategy_seconds
from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.audit_run import AuditRun
from spark_jobs.pipeline.gather.fold import Sources
from spark_jobs.pipeline.gather.judged import Gathered
from spark_jobs.pipeline.run import RunRequest, run
from spark_jobs.pipeline.sources import read_sources
from spark_jobs.store.warehouse import Warehouse

#: What no audit can do without, and therefore what the scan that it is compared with reads.
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


@dataclass(frozen=True)
class Target:
    """What is worked on: the snapshots of a warehouse in an interval, with a configuration."""

    warehouse: Warehouse
    interval: Interval
    configuration: Configuration

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Target:
        """The target of a task."""
        configuration = Configuration.model_validate_json(json.dumps(given["configuration"]))
        return cls(Warehouse.parse(given["warehouse"]), Interval.parse(given["interval"]), configuration)

    def sources(self, spark: SparkSession) -> Sources:
        """The snapshots that an audit of the interval reads."""
        return read_sources(AuditRun.begin(spark, self.warehouse, RunRequest(self.interval), self.configuration))


#: Does the work once; seconds of its parts, by their names.
Act = Callable[[], Mapping[str, float]]


def say(text: str) -> None:
    """A line for the log."""
    print(text, file=sys.stderr, flush=True)


def scan(spark: SparkSession, target: Target) -> Act:
    """Reads what an audit reads, table by table, and throws it away."""
    start, end = F.lit(target.interval.start), F.lit(target.interval.end)
    within = (F.col("captured_at") >= start) & (F.col("captured_at") < end)

    def act() -> Mapping[str, float]:
        for table, names in _SCANNED:
            columns = [F.col(name).alias(name.replace(".", "_")) for name in names.split()]
            _throw_away(target.warehouse.read(spark, table).where(within).select(*columns))
        return {}

    return act


def audit(spark: SparkSession, target: Target) -> Act:
    """A whole run, from the source tables to the published ones."""

    def act() -> Mapping[str, float]:
        began: list[tuple[str, float]] = []

        def begins(stage: str) -> None:
            began.append((stage, time.perf_counter()))
            spark.sparkContext.setJobDescription(stage)  # for Spark's history server

        begins("opening the tables")
        run(spark, target.warehouse, RunRequest(target.interval), target.configuration, begins)
        ends = [at for _, at in began[1:]] + [time.perf_counter()]
        return {stage: end - at for (stage, at), end in zip(began, ends, strict=True)}

    return act


def strategies(spark: SparkSession, target: Target) -> Act:
    """What every strategy would have done, step by step: plain Python, in processor time of all workers together."""
    found = Gathered.of(target.sources(spark))
    return lambda: {"strategies": strategy_seconds(found, target.interval, target.configuration)}


def replay(spark: SparkSession, target: Target) -> Act:
    """From the snapshots to intervals, owners, and what the offsets say of every queue in each interval."""

    def act() -> Mapping[str, float]:
        _throw_away(replayed_rows(target.sources(spark), target.interval, target.configuration))
        return {}

    return act


def _throw_away(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


ACTIONS: Mapping[str, Callable[[SparkSession, Target], Act]] = {
    "scan": scan,
    "audit": audit,
    "strategies": strategies,
    "replay": replay,
}
