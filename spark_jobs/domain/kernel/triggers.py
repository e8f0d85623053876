"""Why each rebalance interval began, and what that moved: every interval compared with the one before it. One change
of a group begins intervals of all its topics, each when its own brokers were asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile

import numpy as np

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Moves, Rebalance, RebalanceInterval, Switch
from spark_jobs.domain.model.history import ClientHistory, Place, Serving
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import SECOND, AuditSettings, StepWindow, Time

#: The client ids whose connections had expired, of those that left at that time (`expired_at`).
ExpiredAt = Callable[[int, Collection[str]], frozenset[str]]
#: The brokers that another process began to serve around that time.
SwitchedAt = Callable[[int], set[str]]
#: The brokers, queues or client ids that changed, by what they triggered.
Subjects = dict[Trigger, set[str]]


def switches(serving: Series[Serving | None], window: StepWindow, absences: Sequence[Time] = ()) -> list[Switch]:
    """The switches of a topic's brokers inside the window, in order, except in `absences` of the topic.

    They begin no interval (`MQClientInstance.updateTopicRouteInfoFromNameServer`): queues stay the same.
    """
    if len(serving.states) < 2:  # as mostly
        return []
    inside = serving.inside(window.read_from, window.end)
    times, codes = serving.times[inside], serving.codes[inside]
    broker_switches: list[Switch] = []
    for place in np.flatnonzero(np.diff(codes)).tolist():
        before, after = (serving.states[code] for code in codes[place : place + 2])
        if before is not None and after is not None:
            old, new = dict(before), dict(after)
            seen_at = int(times[place]), int(times[place + 1])
            is_gone = any(start <= at < end for start, end in absences for at in seen_at)
            moved = [] if is_gone else sorted({name for name, _ in before ^ after})
            broker_switches += [Switch(name, *seen_at, old.get(name), new.get(name)) for name in moved]
    return broker_switches


def with_moves(
    topic_intervals: Sequence[RebalanceInterval], observed_from: int, expired_at: ExpiredAt, switched_at: SwitchedAt
) -> list[RebalanceInterval]:
    """The intervals of one topic (by start and view), each whose members are known with its `moves`.

    A replayed interval is compared with the last replayed one of all hosts or of its own view, another with the last
    whose members are known. None where the interval began with the window or before.
    """
    earlier = _EarlierIntervals(expired_at, switched_at)
    intervals_with_moves = []
    for _, began_together in groupby(topic_intervals, key=lambda interval: interval.start):
        seen_brokers = frozenset(earlier.seen_brokers)
        for interval in began_together:
            moves = earlier.moves(interval, seen_brokers, observed_from) if interval.members is not None else None
            intervals_with_moves.append(replace(interval, moves=moves) if moves else interval)
            earlier.add(interval)
    return intervals_with_moves


@dataclass
class _EarlierIntervals:
    """The last known and replayed interval of each view, all brokers so far, and moves between allocations."""

    expired_at: ExpiredAt
    switched_at: SwitchedAt
    last_known: dict[str, RebalanceInterval] = field(default_factory=dict)
    last_replayed: dict[str, RebalanceInterval] = field(default_factory=dict)
    seen_brokers: set[str] = field(default_factory=set)
    moved: dict[tuple[int, int], Moves] = field(default_factory=dict)

    def add(self, interval: RebalanceInterval) -> None:
        if interval.members is not None:
            self.last_known[interval.view] = interval
            self.seen_brokers.update(broker for broker, _ in interval.queues or ())
        if interval.allocation:
            self.last_replayed[interval.view] = interval

    def moves(self, interval: RebalanceInterval, seen_brokers: frozenset[str], observed_from: int) -> Moves | None:
        earlier = self.last_replayed if interval.allocation else self.last_known
        own, agreed = earlier.get(interval.view), earlier.get(ALL_HOSTS)
        before = own if own and agreed and own.start > agreed.start else agreed or own
        if before is None:
            first = Moves(((Trigger.FIRST_OBSERVATION, None),))
            return first if interval.start > observed_from else None
        return self._compared(before, interval, seen_brokers)

    def _compared(self, before: RebalanceInterval, now: RebalanceInterval, seen: frozenset[str]) -> Moves:
        subjects = _changed_queues(before, now, seen)
        left, joined = tuple[str, ...](), tuple[str, ...]()
        if now.allocation is None or before.allocation is not now.allocation:
            was, has = Counter(before.client_ids), Counter(now.client_ids)
            left, joined = tuple(was - has), tuple(has - was)
            subjects |= _changed_connections(left, joined, self.expired_at(now.start, left) if left else ())
            subjects |= _changed_members(before, now) if now.allocation else {}
        if any(subjects.values()):
            subjects[Trigger.BROKER_SWITCHED] = self.switched_at(now.start)
        triggers = {trigger: ", ".join(sorted(subjects[trigger])) for trigger in Trigger if subjects.get(trigger)}
        moves = self._moved(before.allocation, now.allocation)
        return replace(moves, triggers=(*triggers.items(),), joined=joined, left=left, before_seen_at=before.seen_at)

    def _moved(self, before: Allocation | None, now: Allocation | None) -> Moves:
        """The queues that moved; none are known where an interval is not replayed."""
        if before is None or now is None:
            return Moves()
        pair = (id(before), id(now))
        if pair not in self.moved:
            self.moved[pair] = moved_between(before, now)
        return self.moved[pair]


def _changed_queues(before: RebalanceInterval, now: RebalanceInterval, seen: Collection[str]) -> Subjects:
    """Changes of the readable queues, by broker, as ranges; `seen`: the brokers of all intervals before."""
    was, has = (Counter(broker for broker, _ in interval.queues or ()) for interval in (before, now))
    back = {broker for broker in has if broker not in was and broker in seen}
    fewer = {broker for broker in has if has[broker] < was[broker]}
    more = {broker for broker in has if has[broker] > was[broker]} - back
    return {
        Trigger.BROKER_GONE: was.keys() - has.keys(),
        Trigger.BROKER_BACK: back,
        Trigger.QUEUES_REMOVED: {_range(broker, has[broker], was[broker]) for broker in fewer},
        Trigger.QUEUES_ADDED: {_range(broker, was[broker], has[broker]) for broker in more},
    }


def _range(broker: str, first: int, end: int) -> str:
    return f"{broker}:{first}" if end == first + 1 else f"{broker}:{first}-{end - 1}"


def _changed_connections(left: Collection[str], joined: Collection[str], expired: Collection[str]) -> Subjects:
    swapped = {host(client_id) for client_id in left} & {host(client_id) for client_id in joined} - {None}
    restarted = {client_id for client_id in (*left, *joined) if host(client_id) in swapped}
    ended = set(left) - restarted
    return {
        Trigger.MEMBER_RESTARTED: restarted,
        Trigger.MEMBER_EXPIRED: ended & set(expired),
        Trigger.MEMBER_LEFT: ended - set(expired),
        Trigger.MEMBER_JOINED: set(joined) - restarted,
    }


def host(client_id: str) -> str | None:
    """The address in a client id `ip@instanceName`, which a process keeps when it restarts; None: another form."""
    name, at, _ = client_id.partition("@")
    return name if at else None


def _changed_members(before: RebalanceInterval, now: RebalanceInterval) -> Subjects:
    """Client ids of members that stayed, and run another strategy now, or subscribe to the topic only before or now."""
    was = {member.client_id: member for member in before.members or ()}
    stayed = [(member, was[member.client_id]) for member in now.members or () if member.client_id in was]
    return {
        Trigger.STRATEGY_CHANGED: {new.client_id for new, old in stayed if new.implementation != old.implementation},
        Trigger.SUBSCRIPTION_CHANGED: {new.client_id for new, old in stayed if new.subscribes != old.subscribes},
    }


def moved_between(before: Allocation, after: Allocation) -> Moves:
    """The moves of a rebalance from one allocation to the other, of the readable queues that both have."""
    was, now = _owners(before), _owners(after)
    in_both = was.keys() & now.keys()
    changed = {queue for queue in in_both if was[queue] != now[queue]}
    handed_over = frozenset(queue for queue in changed if was[queue])
    return Moves(
        moved=len(changed),
        preserved=len(in_both) - len(changed),
        least=minimum_moves(was, now),
        handed_over=handed_over,
    )


Owners = Mapping[Place, tuple[str, ...]]


def _owners(allocation: Allocation) -> Owners:
    count = allocation.readable_count
    return dict(zip(allocation.queues[:count], allocation.owner_ids[:count], strict=True))


def minimum_moves(before: Owners, after: Owners) -> int:
    """The fewest queues, of those in both, that any allocation with the same shares would have moved.

    An owner, which is a set of client ids, keeps no more than it had and than its share: at most Σ min(had, share).
    All keep so many at once, as the other queues may go to any of the places that are left.
    """
    in_both = before.keys() & after.keys()
    kept_at_most = Counter(before[queue] for queue in in_both) & Counter(after.values())
    return len(in_both) - kept_at_most.total()


#: A broker drops a connection 120 s after its last heartbeat, which it looks for every 10 s; heartbeats come every
#: 30 s (`ClientManageProcessor`, `ConsumerManager.scanNotActiveChannel`). So one that fell silent goes 90–130 s later.
EXPIRES_AFTER = 90 * SECOND
EXPIRED_BY = 150 * SECOND


def had_expired(client: ClientHistory, window: StepWindow, cadence: int, left_at: int) -> bool:
    """Return whether a client that left then (microseconds) had been silent for as long as a connection that expires:
    by the window's snapshots before, of which the last ones have no answer.
    """
    inside = client.series.inside(window.read_from, min(left_at, window.end))
    answered = np.array([state.answered for state in client.series.states], dtype=bool)[client.series.codes[inside]]
    if not answered.any() or answered[-1]:
        return False
    last_answer = int(client.series.times[inside][answered][-1])
    return EXPIRES_AFTER <= left_at - last_answer <= EXPIRED_BY + cadence


def expired_at(
    clients: Mapping[str, ClientHistory], window: StepWindow, cadence: int, left_at: int, client_ids: Collection[str]
) -> frozenset[str]:
    """Of the client ids that left at `left_at` (microseconds), those whose connections had expired."""
    return frozenset(
        client_id
        for client_id in client_ids
        if client_id in clients and had_expired(clients[client_id], window, cadence, left_at)
    )


@dataclass
class _Change:
    """One rebalance of a group, the `last` interval that brought a part of it, and the topics that have shown it."""

    moment: int
    last: int
    changed: set[Hashable] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)


def rebalances(intervals: Iterable[RebalanceInterval], settings: AuditSettings) -> list[Rebalance]:
    """The replayed intervals that a known change began, by moment, which is the first one's time, and start.

    Starts less than half a collection interval apart are one rebalance, with what another topic has shown already.
    Only views of all hosts count: a broker that came back lists the members one by one.
    """
    changes: list[_Change] = []
    begun = []
    for interval, moves in sorted(_begun(intervals), key=lambda interval_moves: interval_moves[0].start):
        changed = _changed(moves)
        shown = _shown(changes, interval, changed, settings.max_gap)
        if not shown:
            if not changes or interval.start - changes[-1].last >= settings.cadence / 2:
                changes.append(_Change(interval.start, interval.start))
            shown = changes[-1:]
            shown[0].last = interval.start
            shown[0].changed |= changed
        for change in shown:
            change.topics.add(interval.topic)
        begun.append(Rebalance(shown[0].moment, interval, moves))
    return sorted(begun, key=lambda rebalance: rebalance.moment)


def _begun(intervals: Iterable[RebalanceInterval]) -> Iterator[tuple[RebalanceInterval, Moves]]:
    for interval in intervals:
        moves = interval.moves if interval.view == ALL_HOSTS and interval.allocation else None
        if moves and moves.triggers and moves.triggers[0][0] != Trigger.FIRST_OBSERVATION:
            yield interval, moves


def _changed(moves: Moves) -> set[Hashable]:
    """Members that joined (True) or left (False), and other triggers: "left" or "expired" may differ between topics."""
    changed = {change for change in moves.triggers if not change[0].startswith(("MEMBER_", Trigger.BROKER_SWITCHED))}
    members = (*((True, client_id) for client_id in moves.joined), *((False, client_id) for client_id in moves.left))
    return {*changed, *members}


def _shown(
    changes: Sequence[_Change], interval: RebalanceInterval, changed: set[Hashable], holds: int
) -> list[_Change]:
    """The recent changes of other topics, latest first, if together they explain all that changed here; else none."""
    recent = takewhile(lambda change: interval.start - change.moment < holds, reversed(changes))
    shared = [change for change in recent if interval.topic not in change.topics and change.changed & changed]
    return shared if changed <= set().union(*(change.changed for change in shared)) else []
