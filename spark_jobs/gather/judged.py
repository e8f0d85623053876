"""Every step of every group judged by the kernel, in one Arrow function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.judge import judge
from spark_jobs.domain.window import to_micros
from spark_jobs.gather.fold import states_of
from spark_jobs.gather.gather import KEY, group_topics, readings_per_group, states_per_group
from spark_jobs.gather.histories import READABLE, histories
from spark_jobs.gather.packed import PACKED
from spark_jobs.gather.rows import packed
from spark_jobs.gather.sightings import sighted_states
from spark_jobs.gather.sources import Sources


@dataclass(frozen=True)
class Gathered:
    """The sources of a run, their snapshots as `fold.stated` gives them, and what these were folded to, kept.
    `sightings`: what was seen before and meanwhile, as `sightings.sighted` gives it, kept; None: nothing tells.
    """

    sources: Sources
    snapshots: Mapping[str, DataFrame]
    folded: DataFrame
    sightings: DataFrame | None = None


def judged_steps(gathered: Gathered, run: Interval, configuration: Configuration) -> DataFrame:
    """One row per (group, step), or more, with an array of rows for each output table (`packed.PACKED`)."""
    judge_group = partial(_judged, run=run, configuration=configuration)

    # A function of its own: Spark looks at the parameters of what it is given.
    def judged(states: pa.Table, readings: pa.Table) -> pa.Table:
        return judge_group(states, readings)

    return over_groups(gathered, judged, PACKED)


def over_groups(
    gathered: Gathered, function: Callable[[pa.Table, pa.Table], pa.Table], schema: StructType
) -> DataFrame:
    """What a function of a group's states and readings gives, over all groups."""
    topics = group_topics(gathered.folded)
    states = states_per_group(_all_states(gathered), topics).groupBy(KEY)
    readings = readings_per_group(gathered.snapshots, topics).groupBy(KEY)
    return states.cogroup(readings).applyInArrow(function, schema)


def _all_states(gathered: Gathered) -> DataFrame:
    states = states_of(gathered.folded)
    if gathered.sightings is None:
        return states.withColumn(READABLE, F.lit(None).cast("string"))
    return states.unionByName(sighted_states(gathered.sightings), allowMissingColumns=True)


def _judged(states: pa.Table, readings: pa.Table, *, run: Interval, configuration: Configuration) -> pa.Table:
    """The packed rows of one group."""
    start, end = to_micros(run.start), to_micros(run.end)
    return packed(
        [
            step
            for history in histories(states, readings)
            for step in judge(
                history,
                strategy_settings(configuration, history.cluster, history.consumer_group),
                audit_settings(configuration, history.cluster, history.consumer_group),
                start,
                end,
            )
        ]
    )
