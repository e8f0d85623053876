"""Parts of an audit by themselves: the kernel without its rules, states and strategies replayed alone."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DoubleType, StructField, StructType

from spark_jobs.config import Configuration, strategy_settings
from spark_jobs.domain.judge import JudgedStep, audited_step
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.ownership import Inputs, Replays
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.strategy_comparison import OtherStrategies, strategy_comparison
from spark_jobs.pipeline.gather.fold import Sources
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.judged import Gathered, over_groups
from spark_jobs.pipeline.gather.packed import PACKED
from spark_jobs.pipeline.gather.rows import packed, tables

#: The inputs of a group's allocations, one per rebalance interval of every step, and how its strategy is configured.
GroupInputs = tuple[StrategySettings, Sequence[Inputs]]
_PICKLED = StructType([StructField("pickled", BinaryType())])
_SECONDS = StructType([StructField("seconds", DoubleType())])


def replayed_rows(sources: Sources, run: Interval, configuration: Configuration) -> DataFrame:
    """The rows of intervals, allocations and progress, packed as the audit packs them, without findings and status."""

    def replayed(states: pa.Table, readings: pa.Table) -> pa.Table:
        steps = _steps(states, readings, run, configuration)
        judged = [JudgedStep(step, [], None) for _, of_group in steps for step in of_group]
        return packed(judged, tables(judged))

    return over_groups(Gathered.of(sources), replayed, PACKED)


def inputs_of_groups(sources: Sources, run: Interval, configuration: Configuration) -> list[GroupInputs]:
    """What every group's states are replayed from, in this process."""

    def inputs(states: pa.Table, readings: pa.Table) -> pa.Table:
        found = [
            pickle.dumps((configured, [one for step in of_group for one in _inputs(step)]))
            for configured, of_group in _steps(states, readings, run, configuration)
        ]
        return pa.table({"pickled": pa.array(found, pa.binary())})

    return [pickle.loads(row[0]) for row in over_groups(Gathered.of(sources), inputs, _PICKLED).collect()]


def allocations(groups: Sequence[GroupInputs]) -> int:
    """Replays every state of every group; the number of its distinct states."""
    distinct = 0
    for configured, inputs in groups:
        replays = Replays(configured)
        for one in inputs:
            replays.allocation(one)
        distinct += len(replays.allocations)
    return distinct


def strategy_seconds(found: Gathered, run: Interval, configuration: Configuration) -> float:
    """Processor time of `strategy_comparison` over every step of every group, all workers together."""

    def timed(states: pa.Table, readings: pa.Table) -> pa.Table:
        seconds = [_compared(*of_group) for of_group in _steps(states, readings, run, configuration)]
        return pa.table({"seconds": pa.array(seconds, pa.float64())})

    (row,) = over_groups(found, timed, _SECONDS).agg(F.sum("seconds")).collect()
    return float(row[0])


def _compared(configured: StrategySettings, steps: Sequence[AuditedStep]) -> float:
    """Seconds for the steps of one group."""
    began, others = time.process_time(), OtherStrategies(configured)
    for step in steps:
        strategy_comparison(step, others)
    return time.process_time() - began


def _steps(
    states: pa.Table, readings: pa.Table, run: Interval, configuration: Configuration
) -> Iterator[tuple[StrategySettings, list[AuditedStep]]]:
    """Every step of a group, replayed and measured, but neither checked nor judged: topics by themselves are only
    there to be checked.
    """
    settings = configuration.audit_settings
    states = states.filter(states["consumer_group"].is_valid())
    starts = range(to_micros(run.start), to_micros(run.end), settings.step)
    for history in histories(states, readings):
        configured = strategy_settings(configuration, history.cluster, history.consumer_group)
        replays = Replays(configured)
        yield configured, [audited_step(history, replays, settings, start) for start in starts]


def _inputs(step: AuditedStep) -> Iterator[Inputs]:
    """Of every replayed interval inside the step, what it was replayed from."""
    for interval, _, _ in step.inside():
        found = interval.allocation
        if found is None or interval.members is None or interval.queues is None:
            continue
        lost = list(zip(found.queues, found.unassigned_causes, strict=True))[found.readable_count :]
        unreadable = tuple((*queue, UnassignedCause(cause)) for queue, cause in lost if cause)
        yield Inputs(interval.topic, interval.members, interval.queues, unreadable)
