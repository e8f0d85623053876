"""The spans of a group's states in the window of one step, and what its clients reported last at each time."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from spark_jobs.domain.kernel.unseen import unseen_times
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import (
    DEAD_LETTERS,
    EVERYTHING,
    PULLS_BY_HAND,
    ClientState,
    GroupHistory,
    Membership,
    OffsetSamples,
    Place,
)
from spark_jobs.domain.model.message_queue import MessageModel, RouteEntry
from spark_jobs.domain.model.series import Series, Span, State
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import AuditSettings, StepWindow, Time
from spark_jobs.domain.rocketmq.pop import is_redelivery
from spark_jobs.domain.rocketmq.strategies import strategy_of_class


@dataclass(frozen=True)
class GroupSpans:
    """The states of a group in one step's window: spans by broker, by topic, by client id; `subscribed`: the topics
    that the group or any of its clients was seen to subscribe to; `offset_topics`: topics that members share, with an
    offset sample in the window; `unseen`: the times, in order, in which consumers that no broker lists consume;
    `deleted`: the times, in order, in which the group is deleted, whatever the window; `deleted_topics`: the same of
    its topics; `assigned`: of a group that pulls by hand, by topic that no member subscribes to, the queues whose
    offsets advance in the window.
    """

    memberships: Mapping[str, Sequence[Span[Membership]]]
    routes: Mapping[str, Sequence[Span[tuple[RouteEntry, ...]]]]
    clients: Mapping[str, Sequence[Span[ClientState]]]
    subscribed: frozenset[str]
    offset_topics: frozenset[str]
    unseen: Sequence[Span[Reason]]
    deleted: Sequence[Time] = ()
    deleted_topics: Mapping[str, Sequence[Time]] = field(default_factory=dict)
    assigned: Mapping[str, frozenset[Place]] = field(default_factory=dict)

    @cached_property
    def filtered(self) -> frozenset[str]:
        """The topics of which it was seen to subscribe to only some messages, by tags or SQL; no retry topics."""
        by_brokers = (span.state.subscriptions for spans in self.memberships.values() for span in spans)
        by_clients = (span.state.subscriptions or () for spans in self.clients.values() for span in spans)
        return frozenset(topic for topic, expression in chain(*by_brokers, *by_clients) if expression != EVERYTHING)


def group_spans(history: GroupHistory, window: StepWindow, settings: AuditSettings) -> GroupSpans:
    """The spans of a group's snapshots inside the window; without brokers, topics and clients that have none, and
    without topics that the group has only before or after it: a longer run knows those, too.
    """

    def seen(of_group: Mapping[str, Series[State]], gap: int | None) -> dict[str, list[Span[State]]]:
        spans_by_key = {key: series.spans(window, gap) for key, series in of_group.items()}
        return {key: spans for key, spans in spans_by_key.items() if spans}

    memberships = seen(history.memberships, settings.max_gap)
    clients = seen({client_id: client.answers for client_id, client in history.clients.items()}, None)
    proxies = seen(history.proxies, settings.max_gap)
    read = {topic for topic, samples in history.offsets.items() if samples.any_inside(window.read_from, window.end)}
    by_brokers = (span.state.topics for spans in memberships.values() for span in spans)
    by_clients = (span.state.topics or () for spans in clients.values() for span in spans)
    subscribed = frozenset[str]().union(*by_brokers, *by_clients)
    known = {*read, *subscribed, DEAD_LETTERS + history.consumer_group}
    spans = GroupSpans(
        memberships=memberships,
        routes=seen({topic: series for topic, series in history.routes.items() if topic in known}, settings.max_gap),
        clients=clients,
        subscribed=subscribed,
        offset_topics=frozenset(topic for topic in read if not is_redelivery(topic, history.consumer_group)),
        unseen=unseen_times(memberships, proxies, history.offsets, window, settings),
        deleted=deleted_times(history.memberships.values(), lambda state: state.listed is not False, window),
        deleted_topics={
            topic: times
            for topic, series in history.topics_listed.items()
            if topic in known and (times := deleted_times([series], lambda is_listed: is_listed, window))
        },
    )
    states = (span.state for of_broker in memberships.values() for span in of_broker)
    if all(state.consume_type != PULLS_BY_HAND for state in states):
        return spans
    topics = spans.offset_topics - subscribed
    return replace(spans, assigned={topic: _advancing(history.offsets[topic], window) for topic in topics})


def _advancing(samples: OffsetSamples, window: StepWindow) -> frozenset[Place]:
    """The queues whose committed offset advances in the window."""
    forward = samples.forward[samples.inside(window.read_from, window.end)][1:]
    return frozenset(samples.queues[column] for column in np.flatnonzero(forward.any(axis=0)).tolist())


def deleted_times(
    every_series: Collection[Series[State]], is_there: Callable[[State], bool | None], window: StepWindow
) -> list[Time]:
    """The times, in order, from a snapshot that reports a deletion to the next that reports the opposite.

    No gap ends them, nor a snapshot that does not say (None): what is deleted is not captured any more.
    """
    if not any(is_there(state) is False for series in every_series for state in series.states):
        return []
    times: list[Time] = []
    since: int | None = None
    for at, listed in sorted(
        (at, listed)
        for series in every_series
        for inside in [series.inside(window.read_from, window.end)]
        for at, code in zip(series.times[inside].tolist(), series.codes[inside].tolist(), strict=True)
        if (listed := is_there(series.states[code])) is not None
    ):
        if not listed:
            since = at if since is None else since
        elif since is not None:
            times.append((since, at))
            since = None
    return times if since is None else [*times, (since, window.end)]


@dataclass(frozen=True, eq=False)
class ClientStates:
    """The last reported state of every known client, at one time; the same object whenever they are the same."""

    states: Mapping[str, ClientState]

    @cached_with_value
    def conflicting(self, membership: Membership) -> tuple[tuple[tuple[str, Any], ...], ...]:
        """The last two fields of `Disagreement`, of the connected clients."""
        ids = dict.fromkeys(membership.client_ids)
        states = [(client_id, self.states[client_id]) for client_id in ids if client_id in self.states]
        answers = (
            [(of, state.subscriptions) for of, state in states],
            [(of, state.message_model) for of, state in states],
        )
        known = (tuple((of, answer) for of, answer in of_field if answer is not None) for of_field in answers)
        return tuple(each if len({answer for _, answer in each}) > 1 else () for each in known)

    @cached_with_value
    def all_broadcast(self, membership: Membership, by_broker: bool) -> bool:
        """Return whether no connected client consumes for the group; who did not report is as the broker says
        (`by_broker`: BROADCASTING).
        """
        unreported = MessageModel.BROADCASTING if by_broker else MessageModel.CLUSTERING
        states = [self.states.get(connection.client_id) for connection in membership.connections]
        models = {(state and state.message_model) or unreported for state in states} or {unreported}
        return models == {MessageModel.BROADCASTING}

    @cached_property
    def strategies(self) -> Mapping[str, str | None]:
        """The strategy that each client that computes its share reports; None: none that RocketMQ ships."""
        return {
            client_id: strategy_of_class(state.strategy_class or "")
            for client_id, state in self.states.items()
            if state.client_rebalance
        }

    def is_assigned(self, client_id: str) -> bool:
        """Return whether the broker assigns queues to the client; an unknown one of such a group counts, too."""
        return client_id not in self.states or self.states[client_id].client_rebalance is False

    def is_assigned_by_broker(self, membership: Membership) -> bool:
        """Return whether the broker assigns queues to any connected client or, without connections, to any."""
        if not self._assigned:  # as mostly
            return False
        return not membership.connections or not self._assigned.isdisjoint(membership.client_ids)

    @cached_property
    def _assigned(self) -> Set[str]:
        """The clients that report that the broker assigns queues to them: mostly none."""
        return {client_id for client_id, state in self.states.items() if state.client_rebalance is False}


class ClientStateTimeline:
    """The last reported states of clients at each time of a step. The first state of a client reaches back to the
    beginning: it may have been asked only after it joined. `known`: all that were made of the same clients' states.
    """

    def __init__(
        self, clients: Mapping[str, Sequence[Span[ClientState]]], window: StepWindow, known: dict[object, ClientStates]
    ) -> None:
        changes = sorted(
            ((span.start, client_id, span.state) for client_id, spans in clients.items() for span in spans[1:]),
            key=lambda change: change[:2],
        )
        states = {client_id: spans[0].state for client_id, spans in clients.items() if spans}
        since = {window.observed_from: states}
        for start, client_id, state in changes:
            states = since[start] = {**states, client_id: state}
        self.starts = [*since]
        self._states = [known.setdefault((*each, *each.values()), ClientStates(each)) for each in since.values()]

    def at(self, moment: int) -> ClientStates:
        """The client states at a moment, in microseconds."""
        return self._states[bisect_right(self.starts, moment) - 1]

    @property
    def last(self) -> ClientStates:
        """The client states at the end."""
        return self._states[-1]
