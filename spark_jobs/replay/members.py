"""The members of a view as the replay needs them: each with its strategy and whether it subscribes the topic."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.domain.members import StrategySource
from spark_jobs.domain.strategies import AVG, MACHINE_ROOM_NEARBY, STRATEGY_OF_CLASS
from spark_jobs.replay.inputs import let

#: Strategy of a member whose class is not RocketMQ's, where nothing is configured.
UNKNOWN = "UNKNOWN"


def members(connections: Column, book: Column, configured: Column, topic: Column) -> Column:
    """array<client_id, client_addr, language, version, strategy, subscribes, source, known> in the order given.

    A member's strategy is what it said itself, else the configured one, else what most of its peers run, else AVG,
    RocketMQ's default. A member of whom nothing is known is taken to subscribe the topic. `known`: it was heard of.
    """

    def heard(connection: Column) -> Column:
        said = F.try_element_at(book, connection["client_id"])
        own = _own_strategy(said["strategy_class"], configured)
        return F.struct(connection.alias("connection"), said.alias("said"), own.alias("own"))

    def complete(all_heard: Column) -> Column:
        fallback = _fallback(all_heard["own"]["name"], configured)
        return let(fallback, lambda other: F.transform(all_heard, lambda one: _member(one, other, topic)))

    return let(F.transform(connections, heard), complete)


def strategy_source(members: Column, configured: Column) -> Column:
    """DEFAULT if any member's strategy is assumed, else CONFIGURATION if any is configured, else CLIENT."""
    nobody = F.when(configured.isNotNull(), StrategySource.CONFIGURATION.value).otherwise(StrategySource.DEFAULT.value)
    weakest_first = (StrategySource.DEFAULT.value, StrategySource.CONFIGURATION.value, StrategySource.CLIENT.value)
    found = (F.when(F.array_contains(members["source"], source), source) for source in weakest_first)
    return F.coalesce(*found, nobody)


def _own_strategy(strategy_class: Column, configured: Column) -> Column:
    """struct<name, source> of a client's Java class; null where it is not known.

    The class of MACHINE_ROOM_NEARBY does not tell its inner strategy, and a class of somebody's own says nothing: the
    configured strategy fills both in, else they stay `MACHINE_ROOM_NEARBY` and `UNKNOWN`.
    """
    simple_name = F.substring_index(strategy_class, ".", -1)
    known = F.coalesce(*(F.when(simple_name == java, strategy) for java, strategy in STRATEGY_OF_CLASS.items()))
    filled_in = known.isNull() | ((known == MACHINE_ROOM_NEARBY) & configured.startswith(MACHINE_ROOM_NEARBY))
    by_configuration = _named(F.coalesce(configured, F.lit(UNKNOWN)), StrategySource.CONFIGURATION)
    own = F.when(filled_in, by_configuration).otherwise(_named(known, StrategySource.CLIENT))
    return F.when(strategy_class.isNotNull(), own)


def _fallback(known_names: Column, configured: Column) -> Column:
    """struct<name, source> for who did not say: configured, else the most frequent of the others, else AVG."""
    most_frequent = _most_frequent(F.filter(known_names, lambda name: name != UNKNOWN))
    return (
        F.when(configured.isNotNull(), _named(configured, StrategySource.CONFIGURATION))
        .when(most_frequent.isNotNull(), _named(most_frequent, StrategySource.CLIENT))
        .otherwise(_named(F.lit(AVG), StrategySource.DEFAULT))
    )


def _named(name: Column, source: StrategySource) -> Column:
    return F.struct(name.alias("name"), F.lit(source.value).alias("source"))


def _most_frequent(names: Column) -> Column:
    """The name that occurs most often in an array, of several the smallest; null in an empty array."""
    candidates = F.transform(
        F.array_distinct(names),
        lambda name: F.struct(
            (-F.size(F.filter(names, lambda other: other == name))).alias("negative_count"), name.alias("name")
        ),
    )
    return F.array_min(candidates)["name"]


def _member(heard: Column, fallback: Column, topic: Column) -> Column:
    strategy = F.coalesce(heard["own"], fallback)
    connection = (heard["connection"][name].alias(name) for name in ("client_id", "client_addr", "language", "version"))
    return F.struct(
        *connection,
        strategy["name"].alias("strategy"),
        F.coalesce(F.array_contains(heard["said"]["topics"], topic), F.lit(True)).alias("subscribes"),
        strategy["source"].alias("source"),
        heard["said"].isNotNull().alias("known"),
    )
