"""Replay each distinct state once, and give the result back to every interval that was in it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import ALLOCATIONS, REBALANCE_INTERVALS
from spark_jobs.replay.ownership import with_ownership, with_share_counts

STATE = ("cluster", "consumer_group", "topic", "state_id")
RECORDED, DEDUPLICATED, UNIQUE = "RECORDED", "DEDUPLICATED", "UNIQUE"


def distinct_states(intervals: DataFrame) -> DataFrame:
    """One row per distinct state: the inputs of its allocation, of the replayed intervals only."""
    inputs = F.struct("members", "queues", "unreadable", "settings")
    replayed = intervals.where("status = 'REPLAYED'").groupBy(*STATE).agg(F.first(inputs).alias("inputs"))
    return replayed.select(*STATE, "inputs.*")


def replayed_states(intervals: DataFrame) -> DataFrame:
    """One row per (distinct state, variant) with its `ownership` and totals (see `ownership`).

    The variant `RECORDED` is what happened. A state with duplicates has two more, what a cure would have made of it:
    `DEDUPLICATED`, the group's list without repeats (no hole, but twins still both consume), and `UNIQUE`, every
    connection with an id of its own. One expression replays them all.
    """
    return (
        distinct_states(intervals)
        .withColumn("twin_ids", twin_ids())
        .select(*STATE, "queues", "unreadable", "settings", "twin_ids", F.inline(_variants()))
        .transform(with_ownership)
        .transform(with_share_counts)
        .withColumn(
            "double_owned_queues",
            F.when(F.col("variant") == DEDUPLICATED, _owned_by_twins()).otherwise(F.col("double_owned_queues")),
        )
    )


def recorded(states: DataFrame) -> DataFrame:
    """One row per distinct state: what happened."""
    return states.where(F.col("variant") == RECORDED)


def twin_ids() -> Column:
    """The client ids that `members` has more than once."""
    ids = F.col("members.client_id")
    return F.array_distinct(F.filter(ids, lambda one: F.size(F.filter(ids, lambda other: other == one)) > 1))


def _variants() -> Column:
    def variant(name: str, members: Column) -> Column:
        return F.struct(F.lit(name).alias("variant"), members.alias("members"))

    happened = variant(RECORDED, F.col("members"))
    cured = F.array(happened, variant(DEDUPLICATED, _deduplicated()), variant(UNIQUE, _unique()))
    return F.when(F.size("twin_ids") > 0, cured).otherwise(F.array(happened))


def _deduplicated() -> Column:
    """The members with only the first connection of each id."""
    ids = F.col("members.client_id")
    return F.filter("members", lambda m, i: F.array_position(ids, m["client_id"]) == i + 1)


def _unique() -> Column:
    """The members as if every further connection of an id had an id of its own, right after it in order."""
    ids = F.col("members.client_id")

    def renamed(member: Column, index: Column) -> Column:
        twin = index + 1 - F.array_position(ids, member["client_id"])
        own = F.concat(member["client_id"], F.lit("#twin"), twin.cast("string"))
        return member.withField("client_id", F.when(twin == 0, member["client_id"]).otherwise(own))

    return F.transform("members", renamed)


def _owned_by_twins() -> Column:
    """Queues with several owners, where an owner whose id has twins stands for all of them."""

    def double(queue: Column) -> Column:
        owners = F.transform(queue["owners"], lambda p: F.element_at("members", p + 1)["client_id"])
        return (F.size(owners) > 1) | F.exists(owners, lambda owner: F.array_contains("twin_ids", owner))

    return F.size(F.filter("ownership", double))


def cures(states: DataFrame) -> DataFrame:
    """One row per distinct state with duplicates: `if_deduplicated` and `if_unique`, what would be left of the harm,
    each a struct<unassigned_queues, double_owned_queues>.
    """
    left = F.struct("unassigned_queues", "double_owned_queues")
    return (
        states.where(F.col("variant") != RECORDED)
        .groupBy(*STATE)
        .agg(
            F.first(F.when(F.col("variant") == DEDUPLICATED, left), ignorenulls=True).alias("if_deduplicated"),
            F.first(F.when(F.col("variant") == UNIQUE, left), ignorenulls=True).alias("if_unique"),
        )
    )


def clipped(intervals: DataFrame) -> DataFrame:
    """The parts of the intervals that lie inside their step: what a step publishes."""
    return intervals.where(F.col("end") > F.col("step_start")).withColumn("start", F.greatest("start", "step_start"))


def published_intervals(intervals: DataFrame) -> DataFrame:
    """One row per (group, topic, view, interval) of `moves.with_moves`, as `schemas/rebalance_intervals.py` says."""
    return (
        intervals.withColumns(_strategy_in_use() | _totals() | _known_inputs())
        .withColumnsRenamed({"start": "interval_start", "end": "interval_end"})
        .select(*REBALANCE_INTERVALS.columns)
    )


def _strategy_in_use() -> dict[str, Column]:
    """What all members run and how that is known; null where nothing was replayed."""
    replayed = F.col("status") == "REPLAYED"
    names = F.array_distinct("members.strategy")
    strategy = F.when(F.size(names) > 1, "MIXED").otherwise(F.try_element_at(names, F.lit(1)))
    return {"strategy": F.when(replayed, strategy), "strategy_source": F.when(replayed, F.col("source"))}


def _totals() -> dict[str, Column]:
    """Shares per connection; null where nothing was replayed."""
    shares = F.col("queues_per_member")
    return {
        "idle_members": F.size(F.filter(shares, lambda owned: owned == 0)),
        "min_queues_per_member": F.array_min(shares),
        "max_queues_per_member": F.array_max(shares),
    }


def _known_inputs() -> dict[str, Column]:
    """Members and queues with their counts; null where they were not observed."""
    members = F.transform(
        "members",
        lambda m: F.struct(*(m[f].alias(f) for f in REBALANCE_INTERVALS.schema["members"].dataType.elementType.names)),  # type: ignore[attr-defined]
    )
    inputs = {
        "member_count": F.size("members"),
        "distinct_members": F.size(F.array_distinct("members.client_id")),
        "queue_count": F.size("queues"),
        "members_seen_at": F.col("seen_at"),
        "members": members,
        "queues": F.col("queues"),
    }
    return {name: F.when(F.col("status") != "UNOBSERVED", value) for name, value in inputs.items()}


def owned_queues(intervals: DataFrame, states: DataFrame) -> DataFrame:
    """One row per (replayed interval, queue), with the columns of the interval's key, `start`, `end` and the owners
    as connections.
    """

    def connections(queue: Column) -> Column:
        def connection(position: Column) -> Column:
            member = F.element_at("members", position + 1)
            return F.struct(member["client_id"].alias("client_id"), member["client_addr"].alias("client_addr"))

        return queue.withField("owners", F.transform(queue["owners"], connection))

    key = ("step_start", "cluster", "consumer_group", "topic", "membership_view", "start", "end")
    return (
        intervals.where("status = 'REPLAYED'")
        .join(recorded(states).select(*STATE, "ownership"), on=list(STATE), how="inner")
        .select(*key, "seen_at", F.transform("ownership", connections).alias("ownership"))
        .select(*key, "seen_at", F.inline("ownership"))
    )


def published_allocations(owned: DataFrame) -> DataFrame:
    """One row per (replayed interval, queue) of `owned_queues`, as `schemas/allocations.py` says."""
    renamed = owned.withColumnsRenamed({"start": "interval_start", "end": "interval_end"})
    return renamed.select(*ALLOCATIONS.columns)
