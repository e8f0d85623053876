"""The rebalance intervals of one audit step: every moment at which anything was captured is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import RouteQueue, all_queues
from spark_jobs.domain.model.statuses import Reason, Status
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, shares
from spark_jobs.domain.rocketmq.strategies import POP, StrategySettings, Variant
from tests.support.oracle.members import Resolved, group_source, known_at, resolve_strategies, variant_of
from tests.support.oracle.snapshots import JAVA_5, ClientSnapshot, Group, Software, StepWindow
from tests.support.oracle.unseen import unseen_times
from tests.support.oracle.views import AGREED, Observation, Span, observed_spans

#: Somebody consumes whom no broker lists.
UNSEEN = (Reason.CONSUMED_THROUGH_PROXY, Reason.CONSUMED_BY_UNSEEN)
#: Brokers hand out the messages of all queues.
HANDED_OUT = (Reason.BROKER_REBALANCE, Reason.POP_ALL_QUEUES)
#: Somebody consumes, and nobody knows who has which queue.
WITHOUT_OWNERS = (
    *(*UNSEEN, *HANDED_OUT, Reason.BROKER_LACKS_STRATEGY),
    *(Reason.UNKNOWN_STRATEGY, Reason.SETTINGS_MISSING, Reason.ROOM_UNRESOLVABLE),
)


def status_of(reason: Reason) -> Status:
    """UNOBSERVED: not seen; NOT_APPLICABLE: no client owns queues; NOT_REPLAYABLE: all others."""
    if reason in (Reason.NO_ROUTE_SNAPSHOT, Reason.NO_MEMBERSHIP_SNAPSHOT):
        return Status.UNOBSERVED
    if reason in (Reason.LITE, Reason.BROADCASTING, Reason.BROKER_REBALANCE, Reason.NOT_SUBSCRIBED, *UNSEEN):
        return Status.NOT_APPLICABLE
    return Status.NOT_REPLAYABLE


class IntervalMember(NamedTuple):
    """One connection of a view, in allocation order."""

    client_id: str
    strategy: str
    subscribes: bool
    variant: Variant = Variant.JAVA
    broadcasts: bool = False


@dataclass(frozen=True)
class RebalanceInterval:
    """One maximal span of a view in which nothing changes; members and queues as sorted. Where it is not replayed, the
    members' ids, and the readable queues; nothing, where no broker said who is there (`listed`). `hidden`: the queues
    of a route of which none is readable.

    `strategy_source` is that of the span's beginning.
    """

    view: str
    start: int
    end: int
    status: Status
    reason: Reason | None = None
    strategy_source: str | None = None
    members: tuple[IntervalMember, ...] = ()
    queues: tuple[RouteQueue, ...] = ()
    listed: bool = True
    hidden: tuple[tuple[str, int], ...] = ()

    def continues(self, earlier: RebalanceInterval) -> bool:
        """Whether it is one interval with what ended where it starts."""
        return earlier.end == self.start and self == replace(
            earlier, start=self.start, end=self.end, strategy_source=self.strategy_source
        )


def rebalance_intervals(group: Group, topic: str, window: StepWindow) -> list[RebalanceInterval]:
    """One per (view, maximal span) over the replayed time, by start and view; `clip` gives those of the step.

    Empty where nothing in the window connects the group with the topic: no subscription and no offsets.
    """
    seen = group.seen_in(window)
    if topic not in seen.subscribed and not seen.offsets.get(topic):
        return []
    return sorted(_merged(_segments(seen, topic, window)), key=lambda interval: (interval.start, interval.view))


def clip(intervals: Iterable[RebalanceInterval], step_start: int) -> list[RebalanceInterval]:
    """The parts of the intervals inside the step, in their order."""
    return [
        replace(interval, start=max(interval.start, step_start)) for interval in intervals if interval.end > step_start
    ]


def _segments(group: Group, topic: str, window: StepWindow) -> Iterator[RebalanceInterval]:
    """In the order of time: every observed span, cut where a client's answer may change what is known, and where
    somebody unseen begins or ceases to consume.
    """
    unseen = unseen_times(group, window)
    changes = {snapshot.captured_at for snapshot in group.clients} | {edge for time, _ in unseen for edge in time}
    for span in observed_spans(group, topic, window):
        cuts = sorted({span.start, span.end} | {at for at in changes if span.start < at < span.end})
        for start, end in pairwise(cuts):
            by_whom = next((Reason(reason) for time, reason in unseen if time[0] <= start < time[1]), None)
            types = {entry.topic_type for entry in span.value.route or ()}
            by_type = {"STATIC": Reason.STATIC_TOPIC, "LITE": Reason.LITE}.get(types.pop() or "") if types else None
            for view, client_ids, broadcasts in span.value.views or ((AGREED, (), False),):
                known = [known_at(group.clients, client_id, start) for client_id in client_ids]
                is_cast = _all_broadcast([state and state.message_model for state in known], broadcasts)
                mode = Reason.BROADCASTING if is_cast else _by_broker(group, client_ids, start) or by_whom
                piece = Span(start, end, span.value)
                yield _segment(group, topic, piece, view, client_ids, by_type or mode)


def _all_broadcast(models: Sequence[str | None], by_broker: bool) -> bool:
    """`models`: what each member said last; who said nothing is as the broker says."""
    believed = [model or ("BROADCASTING" if by_broker else "CLUSTERING") for model in models]
    return "CLUSTERING" not in believed and (bool(believed) or by_broker)


def _merged(segments: Iterable[RebalanceInterval]) -> list[RebalanceInterval]:
    merged: list[RebalanceInterval] = []
    last: dict[str, int] = {}
    for segment in segments:
        place = last.get(segment.view)
        if place is not None and segment.continues(merged[place]):
            merged[place] = replace(merged[place], end=segment.end)
        else:
            last[segment.view] = len(merged)
            merged.append(segment)
    return merged


def _segment(
    group: Group, topic: str, piece: Span[Observation], view: str, client_ids: tuple[str, ...], mode: Reason | None
) -> RebalanceInterval:
    (start, end, observed), configured = piece, group.configured
    known = [known_at(group.clients, client_id, start) for client_id in client_ids]
    everybody = sorted({snapshot.client_id for snapshot in group.clients})
    elsewhere = [state.strategy_class for each in everybody if (state := known_at(group.clients, each, start))]
    software = [group.software.get(client_id, JAVA_5) for client_id in client_ids]
    classes = [
        (state.strategy_class if state else None) or _class_of(by) for state, by in zip(known, software, strict=True)
    ]
    resolved = resolve_strategies(classes, None if configured.strategy == POP else configured.strategy, elsewhere)
    queues = tuple(all_queues(topic, observed.route or ()))
    reason = (
        _unobserved(observed)
        or mode
        or _not_subscribed(group, topic, known)
        or _not_replayable(queues, client_ids, resolved, software, configured)
    )
    if reason and not observed.views:
        return RebalanceInterval(view, start, end, status_of(reason), reason, listed=False)
    if reason:
        readable = tuple(queue for queue in queues if queue.unreadable is None)
        unknown = of_unknown_strategy(client_ids)
        is_hidden = reason == Reason.NO_READABLE_QUEUE
        hidden = tuple((one.queue.broker_name, one.queue.queue_id) for one in queues) if is_hidden else ()
        return RebalanceInterval(
            view, start, end, status_of(reason), reason, members=unknown, queues=readable, hidden=hidden
        )
    members = tuple(
        IntervalMember(client_id, name, _subscribes(state, topic), variant_of(name, by), _broadcasts(state))
        for client_id, resolution, state, by in zip(client_ids, resolved, known, software, strict=True)
        if (name := resolution.strategy)
    )
    source = group_source(resolved, configured.strategy)
    return RebalanceInterval(view, start, end, Status.REPLAYED, None, source, members, queues)


def _subscribes(state: ClientSnapshot | None, topic: str) -> bool:
    """Return True if it consumes the topic for the group, as far as is known: who broadcasts does not."""
    return state is None or (not _broadcasts(state) and (state.topics is None or topic in state.topics))


def _broadcasts(state: ClientSnapshot | None) -> bool:
    return state is not None and state.message_model == "BROADCASTING"


def _class_of(software: Software) -> str | None:
    """C++ clients have one strategy."""
    return "AllocateMessageQueueAveragely" if software[0] in ("CPP", "PYTHON") else None


def of_unknown_strategy(client_ids: Iterable[str]) -> tuple[IntervalMember, ...]:
    """Members of which only the ids are known."""
    return tuple(IntervalMember(client_id, "?", True) for client_id in client_ids)


def _unobserved(observed: Observation) -> Reason | None:
    if observed.route is None:
        return Reason.NO_ROUTE_SNAPSHOT
    if not observed.route:
        return Reason.NO_ROUTE
    return None if observed.views else Reason.NO_MEMBERSHIP_SNAPSHOT


def _by_broker(group: Group, client_ids: tuple[str, ...], at: int) -> Reason | None:
    """The broker assigns queues to a member; where there is none, to any client that was heard of."""
    asked = client_ids or tuple({snapshot.client_id for snapshot in group.clients})
    known = [known_at(group.clients, client_id, at) for client_id in asked]
    by_broker = any(state is not None and state.client_rebalance is False for state in known)
    grpc = any(_is_grpc(client_id.split("@")) for client_id in client_ids)
    return Reason.BROKER_REBALANCE if by_broker or grpc or group.configured.strategy == POP else None


def _is_grpc(parts: list[str]) -> bool:
    """Host, pid, number, and nanoseconds in base 36."""
    return len(parts) == 4 and parts[1].isdigit() and parts[2].isdigit() and parts[3].isalnum() and parts[3].islower()


def _not_subscribed(group: Group, topic: str, known: Sequence[ClientSnapshot | None]) -> Reason | None:
    """`known`: what each member said last."""
    nobody_subscribes = not any(_subscribes(state, topic) for state in known)
    return Reason.NOT_SUBSCRIBED if known and (nobody_subscribes or topic not in group.subscribed) else None


def _not_replayable(
    queues: Sequence[RouteQueue],
    client_ids: tuple[str, ...],
    resolved: list[Resolved],
    software: Sequence[Software],
    configured: StrategySettings,
) -> Reason | None:
    if not client_ids:
        return None
    readable = [queue.queue for queue in queues if queue.unreadable is None]
    if not readable:
        return Reason.NO_READABLE_QUEUE
    names = [resolution.strategy for resolution in resolved]
    strategies = {
        configured.named(name, variant_of(name, by)) for name, by in zip(names, software, strict=True) if name
    }
    if None in names:
        return Reason.UNKNOWN_STRATEGY
    if any(strategy.settings_missing for strategy in strategies):
        return Reason.SETTINGS_MISSING
    try:
        for strategy in strategies:
            shares(strategy, readable, client_ids)
    except KeepsAllocation:
        return Reason.ROOM_UNRESOLVABLE
    return None
