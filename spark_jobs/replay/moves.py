"""Why each rebalance interval began, and what that moved: the row before it and the row, side by side.

The rules themselves stand in `domain.moves`.
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.moves import Trigger
from spark_jobs.replay.clients import GROUP
from spark_jobs.replay.intervals import VIEW
from spark_jobs.replay.silences import expired, silences
from spark_jobs.replay.states import STATE, recorded
from spark_jobs.replay.steps import StepWindow
from spark_jobs.replay.triggers import with_passages, with_triggers
from spark_jobs.replay.views import ALL_HOSTS, GROUP_TOPIC

#: The totals of a state, which its intervals get along with what is compared.
TOTALS = ("unassigned_queues", "double_owned_queues", "queues_per_member")


def with_moves(
    intervals: DataFrame, states: DataFrame, clients: DataFrame, window: StepWindow, cadence: timedelta
) -> DataFrame:
    """Adds to every interval its state's `TOTALS`, what `compared` adds, and `trigger` with `trigger_subject`.

    An interval is compared with the last replayed one before it on the same time line inside the step's window: that
    of all hosts together, and for the list of one host also its own. So after a split, or after time that was not
    replayed, it says what differs from what held before. All is null where nothing was replayed and, as unknown,
    where the interval stands since the window began; `trigger` is null, too, where the inputs are those before.
    """
    facts = recorded(states).select(*STATE, *TOTALS, held().alias("held"))
    ids = silences(clients, window)
    known = (
        intervals.join(facts, on=list(STATE), how="left")
        .join(F.broadcast(ids), on=[*GROUP, "step_start"], how="left")
        .transform(with_before)
        .withColumn("expired", expired(cadence))
        .transform(compared)
    )
    is_first = (F.col("status") == "REPLAYED") & F.col("before").isNull() & (F.col("start") > window.observed_from)
    first = F.array(F.struct(F.lit(Trigger.FIRST_OBSERVATION.value).alias("trigger"), F.lit(None).alias("subject")))
    return (
        known.withColumn("triggers", F.when(is_first, first).otherwise(F.col("triggers")))
        .withColumn("trigger", F.try_element_at("triggers", F.lit(1))["trigger"])
        .withColumn("trigger_subject", F.try_element_at("triggers", F.lit(1))["subject"])
        .withColumn("before_seen_at", F.col("before.seen_at"))
        .drop("before", "seen_brokers", "silences", "expired", "held")
    )


def held() -> Column:
    """array<queue, owners> of a state's readable queues: `broker:id`, and the owners' ids, sorted, one a line."""
    ids = F.col("members.client_id")

    def entry(queue: Column) -> Column:
        owners = F.array_distinct(F.transform(queue["owners"], lambda position: F.element_at(ids, position + 1)))
        return F.struct(
            F.concat_ws(":", queue["broker_name"], queue["queue_id"]).alias("queue"),
            F.array_join(F.array_sort(owners), "\n").alias("owners"),
        )

    return F.transform(F.filter("ownership", lambda queue: queue["readable"]), entry)


def with_before(intervals: DataFrame) -> DataFrame:
    """Adds `before`, what the last replayed interval of the time line held, and `seen_brokers`: those of all replayed
    intervals that began before.
    """
    now = F.struct("start", "seen_at", F.col("members").alias("members"), "queues", "held")
    replayed = F.when(F.col("status") == "REPLAYED", now)
    of_all = F.when(F.col("membership_view") == ALL_HOSTS, replayed)
    earlier = (Window.unboundedPreceding, -1)
    per_view = Window.partitionBy(*VIEW).orderBy("start").rowsBetween(*earlier)
    per_topic = Window.partitionBy(*GROUP_TOPIC).orderBy("start", "membership_view").rowsBetween(*earlier)
    # By time: a view that begins together with this one has not been before it.
    up_to_now = Window.partitionBy(*GROUP_TOPIC).orderBy(F.unix_micros("start")).rangeBetween(*earlier)
    brokers = F.when(F.col("status") == "REPLAYED", F.array_distinct("queues.broker_name"))
    own, agreed = F.col("own"), F.col("agreed")
    return (
        intervals.withColumn("own", F.last(replayed, ignorenulls=True).over(per_view))
        .withColumn("agreed", F.last(of_all, ignorenulls=True).over(per_topic))
        .withColumn("before", F.when(own["start"] > agreed["start"], own).otherwise(F.coalesce(agreed, own)))
        .withColumn("seen_brokers", F.flatten(F.collect_set(brokers).over(up_to_now)))
        .drop("own", "agreed")
    )


def compared(rows: DataFrame) -> DataFrame:
    """Adds `joined` and `left` (client ids), `triggers` (array<trigger, subject>, in the order of `Trigger`),
    `queues_moved`, `queues_preserved`, `least_moves`, and `handed_over`: moved queues that had an owner.

    Needs `members`, `queues` and `held` as in `before`, `seen_brokers` and `expired` (client ids). All is null where
    one side is.
    """
    return rows.transform(with_passages).transform(with_triggers).transform(_with_moved_queues)


def _with_moved_queues(rows: DataFrame) -> DataFrame:
    """Compares (queue, owners) as text, because Spark looks text up by its hash, and structs one by one."""

    def texts(entries: Column) -> Column:
        return F.transform(entries, lambda one: F.concat_ws("\n", one["queue"], one["owners"]))

    was, now = F.col("before.held"), F.col("held")
    removed = F.array_except(was["queue"], now["queue"])
    stayed = F.filter(was, lambda one: ~F.array_contains(removed, one["queue"]))
    owned = F.filter(stayed, lambda one: one["owners"] != "")
    changed = F.array_except(texts(owned), texts(now))

    def kept_at_most(owners: Column, before: Column) -> Column:
        def least(owner: Column) -> Column:
            return F.least(*(F.size(F.filter(side, lambda one: one == owner)) for side in (owners, before)))

        return F.aggregate(F.array_distinct(owners), F.lit(0), lambda total, owner: total + least(owner))

    return (
        rows.withColumn("both", F.size(stayed))
        .withColumn("queues_preserved", F.size(F.array_intersect(texts(was), texts(now))))
        .withColumn("queues_moved", F.col("both") - F.col("queues_preserved"))
        .withColumn("least_moves", F.col("both") - kept_at_most(now["owners"], stayed["owners"]))
        .withColumn("handed_over", F.transform(changed, lambda one: F.substring_index(one, "\n", 1)))
        .drop("both")
    )
