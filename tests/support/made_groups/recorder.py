"""Snapshots of a synthetic group: each source at its own second of a round, one broker a few seconds after the
other, or, where it is slow, at any; in some hours it is down for two rounds, or misses one or two of a single source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from spark_jobs.domain.model.history import (
    ClientHistory,
    ClientSamples,
    ClientState,
    Connection,
    ConsumeStatus,
    GroupHistory,
    Membership,
    OffsetSamples,
    OwnedQueue,
    TopicSamples,
)
from spark_jobs.domain.model.message_queue import PERM_READ, MessageQueue, RouteEntry, sort_client_ids, sort_queues
from spark_jobs.domain.model.series import Series, Sightings
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP
from spark_jobs.domain.rocketmq.strategies import STRATEGY_OF_CLASS, Strategy
from tests.support.kernel import series_of
from tests.support.made_groups.lives import ALWAYS, Life, Time, at, changed
from tests.support.made_groups.samples import FIRST, REDELIVERED, micros, offset_samples, places, topic_samples
from tests.support.oracle.client import allocate

CLASS_OF_STRATEGY = {name: class_name for class_name, name in STRATEGY_OF_CLASS.items()}


def recorded(name: str, life: Life, random: Random, cadence: int = 60, *, is_slow: bool = False) -> GroupHistory:
    """The history that the kernel is given, of a cluster of that name; `cadence`: seconds between two rounds. Of the
    group that reads revive topics there are offsets only.
    """
    recorder = _Recorder(life, random, cadence, is_slow=is_slow)
    if life.group == REVIVE_GROUP:
        return GroupHistory(name, life.group, offsets=dict(recorder.offsets()))
    memberships, routes = dict(recorder.memberships()), dict(recorder.routes())
    return GroupHistory(
        name,
        life.group,
        memberships=memberships,
        routes=routes,
        readable={topic: dict(readable(series)) for topic, series in routes.items()},
        masterless=dict(recorder.masterless()),
        clients=dict(recorder.clients()) if life.answers else {},
        offsets=dict(recorder.offsets()),
        topics=dict(recorder.topics()),
        proxies=recorder.proxies() if life.has_proxy else {},
    )


def readable(route: Series[tuple[RouteEntry, ...]]) -> Iterator[tuple[tuple[str, int] | None, Sightings]]:
    """When so many queues of a broker were readable; None: when there was no route."""
    times: dict[tuple[str, int] | None, list[int]] = defaultdict(list)
    for time, code in zip(route.times.tolist(), route.codes.tolist(), strict=True):
        named = [(one.broker_name, one.read_queue_nums) for one in route.states[code] if one.perm & PERM_READ]
        for queues in named if route.states[code] else [None]:
            times[queues].append(time)
    return ((queues, Sightings.of(np.array(seen))) for queues, seen in times.items())


class _Recorder:
    def __init__(self, life: Life, random: Random, cadence: int, *, is_slow: bool) -> None:
        self._life, self._random, self._cadence, self._is_slow = life, random, cadence, is_slow
        self._base = random.randrange(1, 10_000) + life.waiting + life.batch + life.base
        self._numbers = np.random.default_rng(random.randrange(2**32))
        self._down: set[int] = set()
        for _ in range(life.hours):
            self._down |= self._few_rounds(random.choice((0, 0, 1, 2)), self._down)
        self._dealt: dict[tuple[object, ...], list[MessageQueue]] = {}

    def _few_rounds(self, count: int, others: set[int]) -> set[int]:
        """Rounds in a row: two are as long as a snapshot holds. None where others, or where a fault begins or ends, are
        near.
        """
        first, near = self._random.randrange(FIRST, self._life.end, self._cadence), 4 * self._cadence
        avoided = {*others, *(self._life.fault or ()), *(self._life.sources_lost or ())}
        if any(first - near < second < first + near for second in avoided):
            return set()
        return {first + place * self._cadence for place in range(count)}

    def _seconds(self, late: float = 0.0) -> list[float]:
        """When one source was asked: not while the recorder was down, and perhaps not in a few rounds of its own."""
        cadence, life, random = self._cadence, self._life, self._random
        phase = random.uniform(0, 0.9 * cadence) if self._is_slow else random.uniform(0, cadence / 4) + late
        without = set(self._down)
        for _ in range(life.hours):
            if random.random() < 0.3:
                without |= self._few_rounds(2 if self._is_slow else 1, without)
        return [
            second + phase
            for second in range(FIRST, life.end, cadence)
            if second not in without and not (life.sources_lost and second in life.sources_lost)
        ]

    def _begun(self, seconds: list[float]) -> list[float]:
        """Those in which somebody has heard of the group."""
        since = self._life.begins[0] if self._life.begins else ALWAYS
        return [one for one in seconds if one >= since]

    def memberships(self) -> Iterator[tuple[str, Series[Membership]]]:
        life = self._life
        for place, broker in enumerate([*life.brokers, *(["bystander"] if life.bystander else [])]):
            late = place * self._random.uniform(0, self._cadence / 12)
            is_host = broker != "bystander" and life.connects
            members = life.listed.get(broker, life.members)
            seen = [(second, at(members, second) if is_host else ()) for second in self._begun(self._seconds(late))]
            listed = [(micros(second), self._listed(ids, number)) for number, (second, ids) in enumerate(seen)]
            yield broker, series_of(listed)

    def _listed(self, ids: Sequence[str], number: int) -> Membership:
        """The subscriptions are those of the last heartbeat."""
        life = self._life
        if not ids:
            return Membership((), frozenset(), frozenset(), None)
        connections = [
            Connection(
                one, f"{one.partition('@')[0]}:{40_000 + place}", life.languages.get(one, life.language), life.version
            )
            for place, one in enumerate(sort_client_ids(ids))
        ]
        topics = life.topics_of(ids[number % len(ids)])
        subscribed = frozenset((topic, life.expression) for topic in topics if not topic.startswith("%RETRY%"))
        listed = tuple(connections), frozenset(topics), subscribed
        return Membership(*listed, life.model, life.consume_type, consume_from_where=life.consume_from_where)

    def routes(self) -> Iterator[tuple[str, Series[tuple[RouteEntry, ...]]]]:
        for topic in self._life.routes:
            yield topic, series_of([(micros(one), self._life.route(topic, one)) for one in self._seconds()])

    def masterless(self) -> Iterator[tuple[str, Series[frozenset[str]]]]:
        without = self._life.slave_only
        for topic in self._life.routes if without else ():
            seen = [(second, without is not None and second in without) for second in self._seconds()]
            yield topic, series_of([(micros(one), frozenset({"broker-b"} if is_away else ())) for one, is_away in seen])

    def clients(self) -> Iterator[tuple[str, ClientHistory]]:
        life = self._life
        for client_id in life.ids:
            seconds = [one for one in self._seconds() if client_id in at(life.members, one)]
            states = [self._state(client_id, second) for second in seconds]
            series = series_of([(micros(one), state) for one, state in zip(seconds, states, strict=True)])
            yield client_id, ClientHistory(series, self._samples(client_id, seconds, states))

    def _state(self, client_id: str, second: float) -> ClientState:
        life = self._life
        if client_id in life.silent and second in life.silent[client_id]:
            return ClientState(answered=False)
        topics = life.topics_of(client_id)
        strategy = life.strategies.get(client_id, life.strategy)
        state = ClientState(
            answered=True,
            strategy_class=f"org.apache.rocketmq.client.consumer.rebalance.{CLASS_OF_STRATEGY[strategy]}",
            message_model=life.model,
            consume_orderly=life.orderly,
            client_rebalance=life.client_rebalance,
            consume_threads=20,
            topics=frozenset(topics),
            subscriptions=frozenset((one, life.expression) for one in topics if not one.startswith("%RETRY%")),
            owned=self._owned(client_id, Strategy(strategy), second) if life.owns else (),
        )
        return changed(state, life.says.get(client_id), second)

    def _owned(self, client_id: str, strategy: Strategy, second: float) -> tuple[OwnedQueue, ...]:
        """What it has taken 15 s after the last change."""
        life = self._life
        ids = sort_client_ids(at(life.members, second - 15))
        found: list[MessageQueue] = []
        for topic in life.topics_of(client_id):
            # Without a route, clients keep the queues that they had.
            hosts = life.readable(topic, second - 45) or life.readable(topic, ALWAYS)
            key = (client_id, strategy.name, topic, tuple(hosts.items()), *ids)
            if key not in self._dealt:
                queues = sort_queues(MessageQueue(topic, *place) for place in places(hosts))
                own = allocate(strategy, client_id, queues, ids) if client_id in ids else []
                self._dealt[key] = queues if life.model == "BROADCASTING" else own or []
            found += self._dealt[key]
        return tuple(OwnedQueue(*one, locked=life.orderly or None, dropped=False) for one in sort_queues(found))

    def _samples(self, client_id: str, seconds: Sequence[float], states: Sequence[ClientState]) -> ClientSamples:
        counts = [len(state.owned or ()) for state in states]
        total, pulls_by_hand = sum(counts), self._life.consume_type == "CONSUME_ACTIVELY"
        asked = np.repeat(np.array([micros(one) // MILLISECOND for one in seconds], dtype=np.int64), counts)
        held, many = self._life.cached.get(client_id, (Time(0, 0), 0))
        many_held = [many if second in held else 0 for second in seconds]
        cached = self._numbers.integers(0, 8, total) + np.repeat(np.array(many_held, np.int64), counts)
        if self._life.expression != "*":
            cached = np.zeros_like(cached)
        idle = self._numbers.integers(0, 600_000 if pulls_by_hand else 15_000, total) + 1000 * self._life.clocks_behind
        hung = [self._life.no_pull is not None and second in self._life.no_pull for second in seconds]
        pulled = asked - idle
        if self._life.no_pull is not None:
            pulled = np.where(np.repeat(hung, counts), micros(self._life.no_pull.start) // MILLISECOND, pulled)
        return ClientSamples(
            np.cumsum([0, *counts]),
            cached,
            np.zeros(total, np.int64),
            np.full(total, 1000, np.int64),
            1000 + cached,
            pulled,
            np.full(total, micros(FIRST) // MILLISECOND) if self._life.unread else pulled,
            pulled,
            [self._measured(client_id, one, state) for one, state in zip(seconds, states, strict=True)],
        )

    def _measured(self, client_id: str, second: float, state: ClientState) -> tuple[ConsumeStatus, ...] | None:
        """Of every topic that it subscribes: 5 to 50 ms a message."""
        if not state.answered:
            return None
        rt, found = self._random.uniform(5, 50), []
        drained = self._drained(second)
        for topic in sorted(state.topics or ()):
            queues = sum(one.topic == topic for one in state.owned or ())
            rate = 0.0 if topic.startswith("%RETRY%") else float((self._life.rate + drained) * queues)
            found.append(ConsumeStatus(topic, 1.0 if drained else rt, rate, 0.0, 10.0, rate))
        return tuple(changed(one, self._life.measures.get(client_id), second) for one in found)

    def _drained(self, second: float) -> float:
        """Messages a second of each queue in the minutes in which what a slow consumer left is consumed."""
        start, end = self._life.slowed or Time(0, 0)
        return self._life.rate * (end - start) / 2 / 60 if 0 <= second - end < 180 else 0.0

    def offsets(self) -> Iterator[tuple[str, OffsetSamples]]:
        for topic in [*self._life.routes, *([REDELIVERED] if self._life.redelivers else [])]:
            if self._life.model != "BROADCASTING":
                seconds = self._begun(self._seconds())
                yield topic, offset_samples(self._life, topic, seconds, self._base, self._numbers)

    def topics(self) -> Iterator[tuple[str, TopicSamples]]:
        for topic in self._life.routes:
            yield topic, topic_samples(self._life, topic, self._seconds(), self._base)

    def proxies(self) -> dict[str, Series[Membership]]:
        listed = Membership((Connection("proxy@DEFAULT"),), frozenset({"heartbeats"}), frozenset(), "BROADCASTING")
        return {"broker-a": series_of([(micros(second), listed) for second in self._seconds()])}
