"""One view of one topic as lines of plain English."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, IS_DELETED, WITHOUT_ROUTE, Reason, Status, Trigger
from spark_jobs.domain.phrases import count, joined_names
from spark_jobs.domain.rocketmq.strategies import StrategySource
from spark_jobs.show.text.backlog import backlog_text
from spark_jobs.show.text.explanation import (
    IntervalExplanation,
    IntervalStart,
    MemberShare,
    ObservedNeighbor,
    UnhealthyQueues,
)
from spark_jobs.show.text.phrases import REASONS, positions_text

_SOURCES: Mapping[str, str] = {
    StrategySource.CLIENT: "as reported by the clients",
    StrategySource.CONFIGURATION: "as configured",
    StrategySource.OBSERVED: "as the queues that clients report show",
}


class TextLine(NamedTuple):
    """One line of text; `indent`: levels; `part`: title, heading, advice, a severity, or empty."""

    text: str
    indent: int
    part: str = ""


def interval_lines(view: IntervalExplanation) -> Iterator[TextLine]:
    """Lines about the interval that contains the moment, as this membership view lists the members."""
    if view.status == Status.UNOBSERVED:
        yield from _gap(view)
        return
    start, end = _bounds(view)
    yield TextLine(f"Unchanged from {start} to {end} ({duration_text(view.end - view.start)}).", 1)
    yield TextLine(_began(view.began) if view.status == Status.REPLAYED else _not_replayed(view), 1)
    yield from _members(view)
    if view.queue_count is not None:
        yield TextLine(f"{count(view.queue_count, 'queue')}, as clients sort them: {view.queues or 'none'}", 1)
    if view.status == Status.REPLAYED:
        yield from _cut(view)
        yield from _owned(view)


def _bounds(view: IntervalExplanation) -> tuple[str, str]:
    earlier = " or earlier (the step begins there)" if view.or_earlier else ""
    later = " or later (the step ends there)" if view.or_later else ""
    return f"{format_utc(view.start)}{earlier}", f"{format_utc(view.end)}{later}"


def _began(began: IntervalStart) -> str:
    if began.trigger_type == Trigger.FIRST_OBSERVATION:
        return "This is the first interval that was recorded, so its trigger is unknown."
    if not began.known:
        return "Its trigger is unknown: the interval began before this step."
    if not began.triggers:
        return "Nothing differs from the interval before it."
    return f"It began because {joined_names(began.triggers)}. {_moved(began)}".strip()


def _not_replayed(view: IntervalExplanation) -> str:
    began = f" It began because {joined_names(view.began.triggers)}." if view.began.triggers else ""
    return f"{REASONS[view.reason or '']}{began}"


def _moved(began: IntervalStart) -> str:
    if began.queues_moved is None or began.queues_preserved is None:
        return ""
    if not began.queues_moved:
        return "No queue changed owner."
    changed = f"{began.queues_moved:,} of {count(began.queues_moved + began.queues_preserved, 'queue')} changed owner"
    if began.minimum_moves == began.queues_moved:
        return f"{changed}, the minimum for this allocation."
    return f"{changed}; {began.minimum_moves or 0:,} would have been enough for this allocation."


def _members(view: IntervalExplanation) -> Iterator[TextLine]:
    members = view.members
    if not members:
        for proxy, client_ids in view.proxies.items():
            named = f": {', '.join(client_ids)}" if client_ids else ""
            yield TextLine(f"The {proxy} lists {count(len(client_ids), 'member')}{named}.", 1)
        if view.reason not in (*IS_DELETED, *CONSUMED_UNSEEN, *WITHOUT_ROUTE) and not any(view.proxies.values()):
            yield TextLine("No member was connected.", 1)
        return
    ids = len({member.client_id for member in members})
    shared = f" with {count(ids, 'client id')}" if ids < len(members) else ""
    yield TextLine(f"{count(len(members), 'member')}{shared}, as clients sort them:", 1)
    mixed = len({member.strategy for member in members}) > 1
    for member in members:
        yield TextLine(_member(member, view, mixed), 2)
    if view.missing:
        yield TextLine(f"Listed by other brokers only: {', '.join(view.missing)}", 1)


def _member(member: MemberShare, view: IntervalExplanation, mixed: bool) -> str:
    shared_positions = [
        share.position for share in view.members if share.client_id == member.client_id and share is not member
    ]
    is_idle = member.subscribes is False and view.reason != Reason.BROADCASTING  # in which every member has all queues
    marks = [
        *([f"shares its client id with {positions_text(shared_positions)}"] if shared_positions else []),
        *(["does not consume this topic for the group"] if is_idle else []),
        *([f"uses {member.strategy}"] if mixed else []),
    ]
    remarks = f" ({', '.join(marks)})" if marks else ""
    return f"{member.position}  {member.client_id}  {member.client_addr or 'address unknown'}{remarks}"


def _cut(view: IntervalExplanation) -> Iterator[TextLine]:
    if not view.members:
        return
    if view.strategy is None:
        yield TextLine("No strategy with the known settings explains the queues that the members report.", 1)
        return
    name = "Different strategies" if view.strategy == "MIXED" else f"Strategy {view.strategy}"
    yield TextLine(f"{_named(name, view.strategy_source)}:", 1)
    if view.strategy_alternatives:
        yield TextLine(f"That is ambiguous: {joined_names(view.strategy_alternatives)} would explain them, too.", 2)
    for sentence in view.arithmetic:
        yield TextLine(sentence, 2)


def _named(strategy: str, source: str | None) -> str:
    if source == StrategySource.DEFAULT:
        return (
            f"If it is {strategy.removeprefix('Strategy ')}: neither clients nor the configuration name the strategy, "
            "and no client reports its queues"
        )
    return f"{strategy}, {_SOURCES.get(source or '', 'of unknown source')}"


def _owned(view: IntervalExplanation) -> Iterator[TextLine]:
    if view.settled_at is not None:
        settled = f"Until {format_utc(view.settled_at)} members may have had the former queues"
        yield TextLine(f"{settled}: they ask for the route every 30 s, and rebalance within 20 s more.", 1)
    yield TextLine("Owners and backlogs, in messages from the first to the last sample:", 1)
    for member in view.members:
        if member.queues:
            owned = f"Index {member.position} owned {member.queues} ({count(member.queue_count, 'queue')})."
            yield TextLine(f"{owned} {backlog_text(member.backlog)}", 2)
        else:
            yield TextLine(f"Index {member.position} owned no queue.", 2)
    for unhealthy in view.unassigned:
        owned = f"No member owned {unhealthy.queues} ({count(unhealthy.queue_count, 'queue')}): {unhealthy.why}."
        yield TextLine(f"{owned} {backlog_text(unhealthy.backlog, owned=False)}", 2, "odd")
    for unhealthy in view.double_owned:
        yield TextLine(_shared(unhealthy), 2, "" if unhealthy.cause == DoubleOwnedCause.POP_SHARED else "odd")


def _shared(unhealthy: UnhealthyQueues) -> str:
    queues = f"{unhealthy.queues} ({count(unhealthy.queue_count, 'queue')})"
    if unhealthy.cause == DoubleOwnedCause.POP_SHARED:
        return f"{queues} could be popped by {positions_text(unhealthy.owners)}: {unhealthy.why}."
    owners = positions_text(unhealthy.owners)
    return (
        f"{queues} had {len(unhealthy.owners)} owners, {owners}, and each of them consumed every "
        f"message: {unhealthy.why}."
    )


def _gap(view: IntervalExplanation) -> Iterator[TextLine]:
    start, end = _bounds(view)
    reason = REASONS[view.reason or ""]
    yield TextLine(f"There are no snapshots from {start} to {end}, so at this moment {reason} is known.", 1)
    before, after = view.last_known, view.first_known
    yield TextLine(
        f"Last known, until {_neighbor_text(before)}" if before else "This step has no known state before that.", 1
    )
    yield TextLine(
        f"First known again, from {_neighbor_text(after)}" if after else "This step has no known state after that.", 1
    )


def _neighbor_text(neighbor: ObservedNeighbor) -> str:
    at = format_utc(neighbor.at)
    members, queues = count(neighbor.member_count or 0, "member"), count(neighbor.queue_count or 0, "queue")
    if neighbor.status != Status.REPLAYED:
        return f"{at}: {members}, {queues}. {REASONS[neighbor.reason or '']}"
    by = f" by {neighbor.strategy}" if neighbor.strategy else ""
    unassigned, double_owned = neighbor.unassigned_queues or 0, neighbor.double_owned_queues or 0
    text = f"{at}: {members}, {queues}{by}; {unassigned:,} without owner, {double_owned:,} with several owners."
    return f"{text} {backlog_text(neighbor.backlog, owned=False)}" if neighbor.backlog else text
