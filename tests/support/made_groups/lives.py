"""The truth about one synthetic group over some hours; `recorder.py` makes of it what a recorder sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from spark_jobs.domain.model.history import RETRY, ClientState, ConsumeStatus
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry

T = TypeVar("T")
#: What is made of a value in a time.
Change = tuple["Time", Callable[[T], T]]
#: Values, each from a second on.
Course = Sequence[tuple[int, T]]
#: Queues of a topic by broker.
Hosts = Mapping[str, int]
#: What was true before the first hour, too.
ALWAYS = -1_000_000


class Time(NamedTuple):
    """Seconds since the first hour began, the end not included."""

    start: int
    end: int

    def __contains__(self, second: object) -> bool:
        return isinstance(second, int | float) and self.start <= second < self.end


class Standing(NamedTuple):
    """Queues of a topic, by their place among all its queues, whose offset does not move in a time."""

    topic: str
    places: Sequence[int]
    time: Time


@dataclass(frozen=True)
class Life:
    """One group, as it is.

    `routes`: of each topic; `entries`: how those of ordinary topics differ; `members`: client ids, of twins twice;
    `language` and `version`: of all, but for `languages`. `answers`: whether clients are asked for their running info;
    `strategies` and `subscribed` are theirs by id, where they differ; `says` and `measures`: how their answers differ;
    `silent`: who does not answer when; `cached`: messages of each queue. `owns`: whether they list their queues.
    `listed`: what single brokers list instead of the members.

    `rate`: messages a second that come into each queue, but for `rates`, by its place; `commits`: whether the brokers
    know of any offset; `uncommitted`: the places of queues without an offset; `standing`: queues whose offset stands;
    `slowed`: when half of the messages are left; `waiting`: messages of each queue that wait all the time; `batch`:
    those that wait at first and are consumed in `WORKED_OFF_IN` seconds; `bursts`: when a backlog comes and goes;
    `rewound`: when all offsets go back; `by_slave`: because a slave serves, whose messages end earlier; `redelivers`:
    when popped messages come again; `sends_back`: when others do; `returned`: the part of all messages that then
    does; `made_again`: when the topic is deleted and created again, `faster`: times as many messages come then,
    `former`: seconds for which the offsets stay as they were; `keeps`: messages of each queue that the broker does
    not delete, None: all. `unread`: no client consumed for as long as is known; `expression`: what of the topic the
    group subscribes to; `clocks_behind`: seconds; `no_pull`: when nobody pulls; `slave_only`: when broker-b has no
    master. `sources_lost`: when nothing at all was recorded. `connects`: whether brokers list the members;
    `has_proxy`: whether the cluster has one. `fault`: when something is wrong; None: nothing is. `hours`: how many.
    `base`: messages that came before. `begins`: until when nobody has heard of the group, and at which offset it
    begins then (less than 0: at the end); `consume_from_where`: where it says to.
    """

    routes: Mapping[str, Course[Hosts]]
    members: Course[tuple[str, ...]]
    group: str = "group"
    entries: Change[RouteEntry] | None = None
    strategy: str = "AVG"
    language: str = "JAVA"
    version: int = 493
    languages: Mapping[str, str] = field(default_factory=dict)
    model: str = "CLUSTERING"
    consume_type: str = "CONSUME_PASSIVELY"
    orderly: bool = False
    client_rebalance: bool | None = True
    answers: bool = True
    owns: bool = True
    strategies: Mapping[str, str] = field(default_factory=dict)
    subscribed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    says: Mapping[str, Change[ClientState]] = field(default_factory=dict)
    measures: Mapping[str, Change[ConsumeStatus]] = field(default_factory=dict)
    cached: Mapping[str, tuple[Time, int]] = field(default_factory=dict)
    silent: Mapping[str, Time] = field(default_factory=dict)
    rate: int = 5
    rates: Mapping[int, float] = field(default_factory=dict)
    commits: bool = True
    uncommitted: Sequence[int] = ()
    standing: Sequence[Standing] = ()
    slowed: Time | None = None
    waiting: int = 0
    batch: int = 0
    base: int = 0
    rewound: int | None = None
    redelivers: Time | None = None
    sends_back: Time | None = None
    returned: float = 0.25
    keeps: int | None = None
    bursts: Sequence[Time] = ()
    made_again: int | None = None
    faster: int = 1
    former: int = 0
    by_slave: bool = False
    unread: bool = False
    expression: str = "*"
    clocks_behind: int = 0
    no_pull: Time | None = None
    slave_only: Time | None = None
    sources_lost: Time | None = None
    connects: bool = True
    has_proxy: bool = False
    begins: tuple[int, int] | None = None
    consume_from_where: str | None = None
    bystander: bool = False
    listed: Mapping[str, Course[tuple[str, ...]]] = field(default_factory=dict)
    fault: Time | None = None
    hours: int = 1

    @property
    def ids(self) -> list[str]:
        """All that were ever members."""
        return sorted({one for _, ids in self.members for one in ids})

    @property
    def end(self) -> int:
        """The second in which the last hour ends."""
        return 3600 * self.hours

    @property
    def brokers(self) -> list[str]:
        """All that ever host one of its topics."""
        return sorted({broker for course in self.routes.values() for _, hosts in course for broker in hosts})

    def route(self, topic: str, second: float) -> tuple[RouteEntry, ...]:
        """What the name server says of a topic, by broker."""
        hosts = sorted(at(self.routes[topic], second).items())
        entries = [RouteEntry(broker, 6, count, count) for broker, count in hosts]
        change = None if topic.startswith(RETRY) else self.entries
        return tuple(changed(one, change, second) for one in entries)

    def readable(self, topic: str, second: float) -> Hosts:
        """The queues that clients list."""
        route = self.route(topic, second)
        return {one.broker_name: one.read_queue_nums for one in route if one.perm & PERM_READ}

    def topics_of(self, client_id: str) -> Sequence[str]:
        """What a client subscribes."""
        return self.subscribed.get(client_id, list(self.routes))


def routes_of(hosts: Hosts) -> dict[str, Course[Hosts]]:
    """Of one topic, and of the group's retry topic with a queue on each of its brokers, always."""
    return {"topic": [(ALWAYS, hosts)], "%RETRY%group": [(ALWAYS, dict.fromkeys(hosts, 1))]}


ON_TWO_BROKERS = routes_of({"broker-a": 4, "broker-b": 4})


def at(course: Course[T], second: float) -> T:
    """The value that holds then."""
    return next(value for since, value in reversed(course) if since <= second)


def changed(value: T, change: Change[T] | None, second: float) -> T:
    """The value as it is then."""
    return change[1](value) if change and second in change[0] else value
