"""Who owns each queue of a state, and why nobody or more than one does."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.replay.inputs import indices, let, row_inputs
from spark_jobs.replay.strategies import SHARES


def with_slots(states: DataFrame) -> DataFrame:
    """Adds `shares`, array<strategy, positions aligned with the queues> with one entry per strategy in use, and
    `runs`, array<first, size> per position: the run of equal client ids (twins are neighbours) it belongs to.
    """
    inputs = row_inputs()
    in_use = F.array_distinct("members.strategy")

    def of_strategy(name: str) -> Column:
        shares = F.when(F.array_contains(in_use, name), SHARES[name](inputs))
        return F.struct(F.lit(name).alias("strategy"), shares.alias("positions"))

    def run(client_id: Column) -> Column:
        first = F.array_position(inputs.client_ids, client_id).cast("int") - 1
        twins = F.size(F.filter(inputs.client_ids, lambda other: other == client_id))
        return F.struct(first.alias("first"), twins.alias("size"))

    shares = F.filter(F.array(*map(of_strategy, SHARES)), lambda share: share["positions"].isNotNull())
    return states.withColumn("shares", shares).withColumn("runs", F.transform(inputs.client_ids, run))


def _slots(index: Column) -> Column:
    """array<strategy, position, first, size, member> of the shares in which a queue lies."""

    def of_share(share: Column) -> Column:
        def slot(position: Column) -> Column:
            run = F.element_at("runs", position + 1)
            return F.struct(
                share["strategy"].alias("strategy"),
                position.alias("position"),
                run["first"].alias("first"),
                run["size"].alias("size"),
                F.element_at("members", position + 1).alias("member"),
            )

        return F.transform(F.element_at(share["positions"], index + 1), slot)

    return F.flatten(F.transform("shares", of_share))


def _takers(slot: Column) -> Column:
    """array<position>: who computes this share and takes it. Twins all compute that of the first of them; they must
    subscribe the topic and run this very strategy.
    """

    def takes(position: Column) -> Column:
        member = F.element_at("members", position + 1)
        return member["subscribes"] & (member["strategy"] == slot["strategy"])

    twins = F.sequence(slot["first"], slot["first"] + slot["size"] - 1)
    return F.when(slot["position"] == slot["first"], F.filter(twins, takes)).otherwise(F.array().cast("array<int>"))


def _unassigned_by(slots: Column) -> Column:
    """struct<cause, client_id>: why nobody takes a readable queue, and in whose share it lies."""

    def blame(cause: UnassignedCause, guilty: Column) -> tuple[Column, Column]:
        in_order = F.transform(guilty, lambda s: F.struct(s["position"], s["member"]["client_id"].alias("client_id")))
        culprit = F.array_min(in_order)["client_id"]
        return F.size(guilty) > 0, F.struct(F.lit(cause.value).alias("cause"), culprit.alias("client_id"))

    def by_design(cause: UnassignedCause) -> Column:
        return F.struct(F.lit(cause.value).alias("cause"), F.lit(None).cast("string").alias("client_id"))

    others = F.filter(slots, lambda s: (s["position"] == s["first"]) & s["member"]["subscribes"])
    twins = F.filter(slots, lambda s: s["position"] != s["first"])
    strangers = F.filter(slots, lambda s: ~s["member"]["subscribes"])
    return (
        F.when(F.size("members") == 0, by_design(UnassignedCause.GROUP_OFFLINE))
        .when(*blame(UnassignedCause.MIXED_STRATEGIES, others))
        .when(*blame(UnassignedCause.DUPLICATE_CLIENT_ID, twins))
        .when(*blame(UnassignedCause.MEMBER_NOT_SUBSCRIBED, strangers))
        .when(F.array_contains("shares.strategy", "MACHINE_ROOM"), by_design(UnassignedCause.ROOM_FILTER))
        .when(F.array_contains("shares.strategy", "CONFIG"), by_design(UnassignedCause.CONFIG_HOLE))
        .otherwise(by_design(UnassignedCause.NO_VIRTUAL_NODES))
    )


def _double_owned_cause(owners: Column) -> Column:
    """Why a queue has more than one owner; null where it has not."""
    holders = F.transform(owners, lambda position: F.element_at("members", position + 1))
    ids = F.array_distinct(F.transform(holders, lambda member: member["client_id"]))
    strategies = F.array_distinct(F.transform(holders, lambda member: member["strategy"]))
    return (
        F.when(F.size(owners) < 2, F.lit(None).cast("string"))
        .when(F.size(ids) == 1, DoubleOwnedCause.DUPLICATE_CLIENT_ID.value)
        .when(F.size(strategies) > 1, DoubleOwnedCause.MIXED_STRATEGIES.value)
        .otherwise(DoubleOwnedCause.CONFIG_OVERLAP.value)
    )


def _of_queue(queue: Column, slots: Column) -> Column:
    """The entry of `ownership` of a readable queue, given the shares in which it lies."""

    def judged(owners: Column) -> Column:
        why = F.when(F.size(owners) == 0, _unassigned_by(slots))
        return F.struct(
            queue["broker_name"].alias("broker_name"),
            queue["queue_id"].alias("queue_id"),
            F.lit(True).alias("readable"),
            owners.alias("owners"),
            why["cause"].alias("unassigned_cause"),
            why["client_id"].alias("unassigned_client_id"),
            _double_owned_cause(owners).alias("double_owned_cause"),
        )

    return let(F.sort_array(F.array_distinct(F.flatten(F.transform(slots, _takers)))), judged)


def _of_unreadable(queue: Column) -> Column:
    """The entry of `ownership` of a queue that is in no client's list."""
    return F.struct(
        queue["broker_name"].alias("broker_name"),
        queue["queue_id"].alias("queue_id"),
        F.lit(False).alias("readable"),
        F.array().cast("array<int>").alias("owners"),
        queue["cause"].alias("unassigned_cause"),
        F.lit(None).cast("string").alias("unassigned_client_id"),
        F.lit(None).cast("string").alias("double_owned_cause"),
    )


def with_ownership(states: DataFrame) -> DataFrame:
    """Adds `ownership`, one entry per queue the route can hold messages in: `owners` are positions of `members`.

    A state has `topic`, `members` (sorted, duplicates kept), `queues` (sorted, readable), `unreadable` and `settings`.
    """
    readable = F.transform("queues", lambda queue, index: let(_slots(index), lambda slots: _of_queue(queue, slots)))
    unreadable = F.transform("unreadable", _of_unreadable)
    return states.transform(with_slots).withColumn("ownership", F.concat(readable, unreadable)).drop("shares", "runs")


def with_share_counts(states: DataFrame) -> DataFrame:
    """Adds the totals of a state: `unassigned_queues`, `double_owned_queues` (both readable), `queues_per_member`."""
    readable = F.filter("ownership", lambda queue: queue["readable"])
    owned = F.flatten("ownership.owners")
    per_member = F.transform(indices(F.col("members")), lambda p: F.size(F.filter(owned, lambda o: o == p)))
    return (
        states.withColumn("unassigned_queues", F.size(F.filter(readable, lambda q: F.size(q["owners"]) == 0)))
        .withColumn("double_owned_queues", F.size(F.filter(readable, lambda q: F.size(q["owners"]) > 1)))
        .withColumn("queues_per_member", per_member)
    )
