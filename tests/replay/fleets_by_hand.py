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
    late: int = 0,
) -> Fleet:
    """The group `plain`; per topic a route, as `a2 b4`, and the offsets of queue 0 of broker a in topic T.

    Each broker is asked so many seconds after the one before it.
    """
    topics = frozenset(routes)
    offsets = [OffsetSnapshot(moment(second), (_entry(*pair),)) for second, pair in (queue_0 or {}).items()]
    return Fleet(
        name,
        memberships={
            "plain": tuple(
                MembershipSnapshot(broker, moment(second + place * late), ids, "CLUSTERING", topics)
                for place, (broker, changes) in enumerate(lists.items())
                for second, ids in _listed(changes)
            )
        },
        clients={"plain": ()},
        routes={topic: tuple(_routes(route)) for topic, route in routes.items()},
        offsets={("plain", topic): tuple(offsets) if topic == "T" else () for topic in routes},
    )


def _entry(end: int, consumed: int) -> Entry:
    return Entry("a", 0, end, consumed, consumed, 1)


def _listed(changes: Lists) -> Iterator[tuple[int, tuple[str, ...]]]:
    for second in ROUNDS:
        ids = [ids for since, ids in changes.items() if since <= second][-1]
        if ids is not None:
            yield second, tuple(ids.split())


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
#: Half a cadence, and a second less: the brokers disagree, or the recorder asks one after another.
HALF_A_CADENCE, LESS = (
    fleet(name, {"a": {-70: "p", 0: "p q"}, "b": {-70: "p", 0: "p q"}}, routes={"T": {-70: "a2 b2"}}, late=late)
    for name, late in (("half a cadence", 5), ("less", 4))
)
#: Retry topics count for no total, however many queues they have.
RETRYING = fleet(
    "retrying",
    {"a": {-70: "p q r"}},
    routes={"T": {-70: "a2"}, "%RETRY%plain": {-70: "a8"}},
    queue_0={0: (100, 90), 10: (200, 90)},
)
FLEETS = (VIEW_OVER, NEW_BROKER, RECONNECTED, OFFLINE, COMES_ONLINE, HALF_A_CADENCE, LESS, RETRYING)


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
