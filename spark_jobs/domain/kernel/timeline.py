"""The rebalance intervals of one step: the spans in which nothing that an allocation depends on changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Disagreement, RebalanceInterval
from spark_jobs.domain.kernel.group_spans import ClientStates, ClientStateTimeline, GroupSpans
from spark_jobs.domain.kernel.members import group_source, in_allocation_order, is_grpc, members_of
from spark_jobs.domain.kernel.observation import Observation
from spark_jobs.domain.kernel.ownership import Inputs, Queues, Replays, implementations
from spark_jobs.domain.kernel.unseen import by_brokers
from spark_jobs.domain.kernel.views import Moment, Timeline, View, moments, with_modes
from spark_jobs.domain.model.history import PULLS_BY_HAND, ClientHistory, Connection, Membership, Place, RequestMode
from spark_jobs.domain.model.message_queue import LITE, STATIC, MessageModel, RouteEntry, topic_type
from spark_jobs.domain.model.statuses import IS_DELETED, Reason
from spark_jobs.domain.model.window import AuditSettings, StepWindow, Time
from spark_jobs.domain.rocketmq.allocation import unresolvable_room
from spark_jobs.domain.rocketmq.pop import LACKING, as_assigned, is_known, pops_all, request_mode
from spark_jobs.domain.rocketmq.strategies import POP, UNKNOWN_STRATEGY, Resolved

#: Topics whose queues no strategy divides, as clients know them.
_BY_TYPE = {STATIC: Reason.STATIC_TOPIC, LITE: Reason.LITE}


class _Replay(NamedTuple):
    """The fields of `RebalanceInterval` that follow from the snapshots in force."""

    reason: Reason | None
    strategy_source: str | None
    strategy_alternatives: tuple[str, ...]
    members: tuple[Member, ...] | None
    queues: tuple[Place, ...] | None
    allocation: Allocation | None
    unreadable: tuple[Place, ...] = ()


_DELETED, _TOPIC_DELETED = (_Replay(reason, None, (), None, None, None) for reason in IS_DELETED)


class _Known(NamedTuple):
    """The snapshots that a replay follows from, but for strategies that only reports of queues show."""

    topic: str
    is_subscribed: bool
    route: tuple[RouteEntry, ...] | None
    membership: Membership | None
    states: ClientStates
    without_owners: Reason | None
    request: RequestMode | None

    @property
    def connections(self) -> Sequence[Connection]:
        """Those of the view, in allocation order."""
        return in_allocation_order(self.membership.connections) if self.membership else []


class StepTimeline:
    """The intervals of one step of one group, topic by topic."""

    def __init__(
        self,
        spans: GroupSpans,
        window: StepWindow,
        settings: AuditSettings,
        replays: Replays,
        clients: Mapping[str, ClientHistory],
    ) -> None:
        self._spans, self._window, self._settings, self._replays = spans, window, settings, replays
        self._members = {
            broker: Timeline(with_modes(listed)) for broker, listed in by_brokers(spans.memberships).items()
        }
        self._moments_of: dict[str, list[Moment]] = {}
        self._clients = ClientStateTimeline(spans.clients, window, replays.client_states)
        self._observation = Observation(spans, self._moments, clients, self._clients.last, settings, replays)
        self._unseen = Timeline(spans.unseen)
        member_changes = (timeline.changes(window) for timeline in self._members.values())
        self._cuts = {window.observed_from, *self._clients.starts}.union(
            self._changes(spans.deleted), self._unseen.changes(window), *member_changes
        )

    def _changes(self, times: Iterable[Time]) -> set[int]:
        """The beginnings and ends of the times inside the window."""
        return {at for time in times for at in time if self._window.observed_from < at < self._window.end}

    def intervals(self) -> list[RebalanceInterval]:
        """By topic, start and view, over the step and its warm-up; of all topics that subscriptions or offsets name."""
        return [interval for topic in self._observation.topics for interval in self._intervals_of(topic)]

    def _intervals_of(self, topic: str) -> list[RebalanceInterval]:
        """The intervals of one topic by start and view, neighbors of one view in one state joined to one."""
        merged: list[RebalanceInterval] = []
        last_of_view: dict[str, int] = {}
        for interval in self._unmerged(topic):
            place = last_of_view.get(interval.view)
            if place is not None and _continues(merged[place], interval):
                merged[place] = _joined(merged[place], interval)
            else:
                last_of_view[interval.view] = len(merged)
                merged.append(interval)
        return sorted(merged, key=lambda interval: (interval.start, interval.view))

    def _unmerged(self, topic: str) -> Iterator[RebalanceInterval]:
        """One interval per view and span between two changes of any snapshot."""
        for moment in self._moments(topic):
            for view in moment.views or (None,):
                replay = self._by_hand(topic, view, self._replay(topic, moment, view))
                conflicting = self._clients.at(moment.start).conflicting(view.membership) if view else ()
                yield RebalanceInterval(
                    topic=topic,
                    view=view.name if view else ALL_HOSTS,
                    start=moment.start,
                    end=moment.end,
                    seen_at=min(view.seen_at, moment.end) if view else None,
                    disagreements=(Disagreement(moment.start, moment.end, *conflicting),) if any(conflicting) else (),
                    **replay._asdict(),
                )

    def _by_hand(self, topic: str, view: View | None, replay: _Replay) -> _Replay:
        """The same; of a topic that no member subscribes to, with the queues that its members assign to themselves."""
        assigned = self._spans.assigned.get(topic)
        if not assigned or replay.reason is not Reason.NOT_SUBSCRIBED or view is None:
            return replay
        if view.membership.consume_type != PULLS_BY_HAND:
            return replay
        queues = tuple(queue for queue in replay.queues or () if queue in assigned)
        return replay._replace(reason=Reason.ASSIGNED_BY_HAND, queues=queues)

    def _moments(self, topic: str) -> Sequence[Moment]:
        """The times of a topic in which nothing changes, in order."""
        if topic not in self._moments_of:
            routes = Timeline(self._spans.routes.get(topic, ()))
            deletions = self._changes(self._spans.deleted_topics.get(topic, ()))
            cuts = sorted(self._cuts | deletions | routes.changes(self._window))
            tolerance = self._settings.cadence // 2
            self._moments_of[topic] = moments(cuts, self._window.end, routes, self._members, tolerance)
        return self._moments_of[topic]

    def _replay(self, topic: str, moment: Moment, view: View | None) -> _Replay:
        """The replay of a view, once per run for the same snapshots."""
        deletions = self._spans.deleted, self._spans.deleted_topics.get(topic, ())
        for deleted, times in zip((_DELETED, _TOPIC_DELETED), deletions, strict=True):
            if any(start <= moment.start < end for start, end in times):
                return deleted
        states, membership = self._clients.at(moment.start), view.membership if view else None
        is_assigned = membership is not None and self._is_assigned(membership, states)
        request = request_mode((each.request_modes for each in view.answers), topic) if view and is_assigned else None
        without_owners = self._why_without_owners(view, states, moment.start, request) if view else None
        is_subscribed = topic in self._spans.subscribed
        known = _Known(topic, is_subscribed, moment.route, membership, states, without_owners, request)
        observed = self._strategies(known) if self._observation.observed else None
        key = known, observed
        replay: _Replay | None = self._replays.replay_of_known.get(key)
        if replay is None:
            replay = self._computed(known, self._strategies(known) if observed is None else observed)
            self._replays.replay_of_known[key] = replay
        return replay

    def _strategies(self, known: _Known) -> tuple[Resolved, ...]:
        readable = self._replays.queues_of(known.route).readable if known.route is not None else ()
        return self._observation.strategies(known.topic, readable, known.connections, known.states)

    def _computed(self, known: _Known, resolved: tuple[Resolved, ...]) -> _Replay:
        topic, _, route, membership, states, without_owners, request = known
        connections = known.connections
        if is_known(request):
            is_pop = self._observation.is_pop
            by_broker = (is_pop or states.is_assigned(connection.client_id) for connection in connections)
            resolved = tuple(as_assigned(resolved, by_broker, request))
        members = members_of(connections, states.states, resolved, topic) if membership else None
        queues = self._replays.queues_of(route) if route is not None else None
        readable = queues.readable if queues else None
        reason = _not_seen(route, members) or _BY_TYPE.get(topic_type(route or ()) or "") or without_owners
        if (
            not reason
            and members
            and (not known.is_subscribed or all(member.known and not member.subscribes for member in members))
        ):
            reason = Reason.NOT_SUBSCRIBED
        reason = reason or self._not_replayable(members, queues)
        if reason or members is None or queues is None:
            hidden = queues.unreadable if queues and reason is Reason.NO_READABLE_QUEUE else ()
            return _Replay(reason, None, (), members, readable, None, tuple(place[:2] for place in hidden))
        allocation = self._replays.allocation(Inputs(topic, members, queues.readable, queues.unreadable))
        source = group_source(resolved, self._observation.configured)
        alternatives = tuple(sorted({name for each in resolved for name in each.alternatives}))
        return _Replay(None, source, alternatives, members, readable, allocation)

    def _why_without_owners(
        self, view: View, states: ClientStates, moment: int, request: RequestMode | None
    ) -> Reason | None:
        """Why no client owns queues; None: clients own them. Brokers list gRPC clients of proxies inside them, and the
        message model of the last heartbeat.
        """
        by_broker = any(answer.message_model == MessageModel.BROADCASTING for answer in view.answers)
        if states.all_broadcast(view.membership, by_broker):
            return Reason.BROADCASTING
        if view.membership.message_model == MessageModel.LITE_SELECTIVE:
            return Reason.LITE
        connections = view.membership.connections
        if any(is_grpc(connection.client_id) for connection in connections):
            return Reason.BROKER_REBALANCE
        if self._is_assigned(view.membership, states):
            if not is_known(request):
                return Reason.BROKER_REBALANCE
            is_pop = request.mode == POP
            if is_pop and connections and pops_all(request.pop_share_queue_num or 0, len(connections)):
                return Reason.POP_ALL_QUEUES
        unseen = self._unseen.at(moment)
        return unseen.state if unseen else None

    def _is_assigned(self, membership: Membership, states: ClientStates) -> bool:
        """Return whether the broker assigns queues to any member."""
        return self._observation.is_pop or states.is_assigned_by_broker(membership)

    def _not_replayable(self, members: tuple[Member, ...] | None, queues: Queues | None) -> Reason | None:
        if not members or queues is None:
            return None
        if not queues.readable:
            return Reason.NO_READABLE_QUEUE
        names = {member.strategy for member in members if member.parameters.holders is None}
        if UNKNOWN_STRATEGY in names:
            return Reason.UNKNOWN_STRATEGY
        if any(name.startswith(LACKING) for name in names):
            return Reason.BROKER_LACKS_STRATEGY
        strategies = [self._replays.settings.named(*implementation) for implementation in implementations(members)]
        if any(strategy.settings_missing for strategy in strategies):
            return Reason.SETTINGS_MISSING
        client_ids = [member.client_id for member in members]
        if any(unresolvable_room(strategy, "", queues.readable, client_ids) for strategy in strategies):
            return Reason.ROOM_UNRESOLVABLE
        return None


def _not_seen(route: tuple[RouteEntry, ...] | None, members: tuple[Member, ...] | None) -> Reason | None:
    if route is None:
        return Reason.NO_ROUTE_SNAPSHOT
    if not route:
        return Reason.NO_ROUTE
    return Reason.NO_MEMBERSHIP_SNAPSHOT if members is None else None


def _continues(before: RebalanceInterval, after: RebalanceInterval) -> bool:
    """Return whether no input of an allocation changed or, without one, neither the reason nor members and queues."""
    if before.end != after.start or before.reason is not after.reason or before.allocation is not after.allocation:
        return False
    if before.allocation is not None or before.members is None:
        return True
    same_queues = before.queues == after.queues and before.unreadable == after.unreadable
    return same_queues and before.client_ids == after.client_ids


def _joined(before: RebalanceInterval, after: RebalanceInterval) -> RebalanceInterval:
    """The first one, until the end of the second."""
    return replace(
        before,
        end=after.end,
        seen_at=max(before.seen_at or 0, after.seen_at or 0) or None,
        disagreements=(*before.disagreements, *after.disagreements),
    )
