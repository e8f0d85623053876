"""One interval of one view: its rows as a `IntervalExplanation`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from spark_jobs.domain.model.message_queue import MessageQueue, queue_ranges
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.rocketmq.strategies import AVG, Strategy, StrategySettings
from spark_jobs.domain.rocketmq.variants import variant_of
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
    group: GroupStep, of_topic: Sequence[Row], row: Row, others: Sequence[Row]
) -> IntervalExplanation:
    """The interval `row`, which holds the moment; `of_topic`: all intervals of its topic; `others`: the intervals of
    other views that hold the moment.
    """
    owned = _allocations(group, row)
    progress = {_key(one): one for one in holding(group.progress, group.at) if one["topic"] == row["topic"]}
    start, end = _snapshot_gap(of_topic, row) if _is_unobserved(row) else (row["interval_start"], row["interval_end"])
    return IntervalExplanation(
        **{name: row[name] for name in _AS_PUBLISHED},
        start=start,
        end=end,
        or_earlier=start <= group.step.start,
        or_later=end >= group.step.end,
        began=_began(row),
        members=_members(row, owned, progress),
        missing=sorted(_ids(*others) - _ids(row)),
        queues=queue_ranges(map(_key, row["queues"] or ())),
        arithmetic=_arithmetic(row, group.settings) if row["status"] == Status.REPLAYED else [],
        unassigned=_unassigned(owned, progress),
        double_owned=_double_owned(row, owned, progress),
        last_known=_known(group, last_before(of_topic, group.at), "interval_end") if _is_unobserved(row) else None,
        first_known=_known(group, first_after(of_topic, group.at), "interval_start") if _is_unobserved(row) else None,
    )


_AS_PUBLISHED = ("membership_view", "status", "reason", "strategy", "strategy_source", "queue_count")


def _key(row: Row) -> _Key:
    return row["broker_name"], row["queue_id"]


def _is_unobserved(row: Row) -> bool:
    return bool(row["status"] == Status.UNOBSERVED)


def _ids(*rows: Row) -> set[str]:
    return {member["client_id"] for row in rows for member in row["members"] or ()}


def _allocations(group: GroupStep, row: Row) -> list[Row]:
    same = ("topic", "membership_view", "interval_start")
    return [one for one in group.allocations if all(one[name] == row[name] for name in same)]


def _snapshot_gap(of_topic: Sequence[Row], row: Row) -> tuple[datetime, datetime]:
    """The whole time without an observation: neighbours differ only in what was missing."""
    start, end = row["interval_start"], row["interval_end"]
    unobserved = [one for one in of_topic if _is_unobserved(one)]
    for one in sorted(unobserved, key=lambda one: one["interval_start"], reverse=True):
        start = one["interval_start"] if one["interval_end"] == start else start
    for one in sorted(unobserved, key=lambda one: one["interval_start"]):
        end = one["interval_end"] if one["interval_start"] == end else end
    return start, end


def _began(row: Row) -> IntervalStart:
    triggers = [
        TRIGGERS[one["trigger"]].format(one["subject"]) for one in row["triggers"] or () if one["trigger"] in TRIGGERS
    ]
    counts = {name: row[name] for name in ("queues_moved", "queues_preserved", "least_moves")}
    return IntervalStart(known=row["triggers"] is not None, trigger=row["trigger"], triggers=triggers, **counts)


def _members(row: Row, owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[MemberShare]:
    ids = [member["client_id"] for member in row["members"] or ()]
    queues_of: dict[tuple[str, str | None], list[_Key]] = {}
    for one in owned:
        for owner in one["owners"]:
            queues_of.setdefault((owner["client_id"], owner["client_addr"]), []).append(_key(one))
    return [
        _member(position, member, ids.count(member["client_id"]) > 1, queues, progress)
        for position, member in enumerate(row["members"] or ())
        for queues in [queues_of.get((member["client_id"], member["client_addr"]), [])]
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
        AllocatingMember(one["client_id"], one["client_addr"], _run_by(one, settings), one["subscribes"] is not False)
        for one in row["members"]
    ]
    queues = [MessageQueue(row["topic"], *_key(queue)) for queue in row["queues"]]
    return how_it_was_cut(members, row["topic"], queues)


def _run_by(member: Row, settings: StrategySettings) -> Strategy:
    name = member["strategy"] or AVG
    return settings.named(name, variant_of(name, member["language"], member["version"]))


def _unassigned(owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[UnhealthyQueues]:
    """One per (cause, client id in whose share they lie)."""
    groups: dict[tuple[str, str | None], list[_Key]] = {}
    for row in owned:
        if row["unassigned_cause"]:
            groups.setdefault((row["unassigned_cause"], row["unassigned_client_id"]), []).append(_key(row))
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
        for (cause, client_id), queues in groups.items()
    ]


def _double_owned(row: Row, owned: Sequence[Row], progress: Mapping[_Key, Row]) -> list[UnhealthyQueues]:
    """One per (cause, owners)."""
    places: dict[tuple[str, str | None], list[int]] = {}
    for position, member in enumerate(row["members"] or ()):
        places.setdefault((member["client_id"], member["client_addr"]), []).append(position)
    groups: dict[tuple[str, tuple[int, ...]], list[_Key]] = {}
    for one in owned:
        if one["double_owned_cause"]:
            owners = {place for o in one["owners"] for place in places.get((o["client_id"], o["client_addr"]), ())}
            groups.setdefault((one["double_owned_cause"], tuple(sorted(owners))), []).append(_key(one))
    return [
        UnhealthyQueues(
            queue_ranges(queues), len(queues), cause, DOUBLE_OWNED[cause], None, [*owners], _backlog(queues, progress)
        )
        for (cause, owners), queues in groups.items()
    ]


def _known(group: GroupStep, row: Row | None, nearest: str) -> ObservedNeighbour | None:
    if row is None:
        return None
    same = ("topic", "interval_start")
    progress = [one for one in group.progress if all(one[name] == row[name] for name in same)]
    names = ("status", "reason", "strategy", "member_count", "queue_count", "unassigned_queues", "double_owned_queues")
    return ObservedNeighbour(at=row[nearest], **{name: row[name] for name in names}, backlog=backlog_of(progress))
