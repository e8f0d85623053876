"""Random allocations: few names, so that ids repeat, and odd ones, so that orders and patterns matter."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from spark_jobs.domain.model.message_queue import RouteEntry, sort_client_ids
from spark_jobs.domain.rocketmq.allocation import room_of
from spark_jobs.domain.rocketmq.strategies import (
    MACHINE_ROOM_NEARBY,
    POP,
    STRATEGY_NAMES,
    ConfigQueues,
    StrategySettings,
    Variant,
    variant_of,
)
from tests.conformance.kernel_vs_oracle.choices import Choices, choices

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
_SOFTWARE = (("JAVA", 493), ("GO", 317), ("JAVA", 355))
_REPLAYED = tuple(name for name in STRATEGY_NAMES if name not in (MACHINE_ROOM_NEARBY, POP))


class Allocation(NamedTuple):
    """`members`, sorted by id: (client id, strategy, subscribes, variant). What a member is belongs to its id, but for
    its language and version.
    """

    topic: str
    members: tuple[tuple[str, str, bool, Variant], ...]
    route: tuple[RouteEntry, ...]
    settings: StrategySettings


@st.composite
def allocations(draw: st.DrawFn) -> Allocation:
    """At least one queue can be read, as the timeline sees to."""
    return _allocation(draw(choices(132)))


def _allocation(choices: Choices) -> Allocation:
    topic = choices.of(_TOPICS)
    brokers = list(dict.fromkeys(choices.many(lambda: choices.of(_BROKERS), (1, 1, 2, 3, 4))))
    known = choices.many(lambda: choices.of(_CLIENTS), (1, 2, 3, 4, 5, 6, 7))
    ids = choices.many(lambda: choices.of(known), (1, 2, 3, 4, 5, 6, 9, 0))
    settings = _settings(choices, topic, ids, brokers)
    possible = [name for name in _REPLAYED if not settings.named(name).settings_missing]
    names = choices.many(lambda: choices.of(possible), (1, 1, 1, 2, 3))
    always = choices.of((True, True, False))
    member = {
        client_id: (choices.of(names), always or choices.of((True, True, False))) for client_id in sorted(set(ids))
    }
    route = tuple(_entry(choices, broker, number == 0) for number, broker in enumerate(brokers))
    software = choices.many(lambda: choices.of(_SOFTWARE), (1, 1, 1, 2, 3))
    members = ((client_id, *member[client_id], choices.of(software)) for client_id in sort_client_ids(ids))
    listed = tuple((client_id, name, subscribes, variant_of(name, *by)) for client_id, name, subscribes, by in members)
    return Allocation(topic, listed, route, settings)


def _entry(choices: Choices, broker: str, is_readable: bool) -> RouteEntry:
    permission = 6 if is_readable else choices.of((6, 6, 6, 6, 7, 4, 2, 0))
    return RouteEntry(broker, permission, choices.below(8) or is_readable * 4, choices.below(8))


def _settings(choices: Choices, topic: str, ids: Sequence[str], brokers: Sequence[str]) -> StrategySettings:
    rooms = {broker.partition("@")[0] for broker in choices.many(lambda: choices.of(brokers), (1, 2, 3))}
    return StrategySettings(
        None,
        virtual_node_cnt=choices.of((10, 0, 1, 3, 10, 30)),
        rooms=frozenset({*rooms, choices.of(("room1", "", "elsewhere"))}),
        broker_room=_pattern(choices, brokers),
        client_room=_pattern(choices, ids),
        config_queues=tuple(choices.many(lambda: _config(choices, topic, ids, brokers), (1, 2, 3, 4))),
    )


def _pattern(choices: Choices, names: Sequence[str]) -> str | None:
    """One that finds a room in every name; None if there is none such."""
    fitting = [pattern for pattern in _ROOM_PATTERNS if all(room_of(pattern, name) for name in names)]
    return choices.of(fitting) if fitting else None


def _config(choices: Choices, topic: str, ids: Sequence[str], brokers: Sequence[str]) -> ConfigQueues:
    own = [re.escape(client_id) for client_id in ids]
    return ConfigQueues(
        choices.of([*own, *own, ".*", "c.*", "c1", ".*@.*|a.", "nobody"]),
        choices.of((topic, topic, topic, "other")),
        choices.of([*brokers, *brokers, "elsewhere"]),
        tuple(dict.fromkeys(choices.many(lambda: choices.below(9), (1, 2, 3, 4, 0)))),
    )
