"""One step of one group, replayed and measured: the input of every rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.queue_measures import QueueMeasures
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.history import (
    RETRY,
    ClientState,
    GroupHistory,
    Mask,
    Membership,
    OffsetSamples,
    Place,
    Subscriptions,
)
from spark_jobs.domain.model.message_queue import RouteEntry, topic_type
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import HANDED_OUT, WITHOUT_OFFSETS, Reason, Status, Trigger
from spark_jobs.domain.model.window import AuditSettings, StepWindow, Time
from spark_jobs.domain.rocketmq.strategies import is_popped

#: Name of the membership view of brokers that agree.
ALL_HOSTS = "*"


@dataclass(frozen=True)
class Moves:
    """The trigger of an interval and the queues that it moved, compared with an interval before it on its time line:
    the last replayed one, or for one that is not replayed, and moves nothing, the last whose members are known.

    `triggers`: (trigger, subject) in the order of `Trigger`; subject None: the first observation. `joined`, `left`:
    client ids. All but `triggers` is empty or None where there was no interval before. `moved`, `preserved`: readable
    queues that changed owners, and that kept them; `least`: that had to change; `handed_over`: that had an owner, too.
    `before_seen_at`: when the inputs before were last seen to hold.
    """

    triggers: tuple[tuple[Trigger, str | None], ...] = ()
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved: int | None = None
    preserved: int | None = None
    least: int | None = None
    handed_over: frozenset[Place] = frozenset()
    before_seen_at: int | None = None


class Switch(NamedTuple):
    """A broker's address was `old` until `before`, and `new` from `at` on (microseconds); None: not in the route."""

    broker_name: str
    before: int
    at: int
    old: str | None
    new: str | None


class Disagreement(NamedTuple):
    """A time in which members of a view report different subscriptions or message models, microseconds: by client id
    all those that any reports; empty: they are the same.
    """

    start: int
    end: int
    subscriptions: tuple[tuple[str, Subscriptions], ...] = ()
    models: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class RebalanceInterval:
    """A maximal span of one view of one topic in which no input of the allocation changes, over step and warm-up.

    `members` (None: unobserved) and `queues` (readable, None: no route was seen) as every client sorts them. Of the
    members, addresses and versions are those at its start, and, where it is not replayed, all but the ids; `seen_at`:
    the last snapshot inside that showed them. `strategy_alternatives`: others that explain what was observed, too.
    `unreadable`: the queues that can hold messages, if none may be read.
    `settled_at`: the route has changed, and until then clients may have the queues of before; `by_strategy`: the
    allocation that they follow to, where they report other queues meanwhile.
    `allocation` only where REPLAYED; `moves` None: it began with the window or before, or its members are unknown.
    """

    topic: str
    view: str
    start: int
    end: int
    reason: Reason | None
    strategy_source: str | None
    members: tuple[Member, ...] | None
    queues: tuple[Place, ...] | None
    seen_at: int | None
    allocation: Allocation | None
    disagreements: tuple[Disagreement, ...] = ()
    moves: Moves | None = None
    strategy_alternatives: tuple[str, ...] = ()
    settled_at: int | None = None
    by_strategy: Allocation | None = None
    unreadable: tuple[Place, ...] = ()

    @property
    def shares(self) -> Allocation | None:
        """The allocation by the strategy, also while members still have the queues of the route before."""
        return self.by_strategy or self.allocation

    @property
    def status(self) -> Status:
        """REPLAYED without a reason, else that of the reason."""
        return self.reason.status if self.reason else Status.REPLAYED

    @property
    def is_ordinary(self) -> bool:
        """Return whether its topic is no retry topic."""
        return not self.topic.startswith(RETRY)

    @property
    def measured(self) -> Sequence[Place]:
        """The queues that have progress: those of its allocation, or, where owners are not known, the readable ones; if
        none may be read, the others.
        """
        if self.allocation is not None:
            return self.allocation.queues
        is_measured = self.status is not Status.UNOBSERVED and self.reason not in WITHOUT_OFFSETS
        return self.queues or self.unreadable if is_measured else ()

    @cached_property
    def places(self) -> Mapping[Place, int]:
        """The index of each of its `measured` queues."""
        return {queue: place for place, queue in enumerate(self.measured)}

    def owners_of(self, queue: Place) -> Sequence[str]:
        """The different client ids that own the queue; none where nobody does, or the owners are not known."""
        return self.allocation.owner_ids[self.places[queue]] if self.allocation and queue in self.places else ()

    @property
    def client_ids(self) -> Sequence[str]:
        """The client id of each connection, in allocation order; none if its members are unobserved."""
        return [member.client_id for member in self.members or ()]

    @cached_property
    def languages(self) -> Mapping[str, str | None]:
        """The language of each member, by client id."""
        return {member.client_id: member.language for member in self.members or ()}

    @cached_property
    def has_popping_members(self) -> bool:
        """Return whether any member pops, so that offsets show what was handed out."""
        return any(is_popped(member.strategy) for member in self.members or ())

    @property
    def is_shared_out(self) -> bool:
        """Return whether the broker hands out the messages (POP), so that queues have no owners at all."""
        return self.reason in HANDED_OUT


