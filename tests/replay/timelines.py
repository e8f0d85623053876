"""Recorded fleets, given to plain Python and to Spark: their rebalance intervals, in one form for both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.intervals import EPOCH
from spark_jobs.domain.snapshots import ClientSnapshot, MembershipSnapshot
from spark_jobs.domain.timeline import RebalanceInterval
from spark_jobs.jobs.audit import keep
from spark_jobs.replay.history import changes, rebalance_intervals
from spark_jobs.replay.settings import group_settings
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.steps import StepWindow
from tests.replay.configured import CONFIGURATION, STEP
from tests.replay.histories import Case, Key
from tests.replay.random_fleets import RUN, Fleet

WINDOW = StepWindow(RUN, STEP, CONFIGURATION.warm_up, CONFIGURATION.look_back)


class Line(NamedTuple):
    """One interval; members and queues only where it was replayed."""

    start: datetime
    end: datetime
    view: str
    status: str
    reason: str | None
    source: str | None
    members: tuple[tuple[str, str, bool], ...]
    queues: tuple[tuple[str, int, str | None], ...]


Timelines = dict[Key, list[Line]]


def by_domain(cases: Iterable[Case], *, clipped_to_step: bool = False) -> Timelines:
    """What plain Python says of every case; those without intervals are left out."""
    found = ((case.key, case.clipped if clipped_to_step else case.intervals) for case in cases)
    return {key: sorted(map(_line, intervals)) for key, intervals in found if intervals}


def _line(one: RebalanceInterval) -> Line:
    queues = tuple(sorted((q.queue.broker_name, q.queue.queue_id, q.unreadable or "") for q in one.queues))
    members = tuple((member.client_id, member.strategy, member.subscribes) for member in one.members)
    return Line(one.start, one.end, one.view, one.status, one.reason or "", one.strategy_source or "", members, queues)


def by_spark(intervals: DataFrame) -> Timelines:
    """The same of the intervals that Spark found."""
    found: Timelines = defaultdict(list)
    for row in utc_rows(intervals, "step_start", "start", "end"):
        found[Key(row["cluster"], row["consumer_group"], row["topic"], row["step_start"])].append(_spark_line(row))
    return {key: sorted(lines) for key, lines in found.items()}


def _spark_line(row: dict[str, Any]) -> Line:
    replayed = row["status"] == "REPLAYED"
    source = row["source"] if replayed else ""
    head = (row["start"], row["end"], row["membership_view"], row["status"], row["reason"] or "", source)
    if not replayed:
        return Line(*head, (), ())
    queues = [(q.broker_name, q.queue_id, "") for q in row["queues"]]
    queues += [(q.broker_name, q.queue_id, q.cause) for q in row["unreadable"]]
    members = tuple((m.client_id, m.strategy, m.subscribes) for m in row["members"])
    return Line(*head, members, tuple(sorted(queues)))


def utc_rows(frame: DataFrame, *times: str) -> Iterator[dict[str, Any]]:
    """The rows, in which these timestamps are aware of being UTC."""
    in_micros = frame.withColumns({name: F.unix_micros(name) for name in times})
    for row in in_micros.collect():
        known = ((name, row[name]) for name in times)
        yield {
            **row.asDict(),
            **{name: None if at is None else EPOCH + timedelta(microseconds=at) for name, at in known},
        }


def intervals_of(recorded: Sources) -> DataFrame:
    """The rebalance intervals of all steps, with their warm-up."""
    found = changes(recorded, WINDOW, CONFIGURATION.max_gap, keep)
    return rebalance_intervals(found, WINDOW, CONFIGURATION.cadence, group_settings(CONFIGURATION), keep)


def sources(spark: SparkSession, fleets: Iterable[Fleet]) -> Sources:
    """The snapshots as source tables; every twentieth row is there twice."""
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for fleet in fleets:
        for name, row in _rows(fleet):
            rows[name].append(row)
            if len(rows[name]) % 20 == 0:
                rows[name].append(row)

    def frame(table: Table) -> DataFrame:
        schema = StructType([table.schema[name] for name in table.columns])
        return spark.createDataFrame(rows[table.name], schema)

    tables = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, OFFSET_SNAPSHOTS, CLIENT_SNAPSHOTS)
    return Sources(*map(frame, tables))


def _rows(fleet: Fleet) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for group, memberships in fleet.memberships.items():
        for membership in memberships:
            yield MEMBERSHIP_SNAPSHOTS.name, (fleet.cluster, group, *_membership(membership))
    for group, clients in fleet.clients.items():
        for client in clients:
            yield CLIENT_SNAPSHOTS.name, (fleet.cluster, group, *_client(client))
    for topic, routes in fleet.routes.items():
        for route in routes:
            yield ROUTE_SNAPSHOTS.name, (fleet.cluster, topic, route.captured_at, list(route.entries))
    for (group, topic), snapshots in fleet.offsets.items():
        for moment, offsets in snapshots:
            yield OFFSET_SNAPSHOTS.name, (fleet.cluster, group, topic, moment, list(offsets))


def _membership(one: MembershipSnapshot) -> tuple[Any, ...]:
    """The addresses change from one minute to the next, which is nothing to an allocation."""
    port = 40000 + one.captured_at.minute
    connections = [(client_id, f"10.0.0.{n}:{port}", "JAVA", 493) for n, client_id in enumerate(one.client_ids)]
    return one.broker_name, one.captured_at, one.message_model, None, None, connections, _subscriptions(one.topics)


def _client(one: ClientSnapshot) -> tuple[Any, ...]:
    subscriptions = None if one.topics is None else _subscriptions(one.topics)
    mode = (one.strategy_class, None, None, one.client_rebalance, None, None)
    return one.client_id, one.captured_at, one.answered, *mode, subscriptions, None, None


def _subscriptions(topics: Iterable[str]) -> list[tuple[str, str, str, int]]:
    return [(topic, "TAG", "*", 1) for topic in topics]
