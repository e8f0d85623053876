"""The snapshots of each group: folded to their distinct states, as a fleet is stable most of the time, and brought
together in one shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from schemas import Table
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import DEAD_LETTERS
from spark_jobs.pipeline.exchange import (
    CLIENT,
    KEY,
    KINDS,
    MEASURED,
    MEMBERSHIP,
    MISSING,
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
from spark_jobs.store.spark_types import struct_type, union_of

#: The snapshots that a run reads, of each table of `schemas.SOURCES`; and the same by kind, as `with_state` gives them.
Sources = Mapping[Table, DataFrame]
Snapshots = Mapping[Kind, DataFrame]
_GROUP, _TOPIC = ("cluster", "consumer_group"), ("cluster", "name")
#: Which of so many parts a row is of: one call of Python looks at all groups and topics of a part.
PART = "part"


@dataclass(frozen=True)
class Gathered:
    """The snapshots of a run, and what these were folded to, kept. `beside`: states of kinds without a source, as
    `STATES`.
    """

    snapshots: Snapshots
    folded: DataFrame
    beside: pa.Table

    @classmethod
    def of(cls, sources: Sources) -> Gathered:
        """The snapshots of the sources, folded: one scan of each."""
        snapshots = {kind: with_state(kind, sources[kind.table]) for kind in KINDS if kind.table in sources}
        return cls(snapshots, folded(snapshots).localCheckpoint(), NO_STATES)

    def states(self) -> DataFrame:
        """One row per (key, state) of every kind: `STATES`."""
        beside = self.folded.sparkSession.createDataFrame(self.beside, struct_type(STATES))
        return beside.unionByName(self.folded, allowMissingColumns=True)


def with_state(kind: Kind, snapshots: DataFrame) -> DataFrame:
    """One row per snapshot: `exchange.KEY`, `at`, its `state` and its `sample`.

    Connections, subscriptions and brokers are listed in any order: they are sorted.
    """
    group = F.lit(None).cast("string") if kind.of_topics else F.col("consumer_group")
    columns = {
        "cluster": F.col("cluster"),
        "consumer_group": group,
        "name": F.col(kind.named_by),
        "at": F.unix_micros("captured_at"),
        "state": F.struct(*_state(kind, snapshots.schema)),
        "sample": F.struct(*_sample(kind)) if kind.is_measured else F.lit(None),
    }
    return snapshots.select(*(column.alias(name) for name, column in columns.items()))


def folded(snapshots: Snapshots) -> DataFrame:
    """One row per (key, distinct state) of every kind, as `exchange.STATES` without kinds that have no source. One
    aggregation by hash folds all kinds.
    """
    every = union_of(_of_kind(kind, shown) for kind, shown in snapshots.items())
    states = every.groupBy("kind", *KEY, *(kind.name for kind in snapshots)).agg(F.collect_list("at").alias("times"))
    measured = [kind for kind in snapshots if kind.is_measured]
    by_kind = (F.when(F.col("kind") == kind.name, _fingerprint(kind, states, kind.name)) for kind in measured)
    return states.withColumn("fingerprint", F.coalesce(*by_kind))


def _of_kind(kind: Kind, shown: DataFrame) -> DataFrame:
    at = F.lit(None).cast("bigint") if kind.is_measured else F.col("at")
    return shown.select(F.lit(kind.name).alias("kind"), *KEY, at.alias("at"), F.col("state").alias(kind.name))


def _state(kind: Kind, source: StructType) -> Iterator[Column]:
    for name in kind.shared:
        is_list = isinstance(source[name].dataType, ArrayType)
        yield F.sort_array(name).alias(name) if is_list else F.col(name)
    if kind.array is not None:
        # An array of each field: that is ten times as fast as an array of structs.
        lists = (F.col(kind.array)[name].alias(name) for name in kind.listed)
        missing = _nulls(F.col(kind.array)["queue_id"], "int", F.col(kind.array)).alias(MISSING)
        yield F.struct(*lists, missing).alias(kind.array)
    for name in kind.measured:
        yield F.when(F.col(name).isNotNull(), F.lit(True)).alias(name)


def _sample(kind: Kind) -> Iterator[Column]:
    for name in kind.numbers:
        yield F.col(str(kind.array))[name].cast("array<bigint>").alias(name)
    yield from map(F.col, kind.measured)


def _fingerprint(kind: Kind, frame: DataFrame, state: str) -> Column:
    """Which samples are of a state of the kind, that in the column of this name."""
    parts = _hashed_parts(F.col(state), frame.schema[state].dataType)
    return F.xxhash64(F.lit(kind.name), *KEY, *parts)


def _hashed_parts(value: Column, data_type: DataType) -> Iterator[Column]:
    """Return what a hash has to see of a value. Spark's own skips nulls, and does not see where one part ends."""
    if isinstance(data_type, StructType):
        for field in data_type:
            yield from _hashed_parts(value[field.name], field.dataType)
        return
    yield from (value, value.isNull())
    if not isinstance(data_type, ArrayType):
        return
    if not isinstance(data_type.elementType, StructType):
        yield from (_nulls(value, data_type.elementType.simpleString()), F.lit(""))
        return
    for field in data_type.elementType:
        yield from (_nulls(value[field.name], field.dataType.simpleString()), F.lit(field.name))


