"""One allocation, given to plain Python and to Spark: who owns which queue, in one form for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.message_queue import MessageQueue, RouteEntry, java_order
from spark_jobs.domain.ownership import Member, ownership
from spark_jobs.domain.strategies import Strategy
from spark_jobs.replay.java import sorted_by
from spark_jobs.replay.ownership import with_ownership
from spark_jobs.replay.queues import with_queues

SETTINGS = (
    "struct<strategy: string, virtual_node_count: int, rooms: array<string>, broker_room: string, client_room: string, "
    "config_queues: array<struct<client: string, topic: string, broker: string, queues: array<int>>>>"
)
_SCHEMA = f"""
    number int, topic string,
    members array<struct<client_id: string, client_addr: string, strategy: string, subscribes: boolean>>,
    route struct<queues: array<struct<broker_name: string, perm: int, read_queue_nums: int, write_queue_nums: int>>>,
    settings {SETTINGS}
"""


class Allocation(NamedTuple):
    """Members and route in any order; their strategies differ in the name only, and have these settings."""

    topic: str
    members: tuple[Member, ...]
    route: tuple[RouteEntry, ...]
    settings: Strategy

    @property
    def size(self) -> int:
        return len(self.members) + sum(max(entry.read_queue_nums, entry.write_queue_nums) for entry in self.route)


class Owned(NamedTuple):
    """One queue: the addresses of the connections that own it."""

    owners: tuple[str, ...]
    readable: bool
    unassigned: tuple[str | None, str | None]
    double_owned: str | None


Outcome = dict[MessageQueue, Owned]


def settings_row(settings: Strategy, strategy: str | None = None) -> tuple[Any, ...]:
    """The settings as a row of the type `SETTINGS`."""
    lists = [(one.client, one.topic, one.broker_name, list(one.queue_ids)) for one in settings.config_queues]
    rooms = None if settings.rooms is None else sorted(settings.rooms)
    return strategy, settings.virtual_node_cnt, rooms, settings.broker_room, settings.client_room, lists


def by_domain(allocation: Allocation) -> Outcome:
    """What plain Python says."""
    members = sorted(allocation.members, key=lambda one: (java_order(one.client_id), one.client_addr))
    return {
        one.queue: Owned(
            tuple(sorted(str(members[position].client_addr) for position in one.owners)),
            one.readable,
            (one.unassigned_cause, one.unassigned_client_id),
            one.double_owned_cause,
        )
        for one in ownership(allocation.topic, members, allocation.route)
    }


def by_spark(spark: SparkSession, allocations: Sequence[Allocation]) -> list[Outcome]:
    """What Spark says, of all of them in one job."""
    rows = [
        (
            number,
            one.topic,
            [(m.client_id, m.client_addr, m.strategy.name, m.subscribes) for m in one.members],
            ([tuple(entry) for entry in one.route],),
            settings_row(one.settings),
        )
        for number, one in enumerate(allocations)
    ]
    replayed = (
        spark.createDataFrame(rows, _SCHEMA)
        .withColumn("members", sorted_by(F.col("members"), text="client_id", then="client_addr"))
        .transform(with_queues)
        .transform(with_ownership)
        .select("number", "topic", "members.client_addr", "ownership")
    )
    outcomes = {row.number: _outcome(row) for row in replayed.collect()}
    return [outcomes[number] for number in range(len(rows))]


def _outcome(row: Row) -> Outcome:
    owned = {
        MessageQueue(row.topic, queue.broker_name, queue.queue_id): Owned(
            tuple(sorted(row.client_addr[position] for position in queue.owners)),
            queue.readable,
            (queue.unassigned_cause, queue.unassigned_client_id),
            queue.double_owned_cause,
        )
        for queue in row.ownership
    }
    assert len(owned) == len(row.ownership), "a queue is there twice"
    return owned
