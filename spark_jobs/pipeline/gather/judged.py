"""Every group checked, and every step of it judged by the kernel, in one Arrow function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from expectations.rows import CheckSettings
from schemas import REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.judge import judge
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.gather.checked import checked
from spark_jobs.pipeline.gather.fold import Sources, folded, with_states
from spark_jobs.pipeline.gather.gather import KEY, Partitioning, group_topics, readings_per_group, states_per_group
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.kinds import READABLE
from spark_jobs.pipeline.gather.packed import PACKED, STEP_KEY, own_columns
from spark_jobs.pipeline.gather.rows import packed, packed_facts, tables, tables_of
from spark_jobs.pipeline.gather.sightings import sighted_states
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.quality.facts import facts_of_outputs
from spark_jobs.store.spark_types import union_of

#: A column of published rows: whether their group was last published for one topic only.
IN_PART = "in_part"


@dataclass(frozen=True)
class Gathered:
    """The snapshots of a run as `fold.with_states` gives them, and what these were folded to, kept. `sightings`: what
    was seen before and meanwhile, as `sightings.sighted` gives it, kept; None: there is no such table. `unanswered`:
    the calls for members that brokers did not answer, as `unanswered.unanswered_states` gives them; None: none.
    """

    snapshots: Mapping[str, DataFrame]
    folded: DataFrame
    sightings: DataFrame | None = None
    unanswered: DataFrame | None = None

    @classmethod
    def of(cls, sources: Sources) -> Gathered:
        """The snapshots of the sources, folded: one scan of each."""
        snapshots = with_states(sources)
        return cls(snapshots, folded(snapshots).localCheckpoint())


def judged_steps(
    gathered: Gathered, request: RunRequest, configuration: Configuration, settings: CheckSettings
) -> DataFrame:
    """One row per (group, step), or more, with an array of rows for each output table, which are those that the request
    publishes; and one per part with what its checks counted and left out (`packed.PACKED`).
    """
    judge_group = partial(_judged, request=request, configuration=configuration, settings=settings)

    # A function of its own: Spark looks at the parameters of what it is given.
    def judged(states: pa.Table, readings: pa.Table) -> pa.Table:
        return judge_group(states, readings)

    return over_groups(gathered, judged, PACKED)


def checked_snapshots(gathered: Gathered, settings: CheckSettings) -> DataFrame:
    """One row per part with what its checks counted and left out (`packed.PACKED`); nothing is judged."""

    def checked_part(states: pa.Table, readings: pa.Table) -> pa.Table:
        usable = checked(states, readings, settings)
        return packed_facts(usable.facts, usable.rejected)

    return over_groups(gathered, checked_part, PACKED)


def checked_outputs(outputs: Mapping[Table, DataFrame], settings: CheckSettings) -> DataFrame:
    """One row per (group, step) with what is counted of its published rows (`packed.PACKED`). `IN_PART` says of rows
    whether their group was published for one topic only.
    """

    def checked_part(rows: pa.Table) -> pa.Table:
        of_group = replace(settings, whole_groups=not rows[IN_PART][0].as_py())
        return packed_facts(facts_of_outputs(tables_of(rows), of_group), [])

    every = (
        frame.select(*STEP_KEY, IN_PART, F.struct(*own_columns(table)).alias(table.name))
        for table, frame in outputs.items()
    )
    return union_of(every).groupBy(*STEP_KEY).applyInArrow(checked_part, PACKED)


def over_groups(
    gathered: Gathered, function: Callable[[pa.Table, pa.Table], pa.Table], schema: StructType
) -> DataFrame:
    """Return what a function of some groups' states and readings gives, over all groups, and all topics by
    themselves.
    """
    topics, parts = group_topics(gathered.folded), Partitioning.of(gathered.folded.sparkSession)
    states = states_per_group(_all_states(gathered), topics, parts).groupBy(KEY)
    readings = readings_per_group(gathered.snapshots, topics, parts).groupBy(KEY)
    return states.cogroup(readings).applyInArrow(function, schema)


def _all_states(gathered: Gathered) -> DataFrame:
    states = gathered.folded.withColumn(READABLE, F.lit(None).cast("string"))
    if gathered.sightings is not None:
        states = states.unionByName(sighted_states(gathered.sightings), allowMissingColumns=True)
    if gathered.unanswered is not None:
        states = states.unionByName(gathered.unanswered, allowMissingColumns=True)
    return states


def _judged(
    states: pa.Table, readings: pa.Table, *, request: RunRequest, configuration: Configuration, settings: CheckSettings
) -> pa.Table:
    """The packed rows of some groups, checked before and after they are judged, and what was counted of some topics."""
    usable = checked(states, readings, settings)
    start, end = to_micros(request.interval.start), to_micros(request.interval.end)
    judged = [
        step
        for history in histories(usable.states, usable.readings)
        if _is_asked(request, history)
        for step in judge(
            history,
            strategy_settings(configuration, history.cluster, history.consumer_group),
            audit_settings(configuration, history.cluster, history.consumer_group),
            start,
            end,
        )
    ]
    written = tables(judged, request.topic)
    facts = [*usable.facts, *facts_of_outputs(written, settings)]
    checks = packed_facts(facts, usable.rejected, written[REBALANCE_INTERVALS.name])
    return pa.concat_tables([packed(judged, written), checks])


def _is_asked(request: RunRequest, history: GroupHistory) -> bool:
    return request.cluster in (None, history.cluster) and request.consumer_group in (None, history.consumer_group)
