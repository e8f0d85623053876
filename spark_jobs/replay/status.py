"""Whether a span can be replayed, and if not, why."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.strategies import CONFIG, MACHINE_ROOM, MACHINE_ROOM_NEARBY, POP
from spark_jobs.domain.timeline import Reason, Status
from spark_jobs.replay.inputs import row_inputs
from spark_jobs.replay.members import UNKNOWN
from spark_jobs.replay.rooms import is_unresolvable


def with_status(views: DataFrame) -> DataFrame:
    """Adds `status` and `reason`: of the reasons not to replay a span, the first in the order of `Reason`.

    Needs the flags `is_subscribed` (somebody's subscriptions name the topic), `is_broadcasting`, `is_broker_assigned`.
    """
    holds = _conditions()
    statuses = (F.when(F.col("reason") == reason.value, reason.status.value) for reason in Reason)
    return views.withColumn(
        "reason", F.coalesce(*(F.when(holds[reason], reason.value) for reason in Reason))
    ).withColumn("status", F.coalesce(*statuses, F.lit(Status.REPLAYED.value)))


def _conditions() -> dict[Reason, Column]:
    """When each reason applies, given that none before it does."""
    somebody = F.size("members") > 0
    nobody_subscribes = F.forall("members", lambda m: m["known"] & ~m["subscribes"])
    configured_pop = F.coalesce(F.col("settings.strategy") == POP, F.lit(False))
    return {
        Reason.NO_ROUTE_SNAPSHOT: F.col("route.queues").isNull(),
        Reason.NO_ROUTE: F.size("route.queues") == 0,
        Reason.NO_MEMBERSHIP_SNAPSHOT: F.col("members").isNull(),
        Reason.BROADCASTING: F.col("is_broadcasting"),
        Reason.BROKER_REBALANCE: F.col("is_broker_assigned") | configured_pop,
        Reason.NOT_SUBSCRIBED: somebody & (~F.col("is_subscribed") | nobody_subscribes),
        Reason.NO_READABLE_QUEUE: somebody & (F.size("queues") == 0),
        Reason.UNKNOWN_STRATEGY: F.exists("members", lambda m: m["strategy"] == UNKNOWN),
        Reason.SETTINGS_MISSING: F.exists("members", lambda m: _settings_missing(m["strategy"])),
        Reason.ROOM_UNRESOLVABLE: _runs_nearby() & is_unresolvable(row_inputs()),
    }


def _settings_missing(strategy: Column) -> Column:
    """Whether a strategy cannot be replayed for want of rooms, room patterns, inner strategy or queue lists."""
    settings = F.col("settings")
    patterns_missing = settings["broker_room"].isNull() | settings["client_room"].isNull()
    return (
        ((strategy == MACHINE_ROOM) & _is_empty(settings["rooms"]))
        | (strategy == MACHINE_ROOM_NEARBY)
        | (strategy.startswith(MACHINE_ROOM_NEARBY) & patterns_missing)
        | ((strategy == CONFIG) & _is_empty(settings["config_queues"]))
    )


def _is_empty(array: Column) -> Column:
    return F.coalesce(F.size(array), F.lit(0)) == 0


def _runs_nearby() -> Column:
    return F.exists("members", lambda m: m["strategy"].startswith(MACHINE_ROOM_NEARBY))