@dataclass(frozen=True)
class IntervalProgress(QueueMeasures):
    """Messages produced to and consumed from every queue of an interval; arrays aligned with its `measured` queues.

    `start` and `end`: of the interval inside the step, ended early where another view's interval begins; microseconds.
    `verdicts`: the worst of each queue's windows, None: unknown; `spans`: when which queue was stuck.
    `is_filtered`: the group subscribes to some of the queue's messages only; all of them are counted.
    """

    interval: RebalanceInterval
    start: int
    end: int
    verdicts: Sequence[str | None]
    spans: Sequence[VerdictSpan]
    is_filtered: bool = False

    @property
    def queues(self) -> Sequence[Place]:
        """The queues that the arrays are about."""
        return self.interval.measured

    @property
    def is_owned(self) -> Mask:
        """Per queue, whether it has an owner, known or not."""
        allocation = self.interval.allocation
        if allocation is None:
            return np.full(len(self.queues), not self.interval.unreadable)
        return allocation.is_owned

    @property
    def is_handed_over(self) -> Mask:
        """Per queue, whether another client owned it until the interval began."""
        moves = self.interval.moves
        handed_over = moves.handed_over if moves else ()
        return np.array([queue in handed_over for queue in self.queues], bool)

    def owner_ids(self, place: int) -> Sequence[str | None]:
        """The different client ids that own the queue at this place; None stands for an owner that is unknown."""
        if self.interval.unreadable:
            return ()
        allocation = self.interval.allocation
        return (None,) if allocation is None else allocation.owner_ids[place]


class Rebalance(NamedTuple):
    """An interval that a known change began, with the `moment` that all topics of its group share for that change."""

    moment: int
    interval: RebalanceInterval
    moves: Moves


class UnansweredCalls(NamedTuple):
    """Calls for a group's members that a broker did not answer: first and last (microseconds), and the last error."""

    broker_name: str
    since: int
    until: int
    error: str


@dataclass(frozen=True)
class AuditedStep:
    """One step of one group, as rules see it. Intervals reach back over the warm-up, as a condition's age is
    measured across steps; progress is inside the step only.

    `intervals` are sorted by topic, start, view. `memberships`, `routes`, `client_states`: spans inside the window by
    broker, topic, client id. `switches`: by topic, when its brokers began to be served by another process.
    `deleted`: the times, in order, in which the group was deleted, as far as snapshots of the window show;
    `deleted_topics`: the same of its topics; `gone_topics`: of those of which routes show it only.
    `unread`: by topic, samples without consumer offsets of those that have none.
    `replays`: what the group's members would own with other inputs; None: not known.
    """

    history: GroupHistory
    window: StepWindow
    settings: AuditSettings
    intervals: Sequence[RebalanceInterval]
    progress: Sequence[IntervalProgress]
    rebalances: Sequence[Rebalance]
    memberships: Mapping[str, Sequence[Span[Membership]]] = field(default_factory=dict)
    routes: Mapping[str, Sequence[Span[tuple[RouteEntry, ...]]]] = field(default_factory=dict)
    client_states: Mapping[str, Sequence[Span[ClientState]]] = field(default_factory=dict)
    switches: Mapping[str, Sequence[Switch]] = field(default_factory=dict)
    deleted: Sequence[Time] = ()
    deleted_topics: Mapping[str, Sequence[Time]] = field(default_factory=dict)
    gone_topics: Mapping[str, Sequence[Time]] = field(default_factory=dict)
    replays: Replays | None = None
    unread: Mapping[str, OffsetSamples] = field(default_factory=dict)

    def deleted_at(self, topic: str | None = None) -> int | None:
        """When it was first seen that the group, or its topic, is deleted, if it is so at the step's end."""
        times = self.deleted if topic is None else self.deleted_topics.get(topic, ())
        return times[-1][0] if times and times[-1][1] == self.window.end else None

    def unanswered(self, start: int | None = None, end: int | None = None) -> Sequence[UnansweredCalls]:
        """The brokers that did not answer calls for the group's members in that part of the window, by name."""
        since = max(self.window.read_from if start is None else start, self.window.read_from)
        until = min(self.window.end if end is None else end, self.window.end)
        calls = ((broker, series.runs(since, until)) for broker, series in sorted(self.history.unanswered.items()))
        return [
            UnansweredCalls(broker, runs[0].start, runs[-1].seen_at, runs[-1].state) for broker, runs in calls if runs
        ]

    @cached_property
    def membership_spans(self) -> Sequence[Span[Membership]]:
        """Those of all brokers and proxies, one broker after the other."""
        return [span for spans in self.memberships.values() for span in spans]

    @cached_property
    def replayed(self) -> Sequence[RebalanceInterval]:
        """The intervals with an allocation."""
        return [interval for interval in self.intervals if interval.allocation is not None]

    def topic_type(self, topic: str) -> str | None:
        """The type of a topic by its last route in the window that has one (`RouteEntry.topic_type`); None: unknown."""
        topic_types = (topic_type(span.state) for span in reversed(self.routes.get(topic, ())))
        return next(filter(None, topic_types), None)

    def inside(self) -> Iterator[tuple[RebalanceInterval, int, int]]:
        """The intervals of the step itself, each with its start and end inside it."""
        for interval in self.intervals:
            if interval.end > self.window.start:
                yield interval, max(interval.start, self.window.start), interval.end
