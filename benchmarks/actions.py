"""What is timed in a Spark session: a scan, an audit, or a part of one."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StructField, StructType

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration, strategy_settings
from spark_jobs.domain.evaluate import EvaluatedStep, audited_step
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.backlog import topic_backlogs
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.rocketmq.strategies import AVG, StrategySettings
from spark_jobs.domain.status.strategy_comparison import OtherStrategies, strategy_comparison
from spark_jobs.pipeline.exchange import RESULTS
from spark_jobs.pipeline.gather.gather import Gathered, Sources, over_groups
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.publish.queue_rows import backlog_rows
from spark_jobs.pipeline.publish.rows import results, tables
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.pipeline.run_context import RunContext
from spark_jobs.pipeline.sources import read_sources
from spark_jobs.store.spark_types import struct_type
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
        return read_sources(RunContext.begin(spark, self.warehouse, RunSpec(self.interval), self.configuration))


#: How the strategy of clients that do not report it is known.
_STRATEGIES = {"inferred": StrategySettings(), "known": StrategySettings(AVG)}
_SECONDS = StructType([StructField("seconds", DoubleType())])
#: Does the work once; seconds of its parts, by their names.
Act = Callable[[], Mapping[str, float]]
Prepare = Callable[[SparkSession, Target], Act]
#: Does something with the steps of one group.
Work = Callable[[StrategySettings, Sequence[AuditedStep]], object]


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
        run(spark, target.warehouse, RunSpec(target.interval), target.configuration, begins)
        ends = [at for _, at in began[1:]] + [time.perf_counter()]
        return {stage: end - at for (stage, at), end in zip(began, ends, strict=True)}

    return act


def of_steps(name: str, work: Work) -> Prepare:
    """The `work` on the steps of each group: plain Python, in processor time of all workers together."""

    def prepare(spark: SparkSession, target: Target) -> Act:
        gathered = Gathered.of(target.sources(spark))

        def timed(states: pa.Table, samples: pa.Table) -> pa.Table:
            seconds = [_seconds(work, *of_group) for of_group in _steps(states, samples, target)]
            return pa.table({"seconds": pa.array(seconds, pa.float64())})

        def act() -> Mapping[str, float]:
            (row,) = over_groups(gathered, timed, _SECONDS).agg(F.sum("seconds")).collect()
            return {name: float(row[0])}

        return act

    return prepare


def inference(spark: SparkSession, target: Target) -> Act:
    """The replay of every step with strategies inferred and known, in processor time of all workers together."""
    gathered = Gathered.of(target.sources(spark))

    def timed(states: pa.Table, samples: pa.Table) -> pa.Table:
        of_groups = histories(states, samples)
        seconds = {name: [_replayed(history, target, name) for history in of_groups] for name in _STRATEGIES}
        return pa.table({name: pa.array(of_name, pa.float64()) for name, of_name in seconds.items()})

    def act() -> Mapping[str, float]:
        schema = StructType([StructField(name, DoubleType()) for name in _STRATEGIES])
        (row,) = over_groups(gathered, timed, schema).agg(*map(F.sum, _STRATEGIES)).collect()
        return dict(zip(_STRATEGIES, map(float, row), strict=True))

    return act


def replay(spark: SparkSession, target: Target) -> Act:
    """From the snapshots to intervals, owners, and what the offsets say of every queue in each interval."""

    def act() -> Mapping[str, float]:
        _throw_away(replayed_rows(spark, target))
        return {}

    return act


def replayed_rows(spark: SparkSession, target: Target) -> DataFrame:
    """The rows of intervals, allocations and progress, packed as the audit packs them, without findings and status."""

    def replayed(states: pa.Table, samples: pa.Table) -> pa.Table:
        evaluated = [EvaluatedStep(step, [], None) for _, steps in _steps(states, samples, target) for step in steps]
        return results(tables(evaluated))

    return over_groups(Gathered.of(target.sources(spark)), replayed, struct_type(RESULTS))


def _compared(configured: StrategySettings, steps: Sequence[AuditedStep]) -> None:
    """The outcome of every other strategy."""
    other_strategies = OtherStrategies(configured)
    for step in steps:
        strategy_comparison(step, other_strategies)


def _waiting(_: StrategySettings, steps: Sequence[AuditedStep]) -> None:
    """The rows of `backlog`, packed as the audit packs them."""
    backlog_rows([(step, backlog) for step in steps for backlog in topic_backlogs(step, {})])


def _seconds(work: Work, configured: StrategySettings, steps: Sequence[AuditedStep]) -> float:
    began = time.process_time()
    work(configured, steps)
    return time.process_time() - began


def _replayed(history: GroupHistory, target: Target, strategy: str) -> float:
    """Seconds for the steps of one group."""
    began, replays = time.process_time(), Replays(_STRATEGIES[strategy])
    for start in _starts(target):
        audited_step(history, replays, target.configuration.audit_settings, start)
    return time.process_time() - began


def _starts(target: Target) -> range:
    step = target.configuration.audit_settings.step
    return range(to_micros(target.interval.start), to_micros(target.interval.end), step)


def _steps(states: pa.Table, samples: pa.Table, target: Target) -> Iterator[tuple[StrategySettings, list[AuditedStep]]]:
    """Every step of a group, replayed and measured, but neither checked nor evaluated."""
    settings = target.configuration.audit_settings
    for history in histories(states, samples):
        configured = strategy_settings(target.configuration, history.cluster, history.consumer_group)
        replays = Replays(configured)
        yield configured, [audited_step(history, replays, settings, start) for start in _starts(target)]


def _throw_away(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


ACTIONS: Mapping[str, Prepare] = {
    "scan": scan,
    "audit": audit,
    "strategies": of_steps("strategies", _compared),
    "backlog": of_steps("backlog", _waiting),
    "inference": inference,
    "replay": replay,
}
