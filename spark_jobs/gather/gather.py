"""What was recorded of each group, brought together: one shuffle, in which a group is 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.subscriptions import DEAD_LETTERS
from spark_jobs.domain.unseen import PROXIES_GROUP
from spark_jobs.gather.fold import GROUP
from spark_jobs.gather.histories import (
    CLIENT,
    KINDS,
    MEMBERSHIP,
    OFFSET_QUEUES,
    PROXY,
    READABLE,
    ROUTE,
    TOPIC_QUEUES,
)
from spark_jobs.gather.readings import VALUES

_TOPIC = ("cluster", "name")
_CACHED = ("cached_count", "cached_mib", "cached_min_offset", "cached_max_offset", "last_pull")
#: Which group a row is of, in the shuffle.
KEY = "group_key"


def group_key() -> Column:
    """The group as 64 bits. Where two have the same ones, `histories` tells them apart."""
    return F.xxhash64(*GROUP)


def group_topics(states: DataFrame) -> DataFrame:
    """One row per (cluster, consumer group, `name` of a topic that it subscribes or has offsets of, or of its
    dead-letter topic), and one with the name of the proxies' group: what a group is handed of others.
    """
    subscribed = (F.col(f"{kind}.subscriptions")["topic"] for kind in (MEMBERSHIP, CLIENT))
    of_offsets = F.when(F.col("kind") == OFFSET_QUEUES, F.array("name"))
    consumed = F.coalesce(*subscribed, of_offsets, F.array().cast("array<string>"))
    topics = F.explode(F.concat(consumed, F.array(_dead_letters(), F.lit(PROXIES_GROUP)))).alias("name")
    return states.where(F.col("kind").isin(MEMBERSHIP, CLIENT, OFFSET_QUEUES)).select(*GROUP, topics).distinct()


def states_per_group(states: DataFrame, topics: DataFrame) -> DataFrame:
    """One row per (group, state), those of its topics too (of its dead-letter topic, which it does not consume, only
    the offsets), and as kind `PROXY` those of its cluster's proxies.
    """
    of_topics = F.col("kind").isin(ROUTE, TOPIC_QUEUES, READABLE)
    of_proxies = (F.col("kind") == MEMBERSHIP) & (F.col("consumer_group") == PROXIES_GROUP)
    columns = (group_key().alias(KEY), *GROUP, "kind", "name", "fingerprint", "times", *KINDS, READABLE)
    by_name = states.where(of_topics | of_proxies).withColumns(
        {
            "kind": F.when(of_proxies, F.lit(PROXY)).otherwise(F.col("kind")),
            "asked_by": F.when(of_proxies, F.lit(PROXIES_GROUP)).otherwise(F.col("name")),
        }
    )
    asking = F.broadcast(topics.withColumnRenamed("name", "asked_by"))
    named = by_name.drop("consumer_group").join(asking, on=["cluster", "asked_by"], how="inner")
    shared = named.where((F.col("kind") == TOPIC_QUEUES) | (F.col("name") != _dead_letters()))
    return states.where(~of_topics).select(*columns).union(shared.select(*columns))


def readings_per_group(snapshots: Mapping[str, DataFrame], topics: DataFrame) -> DataFrame:
    """One row per (group, reading): `at`, the `fingerprint` of its state, and numbers in parallel arrays.

    They are in the order of the state's queues. Whose they are the state says.
    """
    offsets, queues, clients = snapshots[OFFSET_QUEUES], snapshots[TOPIC_QUEUES], snapshots[CLIENT]
    keys = topics.select(*_TOPIC, group_key().alias(KEY))
    of_offsets = ("broker_offset", "consumer_offset", "pull_offset", "last_timestamp")
    nothing = F.lit(None).cast(clients.schema["consume_status"].dataType)
    own = (
        _readings(offsets, group_key(), "offsets", of_offsets, nothing),
        _readings(clients, group_key(), "owned_queues", _CACHED, F.col("consume_status")),
    )
    shared = queues.join(F.broadcast(keys), on=[*_TOPIC], how="inner")
    return reduce(DataFrame.union, own, _readings(shared, F.col(KEY), "queues", ("min_offset", "max_offset"), nothing))


def _dead_letters() -> Column:
    return F.concat(F.lit(DEAD_LETTERS), "consumer_group")


def _readings(snapshots: DataFrame, key: Column, array: str, names: tuple[str, ...], statuses: Column) -> DataFrame:
    numbers = [F.col(array)[name] for name in names] + [F.lit(None)] * (len(VALUES) - len(names))
    values = (one.cast("array<bigint>").alias(name) for one, name in zip(numbers, VALUES, strict=True))
    return snapshots.select(key.alias(KEY), "fingerprint", "at", *values, statuses.alias("statuses"))
