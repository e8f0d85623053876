"""The strategy of members that do not report it, by the queues that they report: right, or not decided."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import pytest

from spark_jobs.domain.kernel.holdings import Holding
from spark_jobs.domain.kernel.observed import strategies_observed
from spark_jobs.domain.model.history import Connection, Place
from spark_jobs.domain.model.message_queue import MessageQueue, java_order
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONSISTENT_HASH,
    Resolved,
    Strategy,
    StrategySettings,
    StrategySource,
    Variant,
    variant_of,
)
from tests.support.oracle.client import allocate

OBSERVED = StrategySource.OBSERVED
_ROOMS = frozenset({"room0", "room2"})
_NEARBY = StrategySettings(broker_room="^room(.)@", client_room="-r(.)$")
#: What members run, the language that brokers list of them, and what is configured.
STRATEGIES = {
    "AVG": (Strategy(AVG), "GO", StrategySettings()),
    "CIRCLE": (Strategy(AVG_BY_CIRCLE), "GO", StrategySettings()),
    "HASH": (Strategy(CONSISTENT_HASH), "JAVA", StrategySettings()),
    "HASH of 10 nodes, 40 configured": (Strategy(CONSISTENT_HASH), "JAVA", StrategySettings(virtual_node_cnt=40)),
    "HASH of 40 nodes": (Strategy(CONSISTENT_HASH, 40), "JAVA", StrategySettings(virtual_node_cnt=40)),
    "HASH of Go": (Strategy(CONSISTENT_HASH, variant=Variant.GO), "GO", StrategySettings()),
    "HASH of Go, language unknown": (Strategy(CONSISTENT_HASH, variant=Variant.GO), None, StrategySettings()),
    "ROOM": (Strategy("MACHINE_ROOM", rooms=_ROOMS), "JAVA", StrategySettings()),
    "ROOM of Go": (Strategy("MACHINE_ROOM", rooms=_ROOMS, variant=Variant.GO), "GO", StrategySettings()),
    "NEARBY": (_NEARBY.named("MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"), "JAVA", _NEARBY),
}
#: Members, queues, brokers.
SIZES = [
    (members, queues, brokers)
    for members in range(2, 10)
    for number, (queues, brokers) in enumerate(
        ((1, 1), (2, 1), (3, 1), (4, 2), (8, 2), (9, 3), (16, 4), (31, 3), (64, 4))
    )
    if (members + number) % 2
]


def _ids(count: int) -> tuple[str, ...]:
    random = Random(count)
    ids = (f"10.0.0.{random.randrange(256)}@{random.randrange(9999)}-r{number % 3}" for number in range(count))
    return tuple(sorted(ids, key=java_order))


def _queues(count: int, brokers: int) -> tuple[Place, ...]:
    return tuple(sorted((f"room{number % brokers}@b", number // brokers) for number in range(count)))


def _share(strategy: Strategy, client_id: str, ids: Sequence[str], queues: Sequence[Place]) -> frozenset[Place]:
    """By the oracle: one client at a time."""
    taken = allocate(strategy, client_id, [MessageQueue("t", *place) for place in queues], ids)
    return frozenset((queue.broker_name, queue.queue_id) for queue in taken or ())


def _reports(
    strategy: Strategy, ids: tuple[str, ...], queues: tuple[Place, ...], number: int, stuck: Mapping[str, Strategy]
) -> Iterator[Holding]:
    """A state that all members report; `stuck`: members that hold what this gives them."""
    for client_id in ids:
        held = _share(stuck.get(client_id, strategy), client_id, ids, queues)
        yield Holding("t", ids, queues, client_id, held, number, lasted=True, orderly=False)


def _observed(
    reports: Sequence[Holding], language: str | None, configured: StrategySettings, named: Sequence[str] = ()
) -> Mapping[str | None, Resolved]:
    connections = {report.client_id: Connection(report.client_id, None, language) for report in reports}
    return strategies_observed(reports, connections, named, configured)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", STRATEGIES)
def test_what_is_observed_explains_every_report(kind: str, size: tuple[int, int, int]) -> None:
    """Another strategy than the true one only where the reports of both are the same."""
    strategy, language, configured = STRATEGIES[kind]
    members, count, brokers = size
    ids, queues = _ids(members), _queues(count, brokers)
    states = [(ids, queues), (ids[1:], queues)]
    reports = [r for number, state in enumerate(states) for r in _reports(strategy, *state, number, {})]
    (found,) = _observed(reports, language, configured).values()
    assert found.source == OBSERVED
    assert all(_explained(found, language, configured, reports))


def _explained(
    found: Resolved, language: str | None, configured: StrategySettings, reports: Sequence[Holding]
) -> list[bool]:
    """Of each report whether it is what the strategy that was found gives to a client of this language."""
    variant = variant_of(found.strategy, language, None, found.parameters)
    seen = configured.named(found.strategy, variant, found.parameters)
    return [
        report.held_queues == _share(seen, report.client_id, report.client_ids, report.queues) for report in reports
    ]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", STRATEGIES)
def test_the_true_strategy_is_observed_or_possible(kind: str, size: tuple[int, int, int]) -> None:
    strategy, language, configured = STRATEGIES[kind]
    members, count, brokers = size
    reports = _reports(strategy, _ids(members), _queues(count, brokers), 0, {})
    (found,) = _observed([*reports], language, configured).values()
    assert strategy.name in (found.strategy, *found.alternatives)


@pytest.mark.parametrize(
    ("members", "queues", "alternatives"),
    [(1, 4, ("AVG_BY_CIRCLE", "CONSISTENT_HASH")), (4, 4, ("AVG_BY_CIRCLE",)), (2, 4, ()), (3, 8, ())],
)
def test_ambiguity_is_reported(members: int, queues: int, alternatives: tuple[str, ...]) -> None:
    """AVG and AVG_BY_CIRCLE give one queue each to as many members; with another member or more queues they differ."""
    ids, places = tuple(f"c{number}" for number in range(members)), tuple(("a", number) for number in range(queues))
    (found,) = _observed([*_reports(Strategy(AVG), ids, places, 0, {})], "GO", StrategySettings()).values()
    assert (found.strategy, found.alternatives) == (AVG, alternatives)


#: Of two members that both hold one queue, either may be the one that is stuck.
@pytest.mark.parametrize("size", [size for size in SIZES if size[:2] != (2, 1)], ids=str)
@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_member_that_is_stuck_changes_nothing(kind: str, size: tuple[int, int, int]) -> None:
    """The first member keeps what it had before the last one joined; what the others report is explained."""
    strategy, language, configured = STRATEGIES[kind]
    members, count, brokers = size
    after, queues = _ids(members), _queues(count, brokers)
    before, first = after[:-1], after[0]
    kept = _share(strategy, first, before, queues)
    reports = [*_reports(strategy, before, queues, 0, {}), *_reports(strategy, after, queues, 1, {})]
    stuck = [r._replace(held_queues=kept) if r.client_id == first and r.state else r for r in reports]
    if stuck == reports:
        return
    (found,) = _observed(stuck, language, configured).values()
    assert _explained(found, language, configured, stuck) == [
        r == report for report, r in zip(reports, stuck, strict=True)
    ]


#: Queues of two brokers that four members hold: by AVG of all eight, and of the four of broker `b` only.
_OF_ALL = {"c1": "a0 a1", "c2": "a2 a3", "c3": "b0 b1", "c4": "b2 b3"}
_OF_B = {"c1": "b0", "c2": "b1", "c3": "b2", "c4": "b3"}
_OTHERS = {"c1": "b3 a0", "c2": "b2 a1", "c3": "b1 a2", "c4": "b0 a3"}


def _told(*lists: Mapping[str, str]) -> list[Holding]:
    """What members list of eight queues, one list after the other in one state."""
    ids, queues = ("c1", "c2", "c3", "c4"), tuple((broker, number) for broker in "ab" for number in range(4))
    return [
        Holding("t", ids, queues, client_id, _places(held), 0, lasted=True, orderly=False)
        for of_time in lists
        for client_id, held in of_time.items()
    ]


def _places(held: str) -> frozenset[Place]:
    return frozenset((queue[0], int(queue[1])) for queue in held.split())


@pytest.mark.parametrize(
    ("lists", "strategy"),
    [
        ((_OF_ALL, {"c2": "b1"}, _OF_ALL), AVG),
        ((_OF_ALL, _OF_B, _OF_ALL), AVG),
        ((_OF_B, {"c1": "a0 a1 a2 a3"}, _OF_ALL), AVG),
        ((_OTHERS,), "UNKNOWN"),
        ((_OF_B, _OTHERS), "UNKNOWN"),
    ],
)
def test_lists_that_members_have_for_a_while_are_no_strategy(lists: Sequence[Mapping[str, str]], strategy: str) -> None:
    """As those of a name server's route without broker `a`, until it registers there again."""
    (found,) = _observed(_told(*lists), "GO", StrategySettings()).values()
    assert found.strategy == strategy


@pytest.mark.parametrize(
    ("members", "named", "strategy"),
    [
        ("c1 c2", ["AVG"], AVG),
        ("c1 c2 c3", ["AVG"], AVG),
        ("c1", ["AVG"], "UNKNOWN"),
    ],
    ids=["one of two", "one of three", "alone"],
)
def test_a_minority_that_fits_no_strategy_is_measured_by_that_of_the_others(
    members: str, named: list[str], strategy: str
) -> None:
    """The last one holds the queues of the brokers in reverse, and the one of the retry topic that a hash gives it."""
    ids, queues = tuple(members.split()), tuple((broker, number) for broker in "ab" for number in range(4))
    held = _places("b3 a0 b2" if len(ids) == 1 else "a0 a1 a2 a3")
    reports = [
        Holding("t", ids, queues, ids[-1], held, 0, lasted=True, orderly=False),
        Holding("%RETRY%g", ids, (("a", 0), ("b", 0)), ids[-1], _places("a0"), 1, lasted=True, orderly=False),
    ]
    (found,) = _observed(reports, "GO", StrategySettings(), named).values()
    assert found.strategy == strategy
