"""The snapshots of each group: folded to their distinct states, as a fleet is stable most of the time, and brought
together in one shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    NO_STATES,
    OFFSETS,
    SAMPLES,
    STATES,
    Kind,
)
from spark_jobs.store.spark_types import struct_type, union_of

#: The snapshots that a run reads, of each table of `schemas.SOURCES`; and the same by kind, as `with_state` gives them.
Sources = Mapping[Table, DataFrame]
Snapshots = Mapping[Kind, DataFrame]
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
    """One row per snapshot: its kind, `exchange.KEY`, `at`, its state, named as its kind, and its `sample`.

    Connections, subscriptions and brokers are listed in any order: they are sorted.
    """
    group = F.lit(None).cast("string") if kind.of_topics else F.col("consumer_group")
    columns = {
        "kind": F.lit(kind.name),
        "cluster": F.col("cluster"),
        "consumer_group": group,
        "name": F.col(kind.named_by),
        "at": F.unix_micros("captured_at"),
        kind.name: F.struct(*_state(kind, snapshots.schema)),
        "sample": F.struct(*_sample(kind)) if kind.is_measured else F.lit(None),
    }
    return snapshots.select(*(column.alias(name) for name, column in columns.items()))


def folded(snapshots: Snapshots) -> DataFrame:
    """One row per (key, distinct state) of every kind, as `exchange.STATES` without kinds that have no source. One
    aggregation by hash folds all kinds.
    """
    every = union_of(_of_kind(kind, shown) for kind, shown in snapshots.items())
    states = every.groupBy("kind", *KEY, *(kind.name for kind in snapshots)).agg(F.collect_list("at").alias("times"))
    by_kind = (F.when(F.col("kind") == kind.name, _fingerprint(kind, states)) for kind in snapshots if kind.is_measured)
    return states.withColumn("fingerprint", F.coalesce(*by_kind))


def _of_kind(kind: Kind, shown: DataFrame) -> DataFrame:
    at = F.lit(None).cast("bigint") if kind.is_measured else F.col("at")
    return shown.select("kind", *KEY, at.alias("at"), kind.name)


def _state(kind: Kind, source: StructType) -> Iterator[Column]:
    for name in kind.shared:
        is_list = isinstance(source[name].dataType, ArrayType)
        yield F.sort_array(name).alias(name) if is_list else F.col(name)
    if kind.array is not None:
        # An array of each field: that is ten times as fast as an array of structs, and the other fields are not read.
        yield F.struct(*(F.col(kind.array)[name].alias(name) for name in kind.listed)).alias(kind.array)
    for name in kind.measured:
        yield F.when(F.col(name).isNotNull(), F.lit(True)).alias(name)


def _sample(kind: Kind) -> Iterator[Column]:
    for name in kind.numbers:
        yield F.col(str(kind.array))[name].cast("array<bigint>").alias(name)
    yield from map(F.col, kind.measured)


def _fingerprint(kind: Kind, frame: DataFrame) -> Column:
    """Which samples are of a state of the kind."""
    parts = _hashed_parts(F.col(kind.name), frame.schema[kind.name].dataType)
    return F.xxhash64(F.lit(kind.name), *KEY, *parts)


def _hashed_parts(value: Column, data_type: DataType) -> Iterator[Column]:
    """The parts of a value that a hash has to see. Spark's own skips nulls, and does not see where one part ends."""
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


def _nulls(field: Column, type_name: str) -> Column:
    """array<boolean>: which values of a field are null; null itself where none is.

    `array_contains` is null where the value is missing and the array has a null: that check costs next to nothing, and
    most arrays contain neither.
    """
    any_value = F.lit({"string": "", "boolean": False}.get(type_name, -1))
    may_have_nulls = F.coalesce(F.array_contains(field, any_value), F.lit(True))
    return F.when(may_have_nulls, F.transform(field, lambda value: value.isNull()))


def over_groups(
    gathered: Gathered, function: Callable[[pa.Table, pa.Table], pa.Table], schema: StructType
) -> DataFrame:
    """The rows that a function gives for a part's `STATES` and `SAMPLES`, over all parts of the groups and topics."""
    # A few parts per task: what a call costs is paid once for many groups, and no task waits for one.
    parts = 4 * int(gathered.folded.sparkSession.conf.get("spark.sql.shuffle.partitions") or 16)
    asking = parts_that_ask(gathered.folded, parts)
    states = in_parts(gathered.states(), asking, parts).select(PART, *STATES.names).groupBy(PART)
    samples = samples_in_parts(gathered.snapshots, asking, parts).groupBy(PART)
    return states.cogroup(samples).applyInArrow(function, schema)


def parts_that_ask(states: DataFrame, parts: int) -> DataFrame:
    """One row per (cluster, name whose snapshots some groups need alongside their own): the `asking` parts that have
    these groups. A group needs the topics that it subscribes to or has offsets of, its dead-letter topic, and the
    members of the proxies' group.
    """
    subscribed = (F.col(f"{kind.name}.subscriptions")["topic"] for kind in (MEMBERSHIP, CLIENT))
    of_offsets = F.when(F.col("kind") == OFFSETS.name, F.array("name"))
    consumed = F.coalesce(*subscribed, of_offsets, F.array().cast("array<string>"))
    additional = F.array(F.concat(F.lit(DEAD_LETTERS), "consumer_group"), F.lit(PROXIES_GROUP))
    needed = states.where("consumer_group IS NOT NULL").select(
        "cluster", F.explode(F.concat(consumed, additional)).alias("needed"), _own_part(parts).alias(PART)
    )
    return F.broadcast(needed.groupBy("cluster", "needed").agg(F.collect_set(PART).alias("asking")))


def in_parts(rows: DataFrame, asking: DataFrame, parts: int) -> DataFrame:
    """The rows in the part of their group or topic, where they are `counted`; those of topics, and of the proxies'
    members, once more in each other part of `parts_that_ask`.
    """
    of_proxies = (F.col("consumer_group") == PROXIES_GROUP) & (F.col("kind") == MEMBERSHIP.name)
    needed = F.when(F.col("consumer_group").isNull(), F.col("name")).when(of_proxies, F.lit(PROXIES_GROUP))
    own, none = _own_part(parts), F.array().cast("array<bigint>")
    every = F.array_distinct(F.concat(F.array(own), F.coalesce("asking", none)))
    shared = rows.withColumn("needed", needed).join(asking, on=["cluster", "needed"], how="left")
    return shared.withColumn(PART, F.explode(every)).withColumn("counted", F.col(PART) == own)


def samples_in_parts(snapshots: Snapshots, asking: DataFrame, parts: int) -> DataFrame:
    """One row per (part that has its state, sample): `SAMPLES`."""

    def of_kind(kind: Kind) -> DataFrame:
        fingerprint = _fingerprint(kind, snapshots[kind]).alias("fingerprint")
        shown = snapshots[kind].select("kind", *KEY, fingerprint, "at", F.col("sample").alias(kind.name))
        return in_parts(shown, asking, parts) if kind.of_topics else shown.withColumn(PART, _own_part(parts))

    return union_of(map(of_kind, MEASURED)).select(PART, *SAMPLES.names)


def _own_part(parts: int) -> Column:
    """The part of a group, or of a topic."""
    return F.pmod(F.xxhash64("cluster", F.coalesce("consumer_group", "name")), F.lit(parts))
