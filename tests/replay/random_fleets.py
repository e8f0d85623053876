"""Random fleets: what a recorder saw of a few groups and topics in four short steps.

The recorder asks one broker after another, sometimes slowly; it misses rounds; brokers disagree, forget everybody and
come back; routes and clients change; clients answer late, not at all, or fall silent and expire. Half of the fleets
are recorded on whole seconds, where snapshots meet steps, intervals and gaps exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple, TypeVar

from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.snapshots import ClientSnapshot, GroupHistory, MembershipSnapshot, RouteSnapshot
from tests.replay.configured import CADENCE, CONFIGURED, LOOK_BACK, STEP
from tests.replay.random_offsets import OffsetSnapshot, random_offsets

START = datetime(2026, 11, 21, 3, tzinfo=UTC)
RUN = Interval(START, START + 4 * STEP)
_TOPICS = ("T", "S")
_BROKERS = ("a", "b", "c@1", "room1@d")
_CLIENTS = ("r1-a@1", "r1-a@2", "r2-\U0001f600", "r2-\uffff", "r3")
_CLASSES = (
    *("AllocateMessageQueueAveragely", "AllocateMessageQueueAveragely", "AllocateMessageQueueAveragelyByCircle"),
    *("AllocateMessageQueueConsistentHash", "AllocateMessageQueueByMachineRoom", "AllocateMachineRoomNearby"),
    *("AllocateMessageQueueByConfig", "OfSomebodysOwn", None),
)
_PACKAGE = "org.apache.rocketmq.client.consumer.rebalance."

T = TypeVar("T")
#: A value from each of these times on.
Course = list[tuple[datetime, T]]


class Fleet(NamedTuple):
    """The snapshots of one cluster."""

    cluster: str
    memberships: dict[str, tuple[MembershipSnapshot, ...]]
    clients: dict[str, tuple[ClientSnapshot, ...]]
    routes: dict[str, tuple[RouteSnapshot, ...]]
    offsets: dict[tuple[str, str], tuple[OffsetSnapshot, ...]]

    @property
    def size(self) -> int:
        sources = (self.memberships, self.clients, self.routes, self.offsets)
        return sum(len(snapshots) for source in sources for snapshots in source.values())

    def histories(self) -> dict[tuple[str, str], GroupHistory]:
        """One per (group, topic)."""
        return {
            (group, topic): GroupHistory(
                topic,
                self.memberships[group],
                self.routes[topic],
                self.clients[group],
                tuple(one.captured_at for one in self.offsets[group, topic]),
                CONFIGURED[group],
            )
            for group in self.memberships
            for topic in self.routes
        }


def random_fleet(seed: int) -> Fleet:
    """The same for the same seed."""
    random = Random(f"fleet {seed}")
    brokers = random.sample(_BROKERS, random.choice((2, 2, 3)))
    groups = {random.choice(("plain", "plain too", *sorted(CONFIGURED))) for _ in range(random.choice((1, 2)))}
    fleet = Fleet(f"fleet {seed}", {}, {}, {}, {})
    exact = random.random() < 0.5
    for group in sorted(groups):
        fleet.memberships[group] = tuple(_memberships(random, brokers, exact))
        fleet.clients[group] = tuple(_clients(random, exact))
        for topic in _TOPICS:
            fleet.offsets[group, topic] = tuple(random_offsets(random, brokers, _offset_times(random, exact)))
    for topic in _TOPICS:
        fleet.routes[topic] = tuple(_routes(random, brokers, exact))
    return fleet


def _memberships(random: Random, brokers: list[str], exact: bool) -> Iterator[MembershipSnapshot]:
    truth = _course(random, lambda: _members(random), changes=5)
    topics = _course(random, lambda: random.choice((("T", "S"), ("T", "S"), ("T",), ("S",), ())), changes=1)
    odd_model = random.random() < 0.15
    sweep = random.choice((0, 1, 2, 4, 5, 6))
    for place, broker in enumerate(brokers):
        strays = _course(random, lambda: random.choice(("", "", "", "other", "nobody", "silent")), changes=4)
        other = _course(random, lambda: _members(random), changes=2)
        for now in _rounds(random, place * sweep, exact):
            how = _at(strays, now)
            members = {"": _at(truth, now), "other": _at(other, now)}.get(how, ())
            if how != "silent":
                model = "BROADCASTING" if odd_model and random.random() < 0.02 else random.choice(("CLUSTERING", None))
                yield MembershipSnapshot(broker, now, members, model, frozenset(_at(topics, now)))


def _members(random: Random) -> tuple[str, ...]:
    return tuple(random.choices(_CLIENTS[: random.choice((2, 4, 5))], k=random.choice((0, 1, 2, 2, 3, 4))))


def _clients(random: Random, exact: bool) -> Iterator[ClientSnapshot]:
    by_broker = random.random() < 0.1
    for client_id in random.sample(_CLIENTS, random.randint(0, len(_CLIENTS))):
        own = random.choice(_CLASSES)
        classes = _course(random, lambda own=own: random.choice((own, own, *_CLASSES)), changes=1)  # type: ignore[misc]
        topics = _course(random, lambda: random.choice((("T", "S"), ("T", "S"), ("T",), ("S",), (), None)), changes=1)
        since = _moment(random) if random.random() < 0.3 else RUN.start - timedelta(days=1)
        frozen = _moment(random) if random.random() < 0.3 else RUN.end
        for now in _rounds(random, 0, exact):
            if now < since or random.random() < 0.4:
                continue
            name, subscribed = _at(classes, now), _at(topics, now)
            rebalances = False if by_broker and random.random() < 0.1 else random.choice((True, None))
            if random.random() < 0.1 or now >= frozen:
                yield ClientSnapshot(client_id, now, answered=False)
            else:
                known = None if subscribed is None else frozenset(subscribed)
                yield ClientSnapshot(client_id, now, True, name and _PACKAGE + name, rebalances, known)


def _offset_times(random: Random, exact: bool) -> list[datetime]:
    """None, few or all; where exact, at the very moments at which other things change."""
    if random.random() < 0.4:
        return sorted({_moment(random) for _ in range(random.choice((0, 1, 2)))})
    return list(_rounds(random, random.choice((0, 0, 3)), exact))


def _routes(random: Random, brokers: list[str], exact: bool) -> Iterator[RouteSnapshot]:
    course = _course(random, lambda: random.choice((None, *[_route(random, brokers)] * 9)), changes=3)
    for now in _rounds(random, 0, exact):
        route = _at(course, now)
        if route is not None:
            yield RouteSnapshot(now, tuple(random.sample(route, len(route))))


def _route(random: Random, brokers: list[str]) -> list[RouteEntry]:
    hosts = random.sample(brokers, random.choice((0, 1, *[len(brokers)] * 6)))
    return [
        RouteEntry(host, random.choice((6, 6, 6, 6, 7, 2)), random.choice((0, 2, 2, 4)), random.choice((2, 4)))
        for host in hosts
    ]


def _course(random: Random, draw: Callable[[], T], *, changes: int) -> Course[T]:
    moments = sorted(_moment(random) for _ in range(random.randint(0, changes)))
    return [(moment, draw()) for moment in (RUN.start - timedelta(days=1), *moments)]


def _at(course: Course[T], now: datetime) -> T:
    return [value for since, value in course if since <= now][-1]


def _moment(random: Random) -> datetime:
    seconds = int((RUN.end - RUN.start + LOOK_BACK).total_seconds())
    return RUN.start - LOOK_BACK + timedelta(seconds=random.randrange(seconds))


def _rounds(random: Random, late: int, exact: bool) -> Iterator[datetime]:
    """When one thing was recorded; a round in fifteen is missed, and a few in a row now and then."""
    moment = RUN.start - LOOK_BACK - 2 * CADENCE + timedelta(seconds=late)
    while moment < RUN.end + CADENCE:
        if random.random() < 0.93:
            yield moment if exact else moment + timedelta(milliseconds=random.randrange(2000))
        moment += CADENCE * (random.randint(2, 5) if random.random() < 0.04 else 1)
