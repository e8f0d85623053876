"""The members of a view as the replay needs them: each with its strategy and whether it subscribes the topic."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.domain.strategies import MACHINE_ROOM_NEARBY, STRATEGY_OF_CLASS

UNKNOWN = "UNKNOWN"


def named_strategy(strategy_class: Column, configured: Column) -> Column:
    """The strategy of a Java class; null where the class is not known.

    The class of MACHINE_ROOM_NEARBY does not tell its inner strategy, and a class of somebody's own says nothing: the
    configured strategy fills both in, else they stay `MACHINE_ROOM_NEARBY` and `UNKNOWN`.
    """
    simple_name = F.substring_index(strategy_class, ".", -1)
    named = F.when(strategy_class.isNull(), F.lit(None).cast("string"))
    for java_class, strategy in STRATEGY_OF_CLASS.items():
        if strategy == MACHINE_ROOM_NEARBY:
            inner = F.when(configured.startswith(MACHINE_ROOM_NEARBY), configured).otherwise(F.lit(MACHINE_ROOM_NEARBY))
            named = named.when(simple_name == java_class, inner)
        else:
            named = named.when(simple_name == java_class, F.lit(strategy))
    return named.otherwise(F.coalesce(configured, F.lit(UNKNOWN)))


def most_frequent(names: Column) -> Column:
    """The name that occurs most often in an array, of several the smallest; null in an empty array."""
    candidates = F.transform(
        F.reverse(F.sort_array(F.array_distinct(names))),
        lambda name, index: F.struct(
            F.size(F.filter(names, lambda other: other == name)).alias("count"),
            index.alias("tie"),
            name.alias("name"),
        ),
    )
    return F.array_max(candidates)["name"]


def members(connections: Column, book: Column, configured: Column, topic: Column) -> Column:
    """array<client_id, client_addr, language, version, strategy, subscribes, source, known> in the order given.

    A member's strategy is what it said itself, else the configured one, else what most of its peers run, else AVG,
    RocketMQ's default. A member of whom nothing is known is taken to subscribe the topic.
    """
    heard = F.transform(
        connections,
        lambda c: F.struct(c.alias("connection"), F.try_element_at(book, c["client_id"]).alias("said")),
    )
    own = F.transform(heard, lambda m: named_strategy(m["said"]["strategy_class"], configured))
    peers = most_frequent(F.filter(own, lambda name: name.isNotNull()))

    def complete(member: Column, said_strategy: Column) -> Column:
        said = member["said"]
        return F.struct(
            member["connection"]["client_id"].alias("client_id"),
            member["connection"]["client_addr"].alias("client_addr"),
            member["connection"]["language"].alias("language"),
            member["connection"]["version"].alias("version"),
            F.coalesce(said_strategy, configured, peers, F.lit("AVG")).alias("strategy"),
            F.coalesce(F.array_contains(said["topics"], topic), F.lit(True)).alias("subscribes"),
            F.when(said_strategy.isNotNull(), "CLIENT")
            .when(configured.isNotNull(), "CONFIGURATION")
            .when(peers.isNotNull(), "CLIENT")
            .otherwise("DEFAULT")
            .alias("source"),
            said.isNotNull().alias("known"),
        )

    return F.zip_with(heard, own, complete)


def strategy_source(members: Column, configured: Column) -> Column:
    """DEFAULT if any member's strategy is assumed, else CONFIGURATION if any is configured, else CLIENT."""
    nobody = F.when(configured.isNotNull(), "CONFIGURATION").otherwise("DEFAULT")
    return (
        F.when(F.size(members) == 0, nobody)
        .when(F.exists(members, lambda m: m["source"] == "DEFAULT"), "DEFAULT")
        .when(F.exists(members, lambda m: m["source"] == "CONFIGURATION"), "CONFIGURATION")
        .otherwise("CLIENT")
    )
