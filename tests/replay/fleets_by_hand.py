"""Small fleets written by hand, each for one thing that chance rarely brings about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.snapshots import MembershipSnapshot, RouteSnapshot
from tests.replay.random_fleets import START, Fleet
from tests.replay.random_offsets import Entry, OffsetSnapshot

#: Seconds of the first step; the minute begins with it.
ROUNDS = range(-70, 40, 10)
#: What a broker lists from each second on (None: it is not heard any more), or how many queues it has.
Lists = Mapping[int, str | None]


def moment(second: int) -> datetime:
    return START + timedelta(seconds=second)


def fleet(
    name: str,
    lists: Mapping[str, Lists],
    *,
    routes: Mapping[str, Mapping[int, str]],
    queue_0: Mapping[int, tuple[int, int]] | None = None,
) -> Fleet:
    """The group `plain`; per topic a route, as `a2 b4`, and the offsets of queue 0 of broker a in topic T."""
    topics = frozenset(routes)
    offsets = [OffsetSnapshot(moment(second), (_entry(*pair),)) for second, pair in (queue_0 or {}).items()]
    return Fleet(
        name,
        memberships={"plain": tuple(one for broker in lists for one in _listed(broker, lists[broker], topics))},
        clients={"plain": ()},
        routes={topic: tuple(_routes(route)) for topic, route in routes.items()},
        offsets={("plain", topic): tuple(offsets) if topic == "T" else () for topic in routes},
    )


def _entry(end: int, consumed: int) -> Entry:
    return Entry("a", 0, end, consumed, consumed, 1)


def _listed(broker: str, lists: Lists, topics: frozenset[str]) -> Iterator[MembershipSnapshot]:
    for second in ROUNDS:
        ids = [ids for since, ids in lists.items() if since <= second][-1]
        if ids is not None:
            yield MembershipSnapshot(broker, moment(second), tuple(ids.split()), "CLUSTERING", topics)


def _routes(route: Mapping[int, str]) -> Iterator[RouteSnapshot]:
    for second in ROUNDS:
        brokers = [text for since, text in route.items() if since <= second][-1].split()
        yield RouteSnapshot(moment(second), tuple(RouteEntry(one[0], 6, int(one[1:]), int(one[1:])) for one in brokers))


#: Three views from 0 s on, of which the first is over at 20 s; the others go on, and nothing begins.
VIEW_OVER = fleet(
    "view over",
    {"a": {-70: "p q", 0: "q", 10: None}, "b": {-70: "p q", 0: "p"}, "c": {-70: "p q", 0: "p q r"}},
    routes={"T": {-70: "a2 b2 c2"}},
    queue_0={0: (100, 100), 10: (110, 105), 20: (120, 105), 30: (130, 105)},
)
#: A broker that is new, and disagrees from the first moment on.
NEW_BROKER = fleet("new broker", {"a": {-70: "p q"}, "b": {-70: None, 0: "p"}}, routes={"T": {-70: "a2", 0: "a2 b2"}})
#: A topic grows when the minute, and with it every port, is another than where the other topic's interval began.
RECONNECTED = fleet("reconnected", {"a": {-70: "p q r"}}, routes={"T": {-70: "a3"}, "S": {-70: "a1", 10: "a2"}})
OFFLINE = fleet("offline", {"a": {-70: ""}}, routes={"T": {-70: "a2"}}, queue_0={0: (100, 90), 10: (110, 90)})
#: Somebody comes to a queue that nobody had.
COMES_ONLINE = fleet(
    "comes online",
    {"a": {-70: "", 0: "p"}},
    routes={"T": {-70: "a2"}},
    queue_0={-60: (100, 100), -10: (100, 100), 0: (100, 100), 10: (110, 105)},
)
#: Retry topics count for no total, however many queues they have.
RETRYING = fleet(
    "retrying",
    {"a": {-70: "p q r"}},
    routes={"T": {-70: "a2"}, "%RETRY%plain": {-70: "a8"}},
    queue_0={0: (100, 90), 10: (200, 90)},
)
FLEETS = (VIEW_OVER, NEW_BROKER, RECONNECTED, OFFLINE, COMES_ONLINE, RETRYING)


class Found(NamedTuple):
    """A finding of the first step."""

    rule: str
    cause: str
    severity: str


#: Per fleet; nothing was found in the others.
FOUND = {
    "retrying": (
        Found("IDLE_CONSUMER", "MORE_MEMBERS_THAN_QUEUES", "WARN"),
        Found("UNASSIGNED_QUEUE", "CONFIG_HOLE", "ERROR"),
        Found("REDELIVERY_EXPOSURE", "QUEUES_MOVED", "INFO"),
    )
}
