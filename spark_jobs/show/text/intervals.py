"""Makes an `IntervalExplanation` of the rows of one interval in one membership view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from spark_jobs.domain.model.message_queue import MessageQueue, queue_ranges
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.rocketmq.strategies import AVG, Strategy, StrategySettings, variant_of
from spark_jobs.show.rows import Row
from spark_jobs.show.text.arithmetic import AllocatingMember, how_it_was_cut
from spark_jobs.show.text.backlog import ViewBacklog, backlog_of
from spark_jobs.show.text.explanation import (
    GroupStep,
    IntervalExplanation,
    IntervalStart,
    MemberShare,
    ObservedNeighbour,
    UnhealthyQueues,
    first_after,
    holding,
    last_before,
)
from spark_jobs.show.text.phrases import DOUBLE_OWNED, TRIGGERS, UNASSIGNED

#: A queue by its broker and number.
_Key = tuple[str, int]


def interval_explanation(
    group: GroupStep, topic_intervals: Sequence[Row], row: Row, other_views: Sequence[Row]
) -> IntervalExplanation:
    """Explains the interval `row`, which contains the moment. `topic_intervals`: all of its topic; `other_views`: the
    intervals of other membership views that contain the moment.
    """
    owned = _allocations(group, row)
    progress = {_key(queue): queue for queue in holding(group.progress, group.at) if queue["topic"] == row["topic"]}
    start, end, before, after = row["interval_start"], row["interval_end"], None, None
    if _is_unobserved(row):
        start, end = _snapshot_gap(topic_intervals, row)
        before, after = last_before(topic_intervals, group.at), first_after(topic_intervals, group.at)
    return IntervalExplanation(
        **{name: row[name] for name in _AS_PUBLISHED},
        start=start,
        end=end,
        or_earlier=start <= group.step.start,
        or_later=end >= group.step.end,
        began=_began(row),
        members=_members(row, owned, progress),
        missing=sorted(_ids(*other_views) - _ids(row)),
        queues=queue_ranges(map(_key, row["queues"] or ())),
        arithmetic=_arithmetic(row, group.settings) if row["status"] == Status.REPLAYED else [],
        unassigned=_unassigned(owned, progress),
        double_owned=_double_owned(row, owned, progress),
        last_known=_neighbour(group, before, "interval_end"),
        first_known=_neighbour(group, after, "interval_start"),
    )


_AS_PUBLISHED = ("membership_view", "status", "reason", "strategy", "strategy_source", "queue_count")


def _key(row: Row) -> _Key:
    return row["broker_name"], row["queue_id"]


def _is_unobserved(row: Row) -> bool:
    return bool(row["status"] == Status.UNOBSERVED)


def _ids(*rows: Row) -> set[str]:
    return {member["client_id"] for row in rows for member in row["members"] or ()}


def _allocations(group: GroupStep, row: Row) -> list[Row]:
    key = ("topic", "membership_view", "interval_start")
    return [allocation for allocation in group.allocations if all(allocation[name] == row[name] for name in key)]


def _snapshot_gap(topic_intervals: Sequence[Row], row: Row) -> tuple[datetime, datetime]:
    """The whole unobserved time around the interval: adjacent unobserved ones differ only in what was missing."""
    start, end = row["interval_start"], row["interval_end"]
    unobserved = [interval for interval in topic_intervals if _is_unobserved(interval)]
    for interval in sorted(unobserved, key=lambda interval: interval["interval_start"], reverse=True):
        start = interval["interval_start"] if interval["interval_end"] == start else start
    for interval in sorted(unobserved, key=lambda interval: interval["interval_start"]):
        end = interval["interval_end"] if interval["interval_start"] == end else end
    return start, end


def _began(row: Row) -> IntervalStart:
    triggers = [
        TRIGGERS[trigger["trigger"]].format(trigger["subject"])
        for trigger in row["triggers"] or ()
        if trigger["trigger"] in TRIGGERS
    ]
    counts = {name: row[name] for name in ("queues_moved", "queues_preserved", "least_moves")}
    return IntervalStart(known=row["triggers"] is not None, trigger=row["trigger"], triggers=triggers, **counts)


def _members(row: Row, owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[MemberShare]:
    ids = [member["client_id"] for member in row["members"] or ()]
    queues_per_owner: dict[tuple[str, str | None], list[_Key]] = {}
    for allocation in owned:
        for owner in allocation["owners"]:
            queues_per_owner.setdefault((owner["client_id"], owner["client_addr"]), []).append(_key(allocation))
    return [
        _member(position, member, ids.count(member["client_id"]) > 1, queues, progress)
        for position, member in enumerate(row["members"] or ())
        for queues in [queues_per_owner.get((member["client_id"], member["client_addr"]), [])]
    ]


def _member(
    position: int, member: Row, twin: bool, queues: Sequence[_Key], progress: Mapping[_Key, Row]
) -> MemberShare:
    names = ("client_id", "client_addr", "language", "version", "strategy", "subscribes")
    return MemberShare(
        **{name: member[name] for name in names},
        position=position,
        twin=twin,
        queues=queue_ranges(queues),
        queue_count=len(queues),
        backlog=_backlog(queues, progress),
    )


def _backlog(queues: Sequence[_Key], progress: Mapping[_Key, Row]) -> ViewBacklog | None:
    return backlog_of([progress[queue] for queue in queues if queue in progress])


def _arithmetic(row: Row, settings: StrategySettings) -> list[str]:
    members = [
        AllocatingMember(
            member["client_id"], member["client_addr"], _run_by(member, settings), member["subscribes"] is not False
        )
        for member in row["members"]
    ]
    queues = [MessageQueue(row["topic"], *_key(queue)) for queue in row["queues"]]
    return how_it_was_cut(members, row["topic"], queues)


def _run_by(member: Row, settings: StrategySettings) -> Strategy:
    name = member["strategy"] or AVG
    return settings.named(name, variant_of(name, member["language"], member["version"]))


def _unassigned(owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[UnhealthyQueues]:
    """One per (cause, client id in whose share they lie)."""
    queues_per_cause: dict[tuple[str, str | None], list[_Key]] = {}
    for row in owned:
        if row["unassigned_cause"]:
            queues_per_cause.setdefault((row["unassigned_cause"], row["unassigned_client_id"]), []).append(_key(row))
    return [
        UnhealthyQueues(
            queue_ranges(queues),
            len(queues),
            cause,
            UNASSIGNED[cause].format(client_id),
            client_id,
            [],
            _backlog(queues, progress),
        )
        for (cause, client_id), queues in queues_per_cause.items()
    ]


def _double_owned(row: Row, owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[UnhealthyQueues]:
    """One per (cause, owners)."""
    positions: dict[tuple[str, str | None], list[int]] = {}
    for position, member in enumerate(row["members"] or ()):
        positions.setdefault((member["client_id"], member["client_addr"]), []).append(position)
    queues_per_cause: dict[tuple[str, tuple[int, ...]], list[_Key]] = {}
    for allocation in owned:
        if allocation["double_owned_cause"]:
            owners = {
                position
                for owner in allocation["owners"]
                for position in positions.get((owner["client_id"], owner["client_addr"]), ())
            }
            cause = (allocation["double_owned_cause"], tuple(sorted(owners)))
            queues_per_cause.setdefault(cause, []).append(_key(allocation))
    return [
        UnhealthyQueues(
            queue_ranges(queues), len(queues), cause, DOUBLE_OWNED[cause], None, [*owners], _backlog(queues, progress)
        )
        for (cause, owners), queues in queues_per_cause.items()
    ]


def _neighbour(group: GroupStep, row: Row | None, nearest: str) -> ObservedNeighbour | None:
    if row is None:
        return None
    key = ("topic", "interval_start")
    progress = [reading for reading in group.progress if all(reading[name] == row[name] for name in key)]
    names = ("status", "reason", "strategy", "member_count", "queue_count", "unassigned_queues", "double_owned_queues")
    return ObservedNeighbour(at=row[nearest], **{name: row[name] for name in names}, backlog=backlog_of(progress))
