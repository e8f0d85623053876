"""Groups whose clients report the queues that they hold, by rules of their own: histories and audited steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from spark_jobs.domain.judge import JudgedStep, judge
from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.history import (
    UNKNOWN,
    ClientHistory,
    ClientReadings,
    ClientState,
    Connection,
    GroupHistory,
    Membership,
    OwnedQueue,
    Place,
)
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.support.kernel import series_of, settings
from tests.support.times import START, micros

EVERY = 10
SETTINGS = settings(EVERY)
#: Of a client with these members and queues, both sorted.
Rule = Callable[[str, Sequence[str], Sequence[Place]], Collection[Place]]
#: From this second on: the members, and the queues of each broker.
Course = Sequence[tuple[int, str, dict[str, int]]]


def history(
    course: Course,
    holds: Callable[[str, int], Collection[Place] | None],
    *,
    until: int = 600,
    language: str | None = "GO",
    strategy_class: str | None = None,
    orderly: bool = False,
    subscribed: Callable[[int], Collection[str]] = lambda _: ("t",),
    consume_type: str | None = None,
) -> GroupHistory:
    """The group `g` on topic `t`, recorded every 10 s; `holds`: what a client lists at a second, None: no answer;
    `subscribed`: the topics that brokers list.
    """
    times = range(course[0][0], until, EVERY)
    states = [[one for one in course if one[0] <= at][-1] for at in times]
    members, queues = [ids for _, ids, _ in states], [of for _, _, of in states]
    listed = [
        Membership(
            tuple(Connection(client_id, f"10.0.0.1:{n}", language, 493) for n, client_id in enumerate(ids.split())),
            frozenset(subscribed(at)),
            frozenset((topic, "*") for topic in subscribed(at)),
            "CLUSTERING",
            consume_type,
        )
        for at, ids in zip(times, members, strict=True)
    ]
    routes = [tuple(RouteEntry(broker, 6, count, count) for broker, count in sorted(of.items())) for of in queues]
    brokers = {broker for of in queues for broker in of}
    clients = {}
    for client_id in sorted({client_id for ids in members for client_id in ids.split()}):
        asked = [at for at, ids in zip(times, members, strict=True) if client_id in ids.split()]
        clients[client_id] = _client([(at, holds(client_id, at)) for at in asked], strategy_class, orderly=orderly)
    return GroupHistory(
        "c",
        "g",
        memberships={
            broker: series_of([(micros(at), one) for at, one in zip(times, listed, strict=True)]) for broker in brokers
        },
        routes={"t": series_of([(micros(at), one) for at, one in zip(times, routes, strict=True)])},
        clients=clients,
    )


def _client(
    reports: Iterable[tuple[int, Collection[Place] | None]], strategy_class: str | None, *, orderly: bool
) -> ClientHistory:
    states = []
    for second, held in reports:
        state = ClientState(False)
        if held is not None:
            owned = tuple(OwnedQueue("t", *place, orderly or None, False) for place in sorted(held))
            known = frozenset({("t", "*")})
            state = ClientState(
                True,
                strategy_class,
                "CLUSTERING",
                consume_orderly=orderly,
                topics=frozenset({"t"}),
                subscriptions=known,
                owned=owned,
            )
        states.append((micros(second), state))
    sizes = [len(state.owned or ()) for _, state in states]
    unknown = np.full(sum(sizes), UNKNOWN, np.int64)
    readings = ClientReadings(
        np.cumsum([0, *sizes], dtype=np.int64),
        cached_count=unknown,
        cached_mib=unknown,
        cached_min_offset=unknown,
        cached_max_offset=unknown,
        last_pull=unknown,
        last_consume=unknown,
        last_lock=unknown,
        statuses=[None] * len(sizes),
    )
    return ClientHistory(series_of(states), readings)


def places(queues: dict[str, int]) -> list[Place]:
    return [(broker, number) for broker, count in sorted(queues.items()) for number in range(count)]


def by_rule(course: Course, rule: Rule) -> Callable[[str, int], Collection[Place]]:
    """Queues that a client holds that follows every change at once."""

    def holds(client_id: str, second: int) -> Collection[Place]:
        _, ids, queues = [one for one in course if one[0] <= second][-1]
        return rule(client_id, sorted(ids.split()), places(queues))

    return holds


def step_of(made: GroupHistory, configured: StrategySettings | None = None) -> JudgedStep:
    """Its only step."""
    (step,) = judge(made, configured or StrategySettings(), SETTINGS, START, START + 3600 * SECOND)
    return step


def owned(interval: RebalanceInterval) -> dict[str, set[Place]]:
    """By client id, what it owns; also those that own nothing."""
    assert interval.allocation is not None
    none: dict[str, set[Place]] = {member.client_id: set() for member in interval.members or ()}
    return none | {client_id: {*of} for client_id, of in interval.allocation.queues_of_client.items()}
