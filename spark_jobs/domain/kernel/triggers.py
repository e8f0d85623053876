"""Why each rebalance interval began, and what that moved: every interval beside the one before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Allocation, Moves, RebalanceInterval
from spark_jobs.domain.kernel.moves import Trigger, least_moves, member_changes, queue_changes
from spark_jobs.domain.model.history import Place

#: The client ids that have expired, if they are gone at that time (`unseen.expired_at`).
ExpiredAt = Callable[[int, Collection[str]], frozenset[str]]
#: The brokers that another process began to serve around that time.
SwitchedAt = Callable[[int], set[str]]


def with_moves(
    of_topic: Sequence[RebalanceInterval], observed_from: int, expired_at: ExpiredAt, switched_at: SwitchedAt
) -> list[RebalanceInterval]:
    """The intervals of one topic (by start and view), each replayed one with its `moves`.

    An interval is compared with the last replayed one before it on the same time line inside the step's window: that
    of all hosts together, and for the list of one host also its own. So after a split, or after time that was not
    replayed, it says what differs from what held before. None where the interval stands since the window began.
    """
    before = _Before(expired_at, switched_at)
    found = []
    for _, together in groupby(of_topic, key=lambda one: one.start):
        seen_brokers = frozenset(before.seen_brokers)
        for interval in together:
            moves = before.moves(interval, seen_brokers, observed_from) if interval.allocation else None
            found.append(replace(interval, moves=moves) if moves else interval)
            before.add(interval)
    return found


@dataclass
class _Before:
    """What came before on each time line, and the brokers of all replayed intervals so far."""

    expired_at: ExpiredAt
    switched_at: SwitchedAt
    last_of_view: dict[str, RebalanceInterval] = field(default_factory=dict)
    seen_brokers: set[str] = field(default_factory=set)
    moved: dict[tuple[int, int], Movement] = field(default_factory=dict)

    def add(self, interval: RebalanceInterval) -> None:
        if interval.allocation:
            self.last_of_view[interval.view] = interval
            self.seen_brokers.update(broker for broker, _ in interval.queues or ())

    def moves(self, interval: RebalanceInterval, seen_brokers: frozenset[str], observed_from: int) -> Moves | None:
        own, agreed = self.last_of_view.get(interval.view), self.last_of_view.get(ALL_HOSTS)
        before = own if own and agreed and own.start > agreed.start else agreed or own
        if before is None:
            first = Moves(((Trigger.FIRST_OBSERVATION, None),))
            return first if interval.start > observed_from else None
        return self._compared(before, interval, seen_brokers)

    def _compared(self, before: RebalanceInterval, now: RebalanceInterval, seen: frozenset[str]) -> Moves:
        assert before.allocation is not None  # only replayed intervals are compared
        assert now.allocation is not None
        pair = (id(before.allocation), id(now.allocation))
        if pair not in self.moved:
            self.moved[pair] = moved_between(before.allocation, now.allocation)
        moved = self.moved[pair]
        left, joined = _passages(before, now)
        subjects = queue_changes(_per_broker(before), _per_broker(now), seen)
        subjects |= member_changes(left, joined, self.expired_at(now.start, left) if left else ())
        subjects |= _changed_members(before, now)
        if any(subjects.values()):
            subjects[Trigger.BROKER_SWITCHED] = self.switched_at(now.start)
        triggers = tuple((one, ", ".join(sorted(subjects[one]))) for one in Trigger if subjects.get(one))
        return Moves(
            triggers, joined, left, moved.moved, moved.preserved, moved.least, moved.handed_over, before.seen_at
        )


@dataclass(frozen=True)
class Movement:
    """How many readable queues changed their owners, kept them, and had to change them; which ones changed hands."""

    moved: int
    preserved: int
    least: int
    handed_over: frozenset[Place]


def moved_between(before: Allocation, after: Allocation) -> Movement:
    """Readable queues of both that changed their owners, kept them, had to change them, and changed hands."""
    was, now = _owners(before), _owners(after)
    both = was.keys() & now.keys()
    changed = {queue for queue in both if was[queue] != now[queue]}
    handed_over = frozenset(queue for queue in changed if was[queue])
    return Movement(len(changed), len(both) - len(changed), least_moves(was, now), handed_over)


def _owners(allocation: Allocation) -> dict[Place, tuple[str, ...]]:
    count = allocation.readable_count
    return dict(zip(allocation.queues[:count], allocation.owner_ids[:count], strict=True))


def _per_broker(interval: RebalanceInterval) -> Counter[str]:
    return Counter(broker for broker, _ in interval.queues or ())


def _passages(before: RebalanceInterval, now: RebalanceInterval) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Client ids that left and that joined: ids whose connections became fewer, and more."""
    if before.allocation is now.allocation:
        return (), ()
    was, has = (Counter(member.client_id for member in one.members or ()) for one in (before, now))
    return tuple(was - has), tuple(has - was)


def _changed_members(before: RebalanceInterval, now: RebalanceInterval) -> dict[Trigger, set[str]]:
    """Ids that were members before, and that compute by another strategy, or subscribe otherwise, now."""
    if before.allocation is now.allocation:
        return {}
    was = {member.client_id: member for member in before.members or ()}
    stayed = [(member, was[member.client_id]) for member in now.members or () if member.client_id in was]
    return {
        Trigger.STRATEGY_CHANGED: {one.client_id for one, old in stayed if one.implementation != old.implementation},
        Trigger.SUBSCRIPTION_CHANGED: {one.client_id for one, old in stayed if one.subscribes != old.subscribes},
    }
