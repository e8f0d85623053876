"""Snapshots of a synthetic group, a round every so many seconds: each source at its own second of the round, one broker
a few seconds after the other. In some rounds nothing is recorded, and in others a source is missing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.history import (
    RETRY,
    ClientHistory,
    ClientSamples,
    ClientState,
    Connection,
    ConsumeStatus,
    GroupHistory,
    Membership,
    OffsetSamples,
    OwnedQueue,
    Place,
    TopicSamples,
)
from spark_jobs.domain.model.message_queue import PERM_READ, MessageQueue, RouteEntry, sort_client_ids, sort_queues
from spark_jobs.domain.model.series import Series, Sightings
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP
from spark_jobs.domain.rocketmq.strategies import STRATEGY_OF_CLASS, Strategy
from tests.support.kernel import series_of
from tests.support.oracle.client import allocate
from tests.support.synthetic_groups.lives import ALWAYS, END, Life, Standing, Time, at, changed
from tests.support.synthetic_groups.samples import (
    FIRST,
    REDELIVERED,
    all_micros,
    all_queues,
    micros,
    offset_samples,
    places,
    topic_samples,
)

CLASS_OF_STRATEGY = {name: class_name for class_name, name in STRATEGY_OF_CLASS.items()}


def recorded(name: str, life: Life, random: Random, cadence: int = 60) -> GroupHistory:
    """The history that the kernel is given, of a cluster of that name; `cadence`: seconds between two rounds. Of the
    group that reads revive topics there are only offsets.
    """
    recorder = _Recorder(life, random, cadence)
    if life.group == REVIVE_GROUP:
        return GroupHistory(name, life.group, offsets=dict(recorder.offsets()))
    memberships, routes = dict(recorder.memberships()), dict(recorder.routes())
    return GroupHistory(
        name,
        life.group,
        memberships=memberships,
        routes=routes,
        readable={topic: dict(_readable(series)) for topic, series in routes.items()},
        masterless=dict(recorder.masterless()),
        clients=dict(recorder.clients()) if life.answers else {},
        offsets=dict(recorder.offsets()),
        topics=dict(recorder.topics()),
        proxies=recorder.proxies() if life.is_behind_proxy else {},
    )


def _readable(route: Series[tuple[RouteEntry, ...]]) -> Iterator[tuple[tuple[str, int] | None, Sightings]]:
    """When so many queues of a broker were readable; None: when there was no route."""
    times: dict[tuple[str, int] | None, list[int]] = defaultdict(list)
    for time, code in zip(route.times.tolist(), route.codes.tolist(), strict=True):
        named = [(one.broker_name, one.read_queue_nums) for one in route.states[code] if one.perm & PERM_READ]
        for queues in named if route.states[code] else [None]:
            times[queues].append(time)
    return ((queues, Sightings.of(np.array(seen))) for queues, seen in times.items())


class _Recorder:
    def __init__(self, life: Life, random: Random, cadence: int) -> None:
        self.life, self.random, self.cadence = life, random, cadence
        self.base = random.randrange(1, 10_000) + life.waiting + life.batch + life.base
        self.numbers = np.random.default_rng(random.randrange(2**32))
        self.rounds = range(FIRST + random.randrange(cadence), END, cadence)
        self.down = self._few_rounds(random.choice((0, 0, 1, 2)), ())
        self.assigned: dict[tuple[object, ...], list[MessageQueue]] = {}

    def _few_rounds(self, count: int, others: Sequence[int]) -> list[int]:
        """Rounds in a row: two are as long as a snapshot applies. None near others, or a fault's begin or end."""
        first = self.random.choice(self.rounds)
        avoided = (*others, *(self.life.fault or ()), *(self.life.sources_lost or ()))
        is_near = any(abs(first - second) < 4 * self.cadence for second in avoided)
        return [] if is_near else [first + number * self.cadence for number in range(count)]

    def _seconds(self, late: float = 0.0) -> list[float]:
        """When one source was asked: not while the recorder was down, and perhaps not in one more round."""
        phase = self.random.uniform(0, self.cadence / 4) + late
        without = [*self.down, *(self._few_rounds(1, self.down) if self.random.random() < 0.3 else ())]
        lost = self.life.sources_lost or ()
        return [second + phase for second in self.rounds if second not in without and second not in lost]

    def _begun(self, seconds: list[float]) -> list[float]:
        """Those in which the group is known."""
        since = self.life.begins[0] if self.life.begins else ALWAYS
        return [one for one in seconds if one >= since]

    def memberships(self) -> Iterator[tuple[str, Series[Membership]]]:
        life = self.life
        for number, broker in enumerate([*life.brokers, *(["bystander"] if life.bystander else [])]):
            seconds = self._begun(self._seconds(late=number * self.random.uniform(0, self.cadence / 12)))
            is_host = broker != "bystander" and not life.is_behind_proxy
            members = life.listed.get(broker, life.members) if is_host else [(ALWAYS, ())]
            listed = [self._listed(at(members, second), heartbeat) for heartbeat, second in enumerate(seconds)]
            yield broker, series_of([*zip(map(micros, seconds), listed, strict=True)])

    def _listed(self, ids: Sequence[str], heartbeat: int) -> Membership:
        """The subscriptions are those of the last heartbeat."""
        life = self.life
        if not ids:
            return Membership((), frozenset(), frozenset(), None)
        connections = tuple(
            Connection(
                one, f"{one.partition('@')[0]}:{40_000 + number}", life.languages.get(one, life.language), life.version
            )
            for number, one in enumerate(sort_client_ids(ids))
        )
        topics = frozenset(life.topics_of(ids[heartbeat % len(ids)]))
        subscribed = self._subscriptions(topics)
        of_all = (life.model, life.consume_type)
        return Membership(connections, topics, subscribed, *of_all, consume_from_where=life.consume_from_where)

    def _subscriptions(self, topics: frozenset[str]) -> frozenset[tuple[str, str]]:
        return frozenset((topic, self.life.expression) for topic in topics if not topic.startswith(RETRY))

    def routes(self) -> Iterator[tuple[str, Series[tuple[RouteEntry, ...]]]]:
        for topic in self.life.routes:
            yield topic, series_of([(micros(one), self.life.route(topic, one)) for one in self._seconds()])

    def masterless(self) -> Iterator[tuple[str, Series[frozenset[str]]]]:
        away = self.life.slave_only
        for topic in self.life.routes if away else ():
            seen = [(one, frozenset({"broker-b"} if away and one in away else ())) for one in self._seconds()]
            yield topic, series_of([(micros(one), without) for one, without in seen])

    def clients(self) -> Iterator[tuple[str, ClientHistory]]:
        for client_id in self.life.ids:
            seconds = [one for one in self._seconds() if client_id in at(self.life.members, one)]
            states = [self._state(client_id, second) for second in seconds]
            series = series_of([*zip(map(micros, seconds), states, strict=True)])
            yield client_id, ClientHistory(series, self._samples(client_id, seconds, states))

    def _state(self, client_id: str, second: float) -> ClientState:
        life = self.life
        if second in life.silent.get(client_id, ()):
            return ClientState(answered=False)
        topics, strategy = frozenset(life.topics_of(client_id)), life.strategies.get(client_id, life.strategy)
        state = ClientState(
            answered=True,
            strategy_class=f"org.apache.rocketmq.client.consumer.rebalance.{CLASS_OF_STRATEGY[strategy]}",
            message_model=life.model,
            consume_orderly=life.orderly,
            client_rebalance=life.client_rebalance,
            consume_threads=20,
            topics=topics,
            subscriptions=self._subscriptions(topics),
            owned=self._owned(client_id, Strategy(strategy), second) if life.owns else (),
        )
        return changed(state, life.says.get(client_id), second)

    def _owned(self, client_id: str, strategy: Strategy, second: float) -> tuple[OwnedQueue, ...]:
        """The queues that it has taken 15 s after the last change."""
        life = self.life
        ids = sort_client_ids(at(life.members, second - 15))
        found: list[MessageQueue] = []
        for topic in life.topics_of(client_id):
            # Without a route, clients keep the queues that they had.
            hosts = life.readable(topic, second - 45) or life.readable(topic, ALWAYS)
            key = (client_id, strategy.name, topic, tuple(hosts.items()), *ids)
            if key not in self.assigned:
                queues = sort_queues(MessageQueue(topic, *place) for place in places(hosts))
                own = allocate(strategy, client_id, queues, ids) if client_id in ids else []
                self.assigned[key] = queues if life.model == "BROADCASTING" else own or []
            found += self.assigned[key]
        return tuple(OwnedQueue(*one, locked=life.orderly or None, dropped=False) for one in sort_queues(found))

    def _samples(self, client_id: str, seconds: Sequence[float], states: Sequence[ClientState]) -> ClientSamples:
        """All queues of all answers; a client pulls each within 15 s, unless the application or nobody does."""
        life, counts = self.life, [len(state.owned or ()) for state in states]
        total = sum(counts)
        held, many = life.cached.get(client_id, (Time(0, 0), 0))
        cached = self.numbers.integers(0, 8, total) + np.repeat([many * (second in held) for second in seconds], counts)
        idle = self.numbers.integers(0, 600_000 if life.consume_type == "CONSUME_ACTIVELY" else 15_000, total)
        pulled = np.repeat(all_micros(seconds) // MILLISECOND, counts) - idle - 1000 * life.clocks_behind
        stood = self._stood_since(seconds, states)
        cached = np.where(stood > 0, np.maximum(cached, 1), cached)
        if life.expression != "*":
            cached = np.zeros_like(cached)
        if life.no_pull is not None:
            hung = np.repeat([second in life.no_pull for second in seconds], counts)
            pulled = np.where(hung, micros(life.no_pull.start) // MILLISECOND, pulled)
        return ClientSamples(
            np.cumsum([0, *counts]),
            cached,
            np.zeros(total, np.int64),
            np.full(total, 1000, np.int64),
            1000 + cached,
            pulled,
            np.full(total, micros(FIRST) // MILLISECOND) if life.unread else np.where(stood > 0, stood, pulled),
            pulled,
            [self._measured(client_id, one, state) for one, state in zip(seconds, states, strict=True)],
        )

    def _stood_since(self, seconds: Sequence[float], states: Sequence[ClientState]) -> NDArray[np.int64]:
        """Of each queue of all answers since when it stands, in milliseconds; 0: it moves."""
        routes = self.life.routes
        columns = {one.topic: all_queues(routes[one.topic]) for one in self.life.standing if one.topic in routes}
        stood = [
            max((one.time.start for one in self.life.standing if self._is_of(one, columns, own, second)), default=None)
            for second, state in zip(seconds, states, strict=True)
            for own in state.owned or ()
        ]
        return np.array([0 if one is None else micros(max(one, FIRST)) // MILLISECOND for one in stood], np.int64)

    @staticmethod
    def _is_of(one: Standing, columns: Mapping[str, Sequence[Place]], own: OwnedQueue, second: float) -> bool:
        place = own.broker_name, own.queue_id
        is_known = one.topic == own.topic and second in one.time and place in columns.get(one.topic, ())
        return is_known and columns[one.topic].index(place) in one.indexes

    def _measured(self, client_id: str, second: float, state: ClientState) -> tuple[ConsumeStatus, ...] | None:
        """Of every topic that it subscribes to: 5 to 50 ms a message. The backlog of a slow consumer is drained within
        three minutes after it is replaced.
        """
        if not state.answered:
            return None
        (start, end), rt, found = self.life.slowed or Time(0, 0), self.random.uniform(5, 50), []
        drained = self.life.rate * (end - start) / 2 / 60 if 0 <= second - end < 180 else 0.0
        for topic in sorted(state.topics or ()):
            queues = sum(one.topic == topic for one in state.owned or ())
            rate = 0.0 if topic.startswith(RETRY) else float((self.life.rate + drained) * queues)
            found.append(ConsumeStatus(topic, 1.0 if drained else rt, rate, 0.0, 10.0, rate))
        return tuple(changed(one, self.life.measures.get(client_id), second) for one in found)

    def offsets(self) -> Iterator[tuple[str, OffsetSamples]]:
        topics = [*self.life.routes, *([REDELIVERED] if self.life.redelivers else [])]
        for topic in topics if self.life.model != "BROADCASTING" else ():
            seconds = self._begun(self._seconds())
            yield topic, offset_samples(self.life, topic, seconds, self.base, self.numbers)

    def topics(self) -> Iterator[tuple[str, TopicSamples]]:
        for topic in self.life.routes:
            yield topic, topic_samples(self.life, topic, self._seconds(), self.base)

    def proxies(self) -> dict[str, Series[Membership]]:
        listed = Membership((Connection("proxy@DEFAULT"),), frozenset({"heartbeats"}), frozenset(), "BROADCASTING")
        return {"broker-a": series_of([(micros(second), listed) for second in self._seconds()])}
