"""The rebalance intervals of one step: the spans in which nothing that an allocation depends on changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.domain.kernel.audited_step import (
    ALL_HOSTS,
    Allocation,
    Member,
    MessageModelConflict,
    Mismatch,
    RebalanceInterval,
    without_owners,
)
from spark_jobs.domain.kernel.group_spans import ClientStates, ClientStateTimeline, GroupSpans
from spark_jobs.domain.kernel.members import group_source, in_allocation_order, is_grpc, members_of, resolve_strategies
from spark_jobs.domain.kernel.ownership import Inputs
from spark_jobs.domain.kernel.replays import Queues, Replays
from spark_jobs.domain.kernel.unseen import by_brokers
from spark_jobs.domain.kernel.views import Moment, Timeline, View, moments, with_modes
from spark_jobs.domain.model.history import Membership, Place, RequestMode
from spark_jobs.domain.model.message_queue import LITE, LITE_SELECTIVE, STATIC, MessageQueue, RouteEntry, topic_type
from spark_jobs.domain.model.window import AuditSettings, StepWindow
from spark_jobs.domain.rocketmq.allocation import KeepsWhatItHad, by_room
from spark_jobs.domain.rocketmq.pop import LACKING, as_assigned, everybody_pops_all, is_known, request_mode
from spark_jobs.domain.rocketmq.strategies import MACHINE_ROOM_NEARBY, POP, UNKNOWN_STRATEGY


class Status(StrEnum):
    """Whether an interval has verdicts."""

    REPLAYED = "REPLAYED"
    UNOBSERVED = "UNOBSERVED"
    NOT_APPLICABLE = "NOT_APPLICABLE"
    NOT_REPLAYABLE = "NOT_REPLAYABLE"


class Reason(StrEnum):
    """Why an interval is not replayed; the first that applies, in this order."""

    NO_ROUTE_SNAPSHOT = "NO_ROUTE_SNAPSHOT"
    NO_ROUTE = "NO_ROUTE"
    NO_MEMBERSHIP_SNAPSHOT = "NO_MEMBERSHIP_SNAPSHOT"
    STATIC_TOPIC = "STATIC_TOPIC"
    LITE = "LITE"
    BROADCASTING = "BROADCASTING"
    BROKER_REBALANCE = "BROKER_REBALANCE"
    POP_ALL_QUEUES = "POP_ALL_QUEUES"
    CONSUMED_THROUGH_PROXY = "CONSUMED_THROUGH_PROXY"
    CONSUMED_BY_UNSEEN = "CONSUMED_BY_UNSEEN"
    NOT_SUBSCRIBED = "NOT_SUBSCRIBED"
    NO_READABLE_QUEUE = "NO_READABLE_QUEUE"
    UNKNOWN_STRATEGY = "UNKNOWN_STRATEGY"
    BROKER_LACKS_STRATEGY = "BROKER_LACKS_STRATEGY"
    SETTINGS_MISSING = "SETTINGS_MISSING"
    ROOM_UNRESOLVABLE = "ROOM_UNRESOLVABLE"

    @property
    def status(self) -> Status:
        """UNOBSERVED: not seen; NOT_APPLICABLE: no client owns queues; NOT_REPLAYABLE: all others."""
        if self in (Reason.NO_ROUTE_SNAPSHOT, Reason.NO_MEMBERSHIP_SNAPSHOT):
            return Status.UNOBSERVED
        if self in _NOT_APPLICABLE:
            return Status.NOT_APPLICABLE
        return Status.NOT_REPLAYABLE


_UNSEEN = (Reason.CONSUMED_THROUGH_PROXY, Reason.CONSUMED_BY_UNSEEN)
#: Topics whose queues no strategy divides, as clients know them.
_BY_TYPE = {STATIC: Reason.STATIC_TOPIC, LITE: Reason.LITE}
_BY_BROKER = (Reason.BROKER_REBALANCE, Reason.POP_ALL_QUEUES)
_NOT_APPLICABLE = (Reason.LITE, Reason.BROADCASTING, *_BY_BROKER, *_UNSEEN, Reason.NOT_SUBSCRIBED)


@dataclass(frozen=True)
class _Facts:
    """What holds over a span of one view: the columns of a rebalance interval but its time."""

    status: Status
    reason: Reason | None
    source: str | None
    members: tuple[Member, ...] | None
    queues: Queues | None
    allocation: Allocation | None

    def same_state(self, other: _Facts) -> bool:
        """Whether nothing that an allocation depends on differs; what is not replayed differs by its reason, by its
        queues where they are measured all the same, and by its members where they own queues, whoever has which.
        """
        if self.reason is not other.reason or self.allocation is not other.allocation:
            return False
        own, others = (without_owners(one.status, one.reason, one.readable) for one in (self, other))
        have_owners = bool(own) and self.status is Status.NOT_REPLAYABLE
        return own == others and not (have_owners and _ids(self.members) != _ids(other.members))

    @property
    def readable(self) -> tuple[Place, ...] | None:
        """The queues that clients may read; None: no route was seen."""
        return self.queues.readable if self.queues else None


@dataclass
class _Open:
    """An interval that may go on."""

    view: str
    start: int
    end: int
    facts: _Facts
    seen_at: int | None
    mismatches: list[Mismatch]
    mixtures: list[MessageModelConflict]


class StepTimeline:
    """The intervals of one step of one group, topic by topic."""

    def __init__(self, spans: GroupSpans, window: StepWindow, settings: AuditSettings, replays: Replays) -> None:
        self._spans, self._window, self._settings, self._replays = spans, window, settings, replays
        listed = by_brokers(spans.memberships)
        self._members = {broker: Timeline(with_modes(found)) for broker, found in listed.items()}
        self._books = ClientStateTimeline(spans.clients, window)
        self._unseen = Timeline(spans.unseen)
        changes = (timeline.changes(window) for timeline in self._members.values())
        unseen = self._unseen.changes(window)
        self._cuts = {window.observed_from, *self._books.starts}.union(unseen, *changes)
        self._known: dict[tuple[object, ...], _Facts] = {}

    def intervals(self) -> list[RebalanceInterval]:
        """By topic, start and view, over the step and its warm-up. Of topics that subscriptions or offsets name."""
        return [one for topic in sorted(self._spans.subscribed | self._spans.offset_topics) for one in self._of(topic)]

    def _of(self, topic: str) -> list[RebalanceInterval]:
        routes = Timeline(self._spans.routes.get(topic, ()))
        cuts = sorted(self._cuts | routes.changes(self._window))
        found = moments(cuts, self._window.end, routes, self._members, self._settings.cadence // 2)
        merged = self._merged(topic, found)
        return sorted((_closed(topic, one) for one in merged), key=lambda one: (one.start, one.view))

    def _merged(self, topic: str, found: Iterable[Moment]) -> list[_Open]:
        """Neighbours of one view in one state become one interval."""
        done: list[_Open] = []
        last: dict[str, _Open] = {}
        for moment in found:
            for view in moment.views or (None,):
                name = view.name if view else ALL_HOSTS
                facts = self._facts(topic, moment.route, view, moment.start)
                seen_at = min(view.seen_at, moment.end) if view else None
                before = last.get(name)
                if before and before.end == moment.start and before.facts.same_state(facts):
                    before.end, before.seen_at = moment.end, max(before.seen_at or 0, seen_at or 0) or None
                else:
                    before = last[name] = _Open(name, moment.start, moment.end, facts, seen_at, [], [])
                    done.append(before)
                if view:
                    before.mismatches.extend(self._mismatch(view.membership, moment))
                    before.mixtures.extend(self._mixture(view.membership, moment))
        return done

    def _mismatch(self, membership: Membership, moment: Moment) -> Iterator[Mismatch]:
        book = self._books.at(moment.start)
        told = book.told(membership)
        if len({subscriptions for _, subscriptions in told}) > 1:
            yield Mismatch(moment.start, moment.end, told)

    def _mixture(self, membership: Membership, moment: Moment) -> Iterator[MessageModelConflict]:
        told = self._books.at(moment.start).models(membership)
        if len({model for _, model in told}) > 1:
            yield MessageModelConflict(moment.start, moment.end, told)

    def _facts(self, topic: str, route: tuple[RouteEntry, ...] | None, view: View | None, start: int) -> _Facts:
        membership, book, mode = view.membership if view else None, self._books.at(start), None
        request = request_mode(view.request_modes, topic) if view else None
        if view:
            mode = self._not_owned(view, book, start, request)
        key = (topic, id(route), id(membership), id(book), mode, request)
        if key not in self._known:
            # All that is looked at of the snapshots: what is found holds for every step of a run.
            told = tuple(book.states.get(one.client_id) for one in membership.connections) if membership else ()
            state = (topic, topic in self._spans.subscribed, route, membership, told, mode, request)
            facts: dict[object, _Facts] = self._replays.facts
            if state not in facts:
                facts[state] = self._resolved(topic, route, membership, book, mode, request)
            self._known[key] = facts[state]
        return self._known[key]

    def _resolved(
        self,
        topic: str,
        route: tuple[RouteEntry, ...] | None,
        membership: Membership | None,
        book: ClientStates,
        mode: Reason | None,
        request: RequestMode | None,
    ) -> _Facts:
        # Which strategy the members of a POP group run is not configured.
        configured = None if self._is_pop else self._replays.settings.strategy
        connections = in_allocation_order(membership.connections) if membership else []
        states = [book.states.get(one.client_id) for one in connections]
        resolved = resolve_strategies([state.strategy_class if state else None for state in states], configured)
        if membership and is_known(request) and self._is_assigned(membership, book):
            by_broker = (self._is_pop or book.is_assigned(one.client_id) for one in connections)
            resolved = as_assigned(resolved, by_broker, request)
        members = members_of(connections, book.states, resolved, topic) if membership else None
        queues = self._replays.queues_of(route) if route is not None else None
        reason = _unseen(route, members) or _BY_TYPE.get(topic_type(route or ()) or "") or mode
        reason = reason or self._not_subscribed(topic, members)
        reason = reason or self._not_replayable(members, queues)
        if reason or members is None or queues is None:
            return _Facts(reason.status if reason else Status.UNOBSERVED, reason, None, members, queues, None)
        allocation = self._replays.allocation(Inputs(topic, members, queues.readable, queues.unreadable))
        return _Facts(Status.REPLAYED, None, group_source(resolved, configured), members, queues, allocation)

    def _not_owned(self, view: View, book: ClientStates, moment: int, request: RequestMode | None) -> Reason | None:
        """Why no client owns queues: it holds while it is seen. A gRPC client that shows on a broker came by a proxy
        inside it. Where nobody is connected, nobody pops.
        """
        if view.broadcasting:
            return Reason.BROADCASTING
        if view.membership.message_model == LITE_SELECTIVE:
            return Reason.LITE
        connections = view.membership.connections
        if any(is_grpc(one.client_id) for one in connections):
            return Reason.BROKER_REBALANCE
        if self._is_assigned(view.membership, book):
            if not is_known(request):
                return Reason.BROKER_REBALANCE
            if connections and everybody_pops_all(request, len(connections)):
                return Reason.POP_ALL_QUEUES
        unseen = self._unseen.at(moment)
        return Reason(unseen.state) if unseen else None

    @property
    def _is_pop(self) -> bool:
        return self._replays.settings.strategy == POP

    def _is_assigned(self, membership: Membership, book: ClientStates) -> bool:
        """Whether the broker assigns queues to any member."""
        return self._is_pop or book.leaves_it_to_the_broker(membership)

    def _not_subscribed(self, topic: str, members: tuple[Member, ...] | None) -> Reason | None:
        nobody_subscribes = all(member.known and not member.subscribes for member in members or ())
        if members and (nobody_subscribes or topic not in self._spans.subscribed):
            return Reason.NOT_SUBSCRIBED
        return None

    def _not_replayable(self, members: tuple[Member, ...] | None, queues: Queues | None) -> Reason | None:
        if not members or queues is None:
            return None
        if not queues.readable:
            return Reason.NO_READABLE_QUEUE
        names = {member.strategy for member in members}
        if UNKNOWN_STRATEGY in names:
            return Reason.UNKNOWN_STRATEGY
        if any(name.startswith(LACKING) for name in names):
            return Reason.BROKER_LACKS_STRATEGY
        strategies = [self._replays.settings.named(name) for name in names]
        if any(strategy.settings_missing for strategy in strategies):
            return Reason.SETTINGS_MISSING
        nearby = next((one for one in strategies if one.base == MACHINE_ROOM_NEARBY), None)
        try:
            if nearby:
                by_room(nearby, [MessageQueue("", *place) for place in queues.readable], [m.client_id for m in members])
        except KeepsWhatItHad:
            return Reason.ROOM_UNRESOLVABLE
        return None


def _unseen(route: tuple[RouteEntry, ...] | None, members: tuple[Member, ...] | None) -> Reason | None:
    if route is None:
        return Reason.NO_ROUTE_SNAPSHOT
    if not route:
        return Reason.NO_ROUTE
    return Reason.NO_MEMBERSHIP_SNAPSHOT if members is None else None


def _ids(members: Iterable[Member] | None) -> list[str]:
    return [member.client_id for member in members or ()]


def _closed(topic: str, one: _Open) -> RebalanceInterval:
    facts = one.facts
    return RebalanceInterval(
        topic=topic,
        view=one.view,
        start=one.start,
        end=one.end,
        status=facts.status,
        reason=facts.reason,
        strategy_source=facts.source,
        members=facts.members,
        queues=facts.readable,
        seen_at=one.seen_at,
        allocation=facts.allocation,
        mismatches=tuple(one.mismatches),
        mixtures=tuple(one.mixtures),
    )
