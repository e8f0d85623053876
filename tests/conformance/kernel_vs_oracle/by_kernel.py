"""The kernel's answers about one step of a group, and the way from recorded snapshots to its histories."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import IntervalProgress, Moves, RebalanceInterval
from spark_jobs.domain.model.history import UNKNOWN, GroupHistory
from spark_jobs.domain.model.message_queue import MessageQueue, topic_type
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.status.attribution import attribution
from spark_jobs.domain.status.backlog import queue_intervals
from spark_jobs.domain.status.lagging_queues import lagging_queues
from tests.conformance.kernel_vs_oracle.forms import IntervalStart, Line, ProgressLine, Said
from tests.support.gathered import Row
from tests.support.kernel import group_histories
from tests.support.oracle.ownership import QueueOwnership
from tests.support.oracle.piled_up import PiledUp
from tests.support.oracle.progress import Progress
from tests.support.oracle.snapshots import (
    JAVA_5,
    ClientSnapshot,
    Group,
    MembershipSnapshot,
    OffsetSnapshot,
    RouteSnapshot,
    Software,
)
from tests.support.oracle.status import Backlog, Counts
from tests.support.oracle.timeline import of_unknown_strategy


def said(evaluated: EvaluatedStep) -> Said:
    """In the form of the oracle, which counts queues with a known offset only."""
    step, status = evaluated.step, evaluated.status
    queues = queue_intervals(step.progress)
    known = queues.backlog() if status else None
    return Said(
        sorted(map(_line, step.intervals), key=lambda line: line.order),
        sorted(line for progress in step.progress for line in _progress(progress)),
        sorted((begun.moment, begun.interval.topic, begun.interval.start) for begun in step.rebalances),
        Counts(*(getattr(status, name) for name in Counts._fields)) if status else None,
        Backlog(*(getattr(known, name) for name in Backlog._fields)) if known else None,
        {
            growth.topic: growth[1:]
            for growth in (attribution(queues, step.history.offsets, step.window) if status else ())
        },
        {
            (lagging.queue.topic, lagging.queue[1:]): PiledUp(
                lagging.messages,
                lagging.waited,
                tuple((growth.progress.start, growth.messages) for growth in lagging.growths),
            )
            for lagging in lagging_queues(queues, step.history.offsets, step.window, step.settings)
        },
        sorted((queue.topic, queue[1:]) for queue in queues.unknown()),
    )


def _line(interval: RebalanceInterval) -> Line:
    line = Line(interval.topic, interval.view, interval.start, interval.end, interval.status, interval.reason)
    if interval.members is None:
        return line
    began = _began(interval.moves) if interval.moves else None
    line = line._replace(queues=interval.queues or (), began=began)
    allocation = interval.allocation
    if allocation is None:
        return line._replace(members=of_unknown_strategy(member.client_id for member in interval.members))
    return line._replace(
        source=interval.strategy_source,
        members=tuple(
            (member.client_id, member.strategy, member.subscribes, member.variant, member.broadcasts)
            for member in interval.members
        ),
        owned=owned_queues(interval.topic, allocation),
        counts=allocation.counts,
        if_deduplicated=allocation.if_deduplicated,
        if_unique=allocation.if_unique,
    )


def owned_queues(topic: str, allocation: Allocation) -> tuple[QueueOwnership, ...]:
    """The lists of an allocation side by side."""
    lists = zip(
        allocation.queues,
        allocation.owners,
        allocation.unassigned_causes,
        allocation.unassigned_client_ids,
        allocation.double_owned_causes,
        strict=True,
    )
    return tuple(
        QueueOwnership(
            MessageQueue(topic, *place), number < allocation.readable_count, owners, cause, client_id, double
        )
        for number, (place, owners, cause, client_id, double) in enumerate(lists)
    )


def _began(moves: Moves) -> IntervalStart:
    counts = None if moves.moved is None else (moves.moved, moves.preserved, moves.least)
    changed = tuple(sorted(moves.joined)), tuple(sorted(moves.left)), moves.handed_over
    return IntervalStart(tuple((trigger.value, subject) for trigger, subject in moves.triggers), counts, *changed)


def _progress(progress: IntervalProgress) -> Iterable[ProgressLine]:
    columns = [[_known(number) for number in getattr(progress, name)] for name in Progress._fields[:-1]]
    rows = zip(progress.queues, zip(*columns, strict=True), progress.verdicts, strict=True)
    for place, numbers, verdict in rows:
        measured = Progress(*numbers, verdict=verdict)  # type: ignore[misc]
        yield ProgressLine(
            progress.interval.topic, progress.interval.view, progress.start, progress.end, place, measured
        )


def _known(number: np.int64) -> int | None:
    return None if number == UNKNOWN else int(number)


def history_of(group: Group) -> GroupHistory:
    """What was recorded of the group `g`, as the kernel is given it; empty if that is nothing."""
    histories = group_histories(source_rows(group))
    return next((history for history in histories if history.consumer_group == "g"), GroupHistory("c", "g"))


def source_rows(group: Group) -> dict[Table, list[Row]]:
    """The group as rows of the source tables."""
    key = {"cluster": "c", "consumer_group": "g"}
    proxies = {"cluster": "c", "consumer_group": "CID_DefaultHeartBeatSyncerTopic"}
    return {
        MEMBERSHIP_SNAPSHOTS: [
            of_group
            | {"broker_name": snapshot.broker_name, "message_model": snapshot.message_model, **_captured(snapshot)}
            | {"connections": _connections(snapshot.captured_at, snapshot.client_ids, group.software)}
            | {"subscriptions": _subscriptions(snapshot.topics)}
            for of_group, listed in ((key, group.memberships), (proxies, group.proxies))
            for snapshot in listed
        ],
        ROUTE_SNAPSHOTS: [
            {"cluster": "c", "topic": topic, "message_type": topic_type(snapshot.entries), **_captured(snapshot)}
            | {"queues": [entry._asdict() for entry in snapshot.entries]}
            for topic, routes in group.routes.items()
            for snapshot in routes
        ],
        CLIENT_SNAPSHOTS: [
            key
            | snapshot._asdict()
            | _captured(snapshot)
            | {"subscriptions": None if snapshot.topics is None else _subscriptions(snapshot.topics)}
            for snapshot in group.clients
        ],
        OFFSET_SNAPSHOTS: [
            key | {"topic": topic, "offsets": [_entry(*entry) for entry in snapshot.offsets], **_captured(snapshot)}
            for topic, snapshots in group.offsets.items()
            for snapshot in snapshots
        ],
    }


def _captured(snapshot: MembershipSnapshot | RouteSnapshot | ClientSnapshot | OffsetSnapshot) -> dict[str, datetime]:
    return {"captured_at": from_micros(snapshot.captured_at)}


def _connections(at: int, client_ids: Iterable[str], software: Mapping[str, Software]) -> list[dict[str, Any]]:
    """The addresses change from one minute to the next, which is nothing to an allocation."""
    port = 40000 + at // 60_000_000 % 60
    return [
        {"client_id": client_id, "client_addr": f"10.0.0.{number}:{port}", "language": language, "version": version}
        for number, client_id in enumerate(client_ids)
        for language, version in [software.get(client_id, JAVA_5)]
    ]


def _subscriptions(topics: Iterable[str]) -> list[dict[str, Any]]:
    return [{"topic": topic, "expression_type": "TAG", "sub_string": "*", "sub_version": 1} for topic in sorted(topics)]


def _entry(broker: str, queue_id: int, end: int | None, consumed: int | None, stored: int | None) -> dict[str, Any]:
    queue = {"broker_name": broker, "queue_id": queue_id, "broker_offset": end, "last_timestamp": stored}
    return queue | {"consumer_offset": consumed, "pull_offset": consumed}
