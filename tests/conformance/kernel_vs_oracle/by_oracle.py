"""The oracle's answers about one step of a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.conformance.kernel_vs_oracle.forms import IntervalStart, Line, ProgressLine, Said
from tests.support.oracle import status
from tests.support.oracle.moves import (
    Begun,
    Place,
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
from tests.support.oracle.ownership import Member, QueueOwnership, counts, if_deduplicated, if_unique, ownership
from tests.support.oracle.piled_up import piled_up, unknown_queues
from tests.support.oracle.progress import of_interval, one_at_a_time, queue_samples
from tests.support.oracle.snapshots import Group, StepWindow
from tests.support.oracle.timeline import (
    HANDED_OUT,
    WITHOUT_OWNERS,
    IntervalMember,
    RebalanceInterval,
    clip,
    of_unknown_strategy,
    rebalance_intervals,
)
from tests.support.oracle.unseen import may_be_at_proxies
from tests.support.oracle.views import AGREED


def said(group: Group, window: StepWindow, thresholds: Thresholds) -> Said:
    """Of the whole group."""
    allowed_lag, stalled_after = thresholds.allowed_lag, thresholds.stalled_after_seconds * 10**6
    topics = [_Topic(group, topic, window) for topic in group.topics]
    lines = sorted((line for topic in topics for line in topic.lines()), key=lambda line: line.order)
    rows = [row for topic in topics for row in topic.rows(allowed_lag)]
    has_interval = any(topic.clipped for topic in topics)
    return Said(
        lines,
        sorted(line for _, line in rows),
        _rebalances(lines, window),
        _counts(topics, window) if has_interval else None,
        status.backlog(row for row, _ in rows) if has_interval else None,
        status.growths([row for row, _ in rows], group.offsets, window),
        piled_up((row for row, _ in rows), group.offsets, window, allowed_lag, stalled_after),
        sorted(unknown_queues(row for row, _ in rows)),
    )


def _counts(topics: Sequence[_Topic], window: StepWindow) -> status.Counts:
    """Who the members are is unknown where they may be at proxies."""
    are_hidden = may_be_at_proxies(topics[0].group.seen_in(window), window)
    ends = [] if are_hidden else [end for topic in topics if (end := topic.end())]
    return status.counts(ends, [interval for topic in topics for interval in topic.clipped])


class _Topic:
    """One topic of the group."""

    def __init__(self, group: Group, topic: str, window: StepWindow) -> None:
        self.group, self.window, self.topic = group, window, topic
        self.intervals = rebalance_intervals(group, topic, window)
        self.clipped = clip(self.intervals, window.start)

    def members(self, interval: RebalanceInterval) -> list[Member]:
        return members_of(self.group.configured, interval.members)

    def owned(self, interval: RebalanceInterval) -> list[QueueOwnership]:
        return ownership(self.members(interval), interval.queues)

    def lines(self) -> Iterator[Line]:
        for interval in self.intervals:
            line = Line(self.topic, interval.view, interval.start, interval.end, interval.status, interval.reason)
            line = line._replace(members=tuple(interval.members), queues=_readable(interval))
            line = line._replace(began=self._began(interval) if interval.listed else None)
            yield line if interval.status != Status.REPLAYED else self._replayed(line, interval)

    def _replayed(self, line: Line, interval: RebalanceInterval) -> Line:
        members, owned = self.members(interval), self.owned(interval)
        has_twins = len({member.client_id for member in members}) < len(members)
        return line._replace(
            source=interval.strategy_source,
            owned=owned_queues(owned),
            counts=counts(owned),
            if_deduplicated=if_deduplicated(members, interval.queues) if has_twins else None,
            if_unique=if_unique(members, interval.queues) if has_twins else None,
        )

    def _began(self, interval: RebalanceInterval) -> IntervalStart | None:
        before = compared_with(self.intervals, interval)
        if before is None:
            return IntervalStart((("FIRST_OBSERVATION", None),)) if interval.start > self.window.replayed_from else None
        was, now = self._situation(before), self._situation(interval)
        is_replayed = interval.status == Status.REPLAYED
        if not is_replayed:  # what the members run says nothing then
            was = was._replace(members=of_unknown_strategy(member.client_id for member in was.members))
        left, joined = passages(was, now)
        expired = expired_at(self.group.clients, self.window, interval.start)
        return IntervalStart(
            tuple(triggers(was, now, brokers_before(self.intervals, interval), expired)),
            moves(was, now) if is_replayed else None,
            tuple(joined),
            tuple(left),
            frozenset(handed_over(was, now)),
        )

    def _situation(self, interval: RebalanceInterval) -> Situation:
        owners = {place: frozenset(ids) for place, ids in self._consumers(interval).items()}
        readable = _readable(interval)
        of_readable = {place: owners[place] for place in readable if interval.status == Status.REPLAYED}
        return Situation(interval.members, Counter(broker for broker, _ in readable), of_readable)

    def rows(self, allowed_lag: int) -> Iterator[tuple[status.QueueRow, ProgressLine]]:
        """One per queue and interval inside the step."""
        for interval, end in one_at_a_time(self.clipped):
            (whole,) = (other for other in self.intervals if other.view == interval.view and other.end == interval.end)
            measures: list[tuple[Place, int, int, bool, bool]] = []
            if interval.reason in WITHOUT_OWNERS:  # somebody consumes, and nobody knows who
                places = _readable(interval)
                measures = [(place, self._consumed_since(whole, place), 1, False, False) for place in places]
            if interval.hidden:
                measures = [(place, whole.start, 0, False, False) for place in interval.hidden]
            if interval.status == Status.REPLAYED:
                began = self._began(whole)
                for owned in self.owned(interval):
                    place = owned.queue[1:]
                    since = self._consumed_since(whole, place)
                    moved = began is not None and place in began.handed_over
                    measures.append((place, since, len(owned.owners), True, moved))
            for place, since, owner_count, is_replayed, moved in measures:
                samples = queue_samples(self.group.offsets.get(self.topic, ()), self.window, place)
                measured = of_interval(samples, self.window, since, interval.start, end, allowed_lag)
                owners = owner_count, is_replayed, moved
                row = status.QueueRow(self.topic, place, interval.start, end, *owners, measured)
                yield row, ProgressLine(self.topic, interval.view, interval.start, end, place, measured)

    def _consumed_since(self, interval: RebalanceInterval, place: Place) -> int:
        """Since when the queue has been consumed by whom it is in the interval, without a break; if that is known."""
        since, consumers = interval.start, self._consumers(interval).get(place)
        earlier = [candidate for candidate in one_at_a_time(self.intervals) if candidate[0].start < interval.start]
        if not any(other is interval for other, _ in one_at_a_time(self.intervals)):
            return since
        for other, end in reversed(earlier):
            if consumers is None or end != since or self._consumers(other).get(place) != consumers:
                return since
            since = other.start
        return since

    def _consumers(self, interval: RebalanceInterval) -> dict[Place, set[str]]:
        """By queue the ids of its owners; the reason, where brokers hand out the messages to whoever asks."""
        if interval.status == Status.REPLAYED:
            return {
                queue.queue[1:]: {interval.members[owner].client_id for owner in queue.owners}
                for queue in self.owned(interval)
            }
        if interval.reason in HANDED_OUT:
            return {place: {interval.reason} for place in _readable(interval)}
        return {}

    def end(self) -> status.TopicEnd | None:
        last = status.last_replayed(self.clipped)
        return status.TopicEnd(self.topic, last, self.owned(last)) if last else None


def _readable(interval: RebalanceInterval) -> tuple[Place, ...]:
    return tuple(queue[1:] for queue, unreadable in interval.queues if not unreadable)


def members_of(configured: StrategySettings, members: Sequence[IntervalMember]) -> list[Member]:
    """The members with their strategies' settings."""
    return [
        Member(client_id, configured.named(name, variant), subscribes, broadcasts)
        for client_id, name, subscribes, variant, broadcasts in members
    ]


def owned_queues(owned: Sequence[QueueOwnership]) -> tuple[QueueOwnership, ...]:
    """Readable ones first, as the kernel lists them."""
    return tuple(sorted(owned, key=lambda queue: not queue.readable))


def _rebalances(lines: Sequence[Line], window: StepWindow) -> list[tuple[int, str, int]]:
    """What all hosts agree on counts, where a change is known to have begun it."""
    begun = [
        line
        for line in lines
        if line.view == AGREED and line.began and line.began.triggers and line.began.moves is not None
    ]
    moments = rebalance_moments(map(_begun, begun), window.cadence, window.max_gap)
    return sorted((at, begin.topic, begin.start) for begin, at in moments.items())


def _begun(line: Line) -> Begun:
    """Who came and went, whatever it is called, and what else triggered it."""
    assert line.began
    others = ((what, who or "") for what, who in line.began.triggers if not what.startswith("MEMBER_"))
    came = (("came", client_id) for client_id in line.began.joined)
    went = (("went", client_id) for client_id in line.began.left)
    return Begun(line.start, line.topic, frozenset((*others, *came, *went)))
