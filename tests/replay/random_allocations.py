"""Random allocations: few names, so that ids repeat, and odd ones, so that orders and patterns matter."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.ownership import Member
from spark_jobs.domain.rooms import room_of
from spark_jobs.domain.strategies import (
    MACHINE_ROOM_NEARBY,
    POP,
    STRATEGY_NAMES,
    ConfigQueues,
    Strategy,
)
from tests.replay.allocations import Allocation

_CLIENTS = (
    *("c1", "c2", "c9", "c10", "C1", "10.0.0.1@1", "10.0.0.1@1#5", "10.0.0.1@10", "r1-a", "r1-b", "r2-a", "r9-a"),
    *("a\U0001f600", "a\uffff", "a\ue000", "\U0001f600", "é", "@", "@x", "x@", "$", "c1 ", "c1.c2", "%RETRY%", "-"),
)
_BROKERS = (
    *("a", "b", "B", "broker-a", "broker-b", "r1-a", "r1-b", "r2-a", "r3-a", "room1@a", "room1@b@", "room1@", "@room1"),
    *("room1@x@y", "room2@a", "@", "@@", "a\U0001f600", "a\uffff", "\U0001f600@b", "é@b", "-"),
)
_TOPICS = ("T", "%RETRY%group", "topic\U0001f600")
_ROOM_PATTERNS = ("^([^-]+)-", "^([^-]+)", "^(.)", "(.)$", "(1|2|a|b)", "@(.*)$")
_REPLAYED = tuple(name for name in STRATEGY_NAMES if name not in (MACHINE_ROOM_NEARBY, POP))


def random_allocation(seed: int) -> Allocation:
    """The same for the same seed."""
    random = Random(f"allocation {seed}")
    topic = random.choice(_TOPICS)
    brokers = random.sample(_BROKERS, random.choice((1, 1, 2, 3, 4)))
    route = tuple(_entry(random, broker) for broker in brokers)
    known = random.sample(_CLIENTS, random.randint(1, 7))
    clients = [random.choice(known) for _ in range(random.choice((0, 1, 2, 3, 4, 5, 6, 9)))]
    settings = _settings(random, topic, clients, brokers)
    names = random.sample(_possible(settings), random.choice((1, 1, 1, 2, 3)))
    always = random.random() < 0.6
    members = tuple(
        Member(
            client_id,
            f"10.0.0.{number}:1",
            replace(settings, name=random.choice(names)),
            always or random.random() < 0.7,
        )
        for number, client_id in enumerate(clients)
    )
    return Allocation(topic, members, route, settings)


def _entry(random: Random, broker: str) -> RouteEntry:
    perm = random.choice((6, 6, 6, 6, 7, 4, 2, 0))
    return RouteEntry(broker, perm, random.randint(0, 7), random.randint(0, 7))


def _settings(random: Random, topic: str, clients: list[str], brokers: list[str]) -> Strategy:
    rooms = {broker.partition("@")[0] for broker in random.sample(brokers, random.randint(1, len(brokers)))}
    return Strategy(
        "AVG",
        virtual_node_cnt=random.choice((0, 1, 3, 10, 10, 30)),
        rooms=frozenset(rooms | set(random.sample(("room1", "", "elsewhere"), 1))),
        broker_room=_pattern(random, brokers),
        client_room=_pattern(random, clients),
        config_queues=tuple(_config(random, topic, clients, brokers) for _ in range(random.randint(1, 4))),
    )


def _pattern(random: Random, names: list[str]) -> str | None:
    """One that finds a room in every name; None if there is none such."""
    fitting = [pattern for pattern in _ROOM_PATTERNS if all(room_of(pattern, name) for name in names)]
    return random.choice(fitting) if fitting else None


def _config(random: Random, topic: str, clients: list[str], brokers: list[str]) -> ConfigQueues:
    own = [re.escape(client_id) for client_id in clients]
    pattern = random.choice([*own, *own, ".*", "c.*", "c1", ".*@.*|a.", "nobody"])
    return ConfigQueues(
        pattern,
        random.choice((topic, topic, topic, "other")),
        random.choice([*brokers, *brokers, "elsewhere"]),
        tuple(random.sample(range(9), random.randint(0, 4))),
    )


def _possible(settings: Strategy) -> list[str]:
    return [name for name in _REPLAYED if not replace(settings, name=name).settings_missing]
