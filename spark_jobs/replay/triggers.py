"""What set off a rebalance: the members and queues of a row, and those before it (`domain.moves.triggers`)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.moves import Trigger


def with_passages(rows: DataFrame) -> DataFrame:
    """Adds `left` and `joined`: ids whose connections became fewer or more.

    Each connection gets its number among those of its id: twins are two.
    """

    def numbered(members: Column) -> Column:
        ids = members["client_id"]
        return F.transform(ids, lambda one, index: F.concat_ws(" ", index + 1 - F.array_position(ids, one), one))

    def without(numbered: Column) -> Column:
        return F.array_distinct(F.transform(numbered, lambda one: F.regexp_replace(one, "^[0-9]+ ", "")))

    was, now = numbered(F.col("before.members")), numbered(F.col("members"))
    return rows.withColumn("left", without(F.array_except(was, now))).withColumn(
        "joined", without(F.array_except(now, was))
    )


def host(client_id: Column) -> Column:
    """The address a client gives itself, `ip@instanceName`; null where its id does not have that form."""
    return F.when(F.contains(client_id, F.lit("@")), F.substring_index(client_id, "@", 1))


def with_triggers(rows: DataFrame) -> DataFrame:
    """Adds `triggers`, array<trigger, subject> in the order of `Trigger`; see `moves.compared`."""
    left, joined = F.col("left"), F.col("joined")
    swapped = F.array_intersect(F.transform(left, host), F.transform(joined, host))

    def is_restarted(client_id: Column) -> Column:
        return F.coalesce(F.array_contains(swapped, host(client_id)), F.lit(False))

    gone = F.filter(left, lambda one: ~is_restarted(one))
    subjects = _queue_changes() | {
        Trigger.MEMBER_RESTARTED: F.filter(F.concat(left, joined), is_restarted),
        Trigger.MEMBER_EXPIRED: F.array_intersect(gone, F.col("expired")),
        Trigger.MEMBER_LEFT: F.array_except(gone, F.col("expired")),
        Trigger.MEMBER_JOINED: F.filter(joined, lambda one: ~is_restarted(one)),
        Trigger.STRATEGY_CHANGED: _changed("strategy"),
        Trigger.SUBSCRIPTION_CHANGED: _changed("subscribes"),
    }
    entries = (
        F.struct(
            F.lit(trigger.value).alias("trigger"), F.array_join(F.array_sort(subjects[trigger]), ", ").alias("subject")
        )
        for trigger in Trigger
        if trigger in subjects
    )
    held = F.filter(F.array(*entries), lambda entry: entry["subject"] != "")
    return rows.withColumn("triggers", F.when(F.col("before").isNotNull() & F.col("held").isNotNull(), held))


def _changed(fact: str) -> Column:
    """Ids that were members before, and of which the fact is another now."""

    def pairs(members: Column) -> Column:
        return F.transform(members, lambda m: F.concat_ws(" ", m[fact].cast("string"), m["client_id"]))

    was = F.col("before.members")
    changed = F.array_except(pairs(F.col("members")), pairs(was))
    ids = F.transform(changed, lambda one: F.regexp_replace(one, "^[^ ]* ", ""))
    return F.array_intersect(ids, was["client_id"])


def _queue_changes() -> dict[Trigger, Column]:
    """Readable queues of a broker are 0 … n−1, so what came and went is a range of each broker."""
    was, now = F.col("before.queues.broker_name"), F.col("queues.broker_name")
    come = F.array_except(now, was)
    back = F.array_intersect(come, F.col("seen_brokers"))

    def ranges(brokers: Column, less: Column, more: Column) -> Column:
        def of_broker(broker: Column) -> Column:
            first, end = (F.size(F.filter(names, lambda name: name == broker)) for names in (less, more))
            last = F.when(end > first + 1, F.concat(F.lit("-"), end - 1)).otherwise("")
            return F.when(end > first, F.concat(broker, F.lit(":"), first, last))

        return F.filter(F.transform(brokers, of_broker), lambda one: one.isNotNull())

    return {
        Trigger.BROKER_GONE: F.array_except(was, now),
        Trigger.BROKER_BACK: back,
        Trigger.QUEUES_REMOVED: ranges(F.array_intersect(was, now), now, was),
        Trigger.QUEUES_ADDED: ranges(F.array_except(now, back), was, now),
    }
