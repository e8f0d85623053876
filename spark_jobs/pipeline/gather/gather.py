"""The recording of each group, brought together in one shuffle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import CLIENT_SNAPSHOTS, OFFSET_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import DEAD_LETTERS
from spark_jobs.pipeline.gather.fold import GROUP, with_state
from spark_jobs.pipeline.gather.kinds import (
    CLIENT,
    KINDS,
    MEASURED,
    MEMBERSHIP,
    OFFSET_QUEUES,
    PROXY,
    READABLE,
    ROUTE,
    TOPIC_QUEUES,
    VALUES,
)
from spark_jobs.pipeline.gather.packed import REJECTED
from spark_jobs.store.spark_types import spark_type

_TOPIC = ("cluster", "name")
_STATUSES = spark_type(CLIENT_SNAPSHOTS.schema["consume_status"].type)
#: Which of so many parts a row is of: one call of Python looks at all groups and topics of a part.
KEY = "part"


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
        return F.pmod(F.xxhash64(*GROUP), self._count)

    def of_topic(self) -> Column:
        """By cluster and topic, in the column `name`."""
        return F.pmod(F.xxhash64(*_TOPIC), self._count)


def group_topics(states: DataFrame) -> DataFrame:
    """One row per (cluster, consumer group, `name` of a topic that it subscribes to or has offsets of, or of its
    dead-letter topic), and one with the name of the proxies' group: the other names whose snapshots the group needs.
    """
    subscribed = (F.col(f"{kind}.subscriptions")["topic"] for kind in (MEMBERSHIP, CLIENT))
    of_offsets = F.when(F.col("kind") == OFFSET_QUEUES, F.array("name"))
    consumed = F.coalesce(*subscribed, of_offsets, F.array().cast("array<string>"))
    topics = F.explode(F.concat(consumed, F.array(_dead_letters(), F.lit(PROXIES_GROUP)))).alias("name")
    of_groups = F.col("kind").isin(MEMBERSHIP, CLIENT, OFFSET_QUEUES) & F.col("consumer_group").isNotNull()
    return states.where(of_groups).select(*GROUP, topics).distinct()


def states_per_group(states: DataFrame, topics: DataFrame, parts: Partitioning) -> DataFrame:
    """One row per (group, state), those of its topics too (of its dead-letter topic, which it does not consume, only
    the offsets), and as kind `PROXY` those of its cluster's proxies; and one per (topic, state), without a group, by
    which the snapshots of a topic are checked once.
    """
    of_topics = F.col("kind").isin(ROUTE, TOPIC_QUEUES, READABLE)
    of_proxies = (F.col("kind") == MEMBERSHIP) & (F.col("consumer_group") == PROXIES_GROUP)
    columns = (parts.of_group().alias(KEY), *GROUP, "kind", "name", "fingerprint", "times", *KINDS, READABLE)
    by_name = states.where(of_topics | of_proxies).withColumns(
        {
            "kind": F.when(of_proxies, F.lit(PROXY)).otherwise(F.col("kind")),
            "asked_by": F.when(of_proxies, F.lit(PROXIES_GROUP)).otherwise(F.col("name")),
        }
    )
    asking = F.broadcast(topics.withColumnRenamed("name", "asked_by"))
    named = by_name.drop("consumer_group").join(asking, on=["cluster", "asked_by"], how="inner")
    shared = named.where((F.col("kind") == TOPIC_QUEUES) | (F.col("name") != _dead_letters()))
    alone = states.where(F.col("kind").isin(ROUTE, TOPIC_QUEUES)).select(parts.of_topic().alias(KEY), *columns[1:])
    return states.where(~of_topics).select(*columns).union(shared.select(*columns)).union(alone)


def readings_per_group(snapshots: Mapping[str, DataFrame], topics: DataFrame, parts: Partitioning) -> DataFrame:
    """One row per (part with a group or topic whose it is, reading): `at`, the `fingerprint` of its state, and numbers
    in parallel arrays.

    They are in the order of the state's queues. Whose they are the state says.
    """
    every = {
        OFFSET_SNAPSHOTS: snapshots[OFFSET_QUEUES].withColumn(KEY, parts.of_group()),
        CLIENT_SNAPSHOTS: snapshots[CLIENT].withColumn(KEY, parts.of_group()),
        TOPIC_SNAPSHOTS: _in_parts(snapshots[TOPIC_QUEUES], topics, parts),
    }
    return reduce(DataFrame.union, (_readings(table, frame) for table, frame in every.items()))


def _in_parts(of_topics: DataFrame, topics: DataFrame, parts: Partitioning) -> DataFrame:
    """The snapshots of topics once for each part that has a group with the topic, or the topic by itself."""
    groups = topics.groupBy(*_TOPIC).agg(F.collect_set(parts.of_group()).alias("of_groups"))
    with_groups = of_topics.join(F.broadcast(groups), on=[*_TOPIC], how="left")
    no_groups = F.array().cast("array<bigint>")
    all_parts = F.array_distinct(F.concat(F.array(parts.of_topic()), F.coalesce("of_groups", no_groups)))
    return with_groups.withColumn(KEY, F.explode(all_parts))


def _dead_letters() -> Column:
    return F.concat(F.lit(DEAD_LETTERS), "consumer_group")


def rejected_snapshots(packed: DataFrame, table: Table, snapshots: DataFrame) -> DataFrame:
    """The snapshots of a source, as `fold.with_states` gives them, of the keys that the checks have rejected."""
    keys = packed.select(F.inline(REJECTED)).where(F.col("table_name") == table.name)
    shown = with_state(table, snapshots)
    same = F.col("keys.captured_at") == F.col("shown.at")
    for name in ("cluster", "consumer_group", "name"):
        if name in shown.columns:
            same &= F.col(f"keys.{name}").eqNullSafe(F.col(f"shown.{name}"))
    return shown.alias("shown").join(F.broadcast(keys.alias("keys")), on=same, how="left_semi")


def content_hash(table: Table) -> Column:
    """A hash of all that the audit reads of a snapshot, as `fold.with_states` gives it, beside its time."""
    array, names = MEASURED.get(table, ("", ()))
    measured = [F.col(array)[name] for name in names] + ([F.col("consume_status")] if table is CLIENT_SNAPSHOTS else [])
    return F.xxhash64("fingerprint", *(F.to_json(column) for column in measured))


def _readings(table: Table, snapshots: DataFrame) -> DataFrame:
    array, names = MEASURED[table]
    numbers = [F.col(array)[name] for name in names] + [F.lit(None)] * (len(VALUES) - len(names))
    values = (column.cast("array<bigint>").alias(name) for column, name in zip(numbers, VALUES, strict=True))
    statuses = F.col("consume_status") if table is CLIENT_SNAPSHOTS else F.lit(None).cast(_STATUSES)
    return snapshots.select(KEY, "fingerprint", "at", *values, statuses.alias("statuses"))
