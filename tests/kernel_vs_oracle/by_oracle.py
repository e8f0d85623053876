"""What the oracle says of one step of a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from spark_jobs.domain.rocketmq.strategies import StrategySettings, Variant
from tests.kernel_vs_oracle.forms import IntervalStart, Line, OwnedQueue, ProgressLine, Said
from tests.oracle import status
from tests.oracle.moves import (
    Begun,
    Situation,
    brokers_before,
    compared_with,
    expired_at,
    handed_over,
    moves,
    passages,
    rebalance_moments,
    triggers,
)
from tests.oracle.ownership import Member, QueueOwnership, counts, if_deduplicated, if_unique, ownership
from tests.oracle.piled_up import piled_up, unknown_queues
from tests.oracle.progress import of_interval, one_at_a_time, queue_readings
from tests.oracle.snapshots import Group, StepWindow
from tests.oracle.timeline import WITHOUT_OWNERS, RebalanceInterval, Status, clip, rebalance_intervals
from tests.oracle.views import AGREED


def said(group: Group, window: StepWindow, allowed_lag: int) -> Said:
    """Of the whole group."""
    topics = [_Topic(group, topic, window) for topic in group.topics]
    lines = sorted((line for topic in topics for line in topic.lines()), key=lambda one: one.order)
    rows = [row for topic in topics for row in topic.rows(allowed_lag)]
    has_interval = any(topic.clipped for topic in topics)
    return Said(
        lines,
        sorted(line for _, line in rows),
        _rebalances(lines, window),
        status.counts([end for topic in topics if (end := topic.end())]) if has_interval else None,
        status.backlog(row for row, _ in rows) if has_interval else None,
        status.growths([row for row, _ in rows], group.offsets, window),
        piled_up((row for row, _ in rows), group.offsets, window, allowed_lag),
        sorted(unknown_queues(row for row, _ in rows)),
    )


class _Topic:
    """One topic of the group."""

    def __init__(self, group: Group, topic: str, window: StepWindow) -> None:
        self.history, self.window, self.topic = group.about(topic), window, topic
        self.intervals = rebalance_intervals(self.history, window)
        self.clipped = clip(self.intervals, window.start)

    def members(self, interval: RebalanceInterval) -> list[Member]:
        return members_of(self.history.configured, interval.members)

    def owned(self, interval: RebalanceInterval) -> list[QueueOwnership]:
        return ownership(self.members(interval), interval.queues)

    def lines(self) -> Iterator[Line]:
        for one in self.intervals:
            line = Line(self.topic, one.view, one.start, one.end, one.status, one.reason)
            yield line if one.status != Status.REPLAYED else self._replayed(line, one)

    def _replayed(self, line: Line, one: RebalanceInterval) -> Line:
        members, owned = self.members(one), self.owned(one)
        has_twins = len({member.client_id for member in members}) < len(members)
        return line._replace(
            source=one.strategy_source,
            members=tuple(one.members),
            queues=tuple(queue[1:] for queue, unreadable in one.queues if not unreadable),
            owned=owned_queues(owned),
            counts=counts(owned),
            if_deduplicated=if_deduplicated(members, one.queues) if has_twins else None,
            if_unique=if_unique(members, one.queues) if has_twins else None,
            began=self._began(one),
        )

    def _began(self, one: RebalanceInterval) -> IntervalStart | None:
        before = compared_with(self.intervals, one)
        if before is None:
            return IntervalStart((("FIRST_OBSERVATION", None),)) if one.start > self.window.replayed_from else None
        was, now = self._situation(before), self._situation(one)
        left, joined = passages(was, now)
        expired = expired_at(self.history.clients, self.window, one.start)
        return IntervalStart(
            tuple(triggers(was, now, brokers_before(self.intervals, one), expired)),
            moves(was, now),
            tuple(joined),
            tuple(left),
            frozenset(handed_over(was, now)),
        )

    def _situation(self, one: RebalanceInterval) -> Situation:
        owned = {queue.queue[1:]: queue for queue in self.owned(one) if queue.readable}
        owners = {
            place: frozenset(one.members[owner].client_id for owner in queue.owners) for place, queue in owned.items()
        }
        return Situation(one.members, Counter(broker for broker, _ in owned), owners)

    def rows(self, allowed_lag: int) -> Iterator[tuple[status.QueueRow, ProgressLine]]:
        """One per queue and interval inside the step."""
        for one, end in one_at_a_time(self.clipped):
            (whole,) = (other for other in self.intervals if other.view == one.view and other.end == one.end)
            if one.reason in WITHOUT_OWNERS:
                yield from self._unowned(one, whole.start, end, allowed_lag)
            if one.status == Status.REPLAYED:
                began = self._began(whole)
                for owned in self.owned(one):
                    place = owned.queue[1:]
                    readings = queue_readings(self.history.offsets, self.window, place)
                    measured = of_interval(
                        readings, self.window, self._owned_since(whole, owned), one.start, end, allowed_lag
                    )
                    moved = began is not None and place in began.handed_over
                    row = status.QueueRow(self.topic, place, one.start, end, len(owned.owners), True, moved, measured)
                    yield row, ProgressLine(self.topic, one.view, one.start, end, place, measured)

    def _owned_since(self, interval: RebalanceInterval, owned: QueueOwnership) -> int:
        """Since when the queue has had the owners that it has in the interval, without a break."""
        since, ids = interval.start, self._ids(interval, owned)
        earlier = [each for each in one_at_a_time(self.intervals) if each[0].start < interval.start]
        if not any(one is interval for one, _ in one_at_a_time(self.intervals)):
            return since
        for one, end in reversed(earlier):
            if one.status != Status.REPLAYED or end != since:
                return since
            same = [each for each in self.owned(one) if each.queue == owned.queue]
            if not same or self._ids(one, same[0]) != ids:
                return since
            since = one.start
        return since

    def _ids(self, one: RebalanceInterval, owned: QueueOwnership) -> set[str]:
        return {one.members[owner].client_id for owner in owned.owners}

    def _unowned(
        self, one: RebalanceInterval, began: int, end: int, allowed_lag: int
    ) -> Iterator[tuple[status.QueueRow, ProgressLine]]:
        """Somebody consumes, and nobody knows who."""
        for queue, _ in one.queues:
            place = queue[1:]
            readings = queue_readings(self.history.offsets, self.window, place)
            measured = of_interval(readings, self.window, began, one.start, end, allowed_lag)
            row = status.QueueRow(self.topic, place, one.start, end, 1, False, False, measured)
            yield row, ProgressLine(self.topic, one.view, one.start, end, place, measured)

    def end(self) -> status.TopicEnd | None:
        last = status.last_replayed(self.clipped)
        return status.TopicEnd(self.topic, last, self.owned(last)) if last else None


def members_of(configured: StrategySettings, members: Sequence[tuple[str, str, bool, Variant]]) -> list[Member]:
    """The members with their strategies' settings."""
    return [Member(one, configured.named(name, variant), subscribes) for one, name, subscribes, variant in members]


def owned_queues(owned: Sequence[QueueOwnership]) -> tuple[OwnedQueue, ...]:
    """Readable ones first, as the kernel lists them."""
    in_order = sorted(owned, key=lambda one: not one.readable)
    return tuple(OwnedQueue(one.queue[1:], *one[1:]) for one in in_order)


def _rebalances(lines: Sequence[Line], window: StepWindow) -> list[tuple[int, str, int]]:
    """What all hosts agree on counts, where a change is known to have begun it."""
    begun = [
        line
        for line in lines
        if line.view == AGREED and line.began and line.began.triggers and line.began.moves is not None
    ]
    moments = rebalance_moments(map(_begun, begun), window.cadence, window.max_gap)
    return sorted((at, one.topic, one.start) for one, at in moments.items())


def _begun(line: Line) -> Begun:
    """Who came and went, whatever it is called, and what else triggered it."""
    assert line.began
    others = ((what, who or "") for what, who in line.began.triggers if not what.startswith("MEMBER_"))
    came, went = ((("came", one) for one in line.began.joined), (("went", one) for one in line.began.left))
    return Begun(line.start, line.topic, frozenset((*others, *came, *went)))