def _nulls(field: Column, type_name: str, array: Column | None = None) -> Column:
    """array<boolean>: which values of a field are null, or which of the array's elements; null itself where none is.

    `array_contains` is null where the value is missing and the array has a null: that check costs next to nothing, and
    most arrays contain neither.
    """
    any_value = F.lit({"string": "", "boolean": False}.get(type_name, -1))
    may_have_nulls = F.coalesce(F.array_contains(field, any_value), F.lit(True))
    return F.when(may_have_nulls, F.transform(field if array is None else array, lambda column: column.isNull()))


def over_groups(
    gathered: Gathered, function: Callable[[pa.Table, pa.Table], pa.Table], schema: StructType
) -> DataFrame:
    """Return what a function of some groups' `STATES` and `SAMPLES` gives, over all groups, and all topics by
    themselves.
    """
    # A few parts per task: what a call costs is paid once for many groups, and no task waits for one.
    parts = 4 * int(gathered.folded.sparkSession.conf.get("spark.sql.shuffle.partitions") or 16)
    topics = group_topics(gathered.folded)
    states = states_per_group(gathered.states(), topics, parts).groupBy(PART)
    samples = samples_per_group(gathered.snapshots, topics, parts).groupBy(PART)
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


def states_per_group(states: DataFrame, topics: DataFrame, parts: int) -> DataFrame:
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
    return of_groups.withColumn(PART, _part(_GROUP, parts)).unionByName(alone.withColumn(PART, _part(_TOPIC, parts)))


def samples_per_group(snapshots: Snapshots, topics: DataFrame, parts: int) -> DataFrame:
    """One row per (part with a group or topic whose it is, sample): `SAMPLES`. Whose they are the state says."""

    def of_kind(kind: Kind) -> DataFrame:
        fingerprint = _fingerprint(kind, snapshots[kind], "state").alias("fingerprint")
        shown = snapshots[kind].select(*KEY, fingerprint, "at", F.col("sample").alias(kind.name))
        return _in_parts(shown, topics, parts) if kind.of_topics else shown.withColumn(PART, _part(_GROUP, parts))

    return union_of(map(of_kind, MEASURED)).select(PART, *SAMPLES.names)


def _in_parts(of_topics: DataFrame, topics: DataFrame, parts: int) -> DataFrame:
    """The snapshots of topics once for each part that has a group with the topic, or the topic by itself."""
    groups = topics.groupBy(*_TOPIC).agg(F.collect_set(_part(_GROUP, parts)).alias("of_groups"))
    with_groups = of_topics.join(F.broadcast(groups), on=[*_TOPIC], how="left")
    no_groups = F.array().cast("array<bigint>")
    all_parts = F.array_distinct(F.concat(F.array(_part(_TOPIC, parts)), F.coalesce("of_groups", no_groups)))
    return with_groups.withColumn(PART, F.explode(all_parts))


def _part(names: Sequence[str], parts: int) -> Column:
    """The part of a group, or of a topic by itself, which these columns name."""
    return F.pmod(F.xxhash64(*names), F.lit(parts))


def _dead_letters() -> Column:
    return F.concat(F.lit(DEAD_LETTERS), "consumer_group")
