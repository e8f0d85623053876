"""The recording of each group, brought together in one shuffle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import DEAD_LETTERS
from spark_jobs.pipeline.exchange import (
    CLIENT,
    MEASURED,
    MEMBERSHIP,
    NO_STATES,
    OFFSETS,
    PROXY,
    READABLE,
    ROUTE,
    SAMPLES,
    STATES,
    TOPIC,
    Kind,
)
from spark_jobs.pipeline.gather.fold import Snapshots, Sources, folded, with_states
from spark_jobs.store.spark_types import struct_type, union_of

_GROUP, _TOPIC = ("cluster", "consumer_group"), ("cluster", "name")
#: Which of so many parts a row is of: one call of Python looks at all groups and topics of a part.
KEY = "part"


@dataclass(frozen=True)
class Gathered:
    """The snapshots of a run as `fold.with_states` gives them, and what these were folded to, kept. `beside`: states of
    kinds without a source, as `STATES`.
    """

    snapshots: Snapshots
    folded: DataFrame
    beside: pa.Table

    @classmethod
    def of(cls, sources: Sources) -> Gathered:
        """The snapshots of the sources, folded: one scan of each."""
        snapshots = with_states(sources)
        return cls(snapshots, folded(snapshots).localCheckpoint(), NO_STATES)

    def states(self) -> DataFrame:
        """One row per (key, state) of every kind: `STATES`."""
        beside = self.folded.sparkSession.createDataFrame(self.beside, struct_type(STATES))
        return beside.unionByName(self.folded, allowMissingColumns=True)


class Partitioning:
    """How groups, and topics by themselves, are divided: a group with all that is its own is in one part."""

    def __init__(self, count: int) -> None:
        self._count = F.lit(count)

    @classmethod
    def of(cls, spark: SparkSession) -> Partitioning:
        """A few per task of a shuffle: what a call costs is paid once for many groups, and no task waits for one."""
        return cls(4 * int(spark.conf.get("spark.sql.shuffle.partitions") or 16))

    def of_group(self) -> Column:
        """By cluster and consumer group."""
        return F.pmod(F.xxhash64(*_GROUP), self._count)

    def of_topic(self) -> Column:
        """By cluster and topic, in the column `name`."""
        return F.pmod(F.xxhash64(*_TOPIC), self._count)


def over_groups(
    gathered: Gathered, function: Callable[[pa.Table, pa.Table], pa.Table], schema: StructType
) -> DataFrame:
    """Return what a function of some groups' `STATES` and `SAMPLES` gives, over all groups, and all topics by
    themselves.
    """
    topics, parts = group_topics(gathered.folded), Partitioning.of(gathered.folded.sparkSession)
    states = states_per_group(gathered.states(), topics, parts).groupBy(KEY)
    samples = samples_per_group(gathered.snapshots, topics, parts).groupBy(KEY)
    return states.cogroup(samples).applyInArrow(function, schema)


def group_topics(states: DataFrame) -> DataFrame:
    """One row per (cluster, consumer group, `name` of a topic that it subscribes to or has offsets of, or of its
    dead-letter topic), and one with the name of the proxies' group: the other names whose snapshots the group needs.
    """
    subscribed = (F.col(f"{kind.name}.subscriptions")["topic"] for kind in (MEMBERSHIP, CLIENT))
    of_offsets = F.when(F.col("kind") == OFFSETS.name, F.array("name"))
    consumed = F.coalesce(*subscribed, of_offsets, F.array().cast("array<string>"))
    topics = F.explode(F.concat(consumed, F.array(_dead_letters(), F.lit(PROXIES_GROUP)))).alias("name")
    return states.where("consumer_group IS NOT NULL").select(*_GROUP, topics).distinct()


def states_per_group(states: DataFrame, topics: DataFrame, parts: Partitioning) -> DataFrame:
    """One row per (group, state), those of its topics too (of its dead-letter topic, which it does not consume, only
    the offsets), and as kind `PROXY` those of its cluster's proxies; and one per (topic, state), without a group, by
    which the snapshots of a topic are checked once.
    """
    of_topics = F.col("kind").isin(ROUTE.name, TOPIC.name, READABLE)
    of_proxies = (F.col("kind") == MEMBERSHIP.name) & (F.col("consumer_group") == PROXIES_GROUP)
    by_name = states.where(of_topics | of_proxies).withColumns(
        {
            "kind": F.when(of_proxies, F.lit(PROXY)).otherwise(F.col("kind")),
            "asked_by": F.when(of_proxies, F.lit(PROXIES_GROUP)).otherwise(F.col("name")),
        }
    )
    asking = F.broadcast(topics.withColumnRenamed("name", "asked_by"))
    named = by_name.drop("consumer_group").join(asking, on=["cluster", "asked_by"], how="inner")
    shared = named.where((F.col("kind") == TOPIC.name) | (F.col("name") != _dead_letters()))
    alone = states.where(F.col("kind").isin(ROUTE.name, TOPIC.name))
    of_groups = states.where(~of_topics).select(*STATES.names).union(shared.select(*STATES.names))
    return of_groups.withColumn(KEY, parts.of_group()).unionByName(alone.withColumn(KEY, parts.of_topic()))


def samples_per_group(snapshots: Snapshots, topics: DataFrame, parts: Partitioning) -> DataFrame:
    """One row per (part with a group or topic whose it is, sample): `SAMPLES`. Whose they are the state says."""

    def of_kind(kind: Kind) -> DataFrame:
        shown = snapshots[kind]
        of_part = _in_parts(shown, topics, parts) if kind.of_topics else shown.withColumn(KEY, parts.of_group())
        return of_part.select(KEY, "fingerprint", "at", F.col("sample").alias(kind.name))

    return union_of(map(of_kind, MEASURED)).select(KEY, *SAMPLES.names)


def _in_parts(of_topics: DataFrame, topics: DataFrame, parts: Partitioning) -> DataFrame:
    """The snapshots of topics once for each part that has a group with the topic, or the topic by itself."""
    groups = topics.groupBy(*_TOPIC).agg(F.collect_set(parts.of_group()).alias("of_groups"))
    with_groups = of_topics.drop("consumer_group").join(F.broadcast(groups), on=[*_TOPIC], how="left")
    no_groups = F.array().cast("array<bigint>")
    all_parts = F.array_distinct(F.concat(F.array(parts.of_topic()), F.coalesce("of_groups", no_groups)))
    return with_groups.withColumn(KEY, F.explode(all_parts))


def _dead_letters() -> Column:
    return F.concat(F.lit(DEAD_LETTERS), "consumer_group")
