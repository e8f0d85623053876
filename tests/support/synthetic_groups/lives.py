"""The truth about one synthetic group over an hour; `recorder.py` makes of it what a recorder sees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from spark_jobs.domain.model.history import RETRY, ClientState, ConsumeStatus
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry

T = TypeVar("T")
#: A value is changed by the function during this time.
Change = tuple["Time", Callable[[T], T]]
#: Values, each from a second on.
Course = Sequence[tuple[int, T]]
#: Queues of a topic by broker.
Hosts = Mapping[str, int]
Ids = tuple[str, ...]
#: The second that the hour ends, and one before all that is recorded.
END, ALWAYS = 3600, -1_000_000


class Time(NamedTuple):
    """Seconds since the hour began, the end not included."""

    start: int
    end: int

    def __contains__(self, second: object) -> bool:
        return isinstance(second, int | float) and self.start <= second < self.end


EVER = Time(ALWAYS, -ALWAYS)


class Standing(NamedTuple):
    """Queues of a topic, by their index among all its queues, whose offset does not move in a time."""

    topic: str
    indexes: Sequence[int]
    time: Time


@dataclass(frozen=True)
class Life:
    """One group, as it is. Mappings by client id or queue index name only those that differ from the others."""

    routes: Mapping[str, Course[Hosts]]
    members: Course[Ids]  # the ids of duplicates twice
    group: str = "group"
    fault: Time | None = None  # when something is wrong

    # What clients are, and report.
    language: str = "JAVA"
    version: int = 493
    languages: Mapping[str, str] = field(default_factory=dict)
    strategy: str = "AVG"
    strategies: Mapping[str, str] = field(default_factory=dict)
    model: str = "CLUSTERING"
    consume_type: str = "CONSUME_PASSIVELY"
    consume_from_where: str | None = None
    orderly: bool = False
    client_rebalance: bool | None = True
    expression: str = "*"
    subscribed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    answers: bool = True  # clients are asked for their running info
    silent: Mapping[str, Time] = field(default_factory=dict)  # when a client does not answer
    owns: bool = True  # clients list their queues
    says: Mapping[str, Change[ClientState]] = field(default_factory=dict)
    measures: Mapping[str, Change[ConsumeStatus]] = field(default_factory=dict)
    cached: Mapping[str, tuple[Time, int]] = field(default_factory=dict)  # messages of each queue
    clocks_behind: int = 0  # seconds
    no_pull: Time | None = None  # when no client pulls
    unread: bool = False  # no client consumed for as long as is known

    # What brokers and name servers report.
    entries: Change[RouteEntry] | None = None  # of ordinary topics
    listed: Mapping[str, Course[Ids]] = field(default_factory=dict)  # by single brokers instead of the members
    bystander: bool = False  # a broker without queues of the group
    is_behind_proxy: bool = False
    slave_only: Time | None = None  # when broker-b has no master
    sources_lost: Time | None = None  # when nothing at all is recorded

    # Messages and offsets.
    rate: int = 5  # messages a second that come into each queue
    rates: Mapping[int, float] = field(default_factory=dict)
    base: int = 0  # messages that came before
    keeps: int | None = None  # messages of each queue that the broker does not delete, None: all
    begins: tuple[int, int] | None = None  # until when the group is unknown, its first offset (negative: the end)
    commits: bool = True  # brokers know of any offset
    uncommitted: Sequence[int] = ()  # queues without an offset
    standing: Sequence[Standing] = ()
    waiting: int = 0  # messages of each queue that wait all the time
    batch: int = 0  # those that wait at first and are consumed in `WORKED_OFF_IN` seconds
    slowed: Time | None = None  # when half of the messages are left
    bursts: Sequence[Time] = ()  # when a backlog comes and goes
    sends_back: Time | None = None  # when a part of all messages goes to the retry topic
    returned: float = 0.25  # this part
    redelivers: Time | None = None  # when popped messages come again
    rewound: int | None = None  # when all offsets go back
    by_slave: bool = False  # because a slave serves, whose messages end earlier
    created_again: int | None = None  # when the topic is deleted and created again
    faster: int = 1  # times as many messages come then
    former: int = 0  # seconds for which the offsets stay as they were

    @property
    def ids(self) -> list[str]:
        """All that were ever members."""
        return sorted({one for _, ids in self.members for one in ids})

    @property
    def brokers(self) -> list[str]:
        """All that ever host one of its topics."""
        return sorted({broker for course in self.routes.values() for _, hosts in course for broker in hosts})

    def route(self, topic: str, second: float) -> tuple[RouteEntry, ...]:
        hosts = sorted(at(self.routes[topic], second).items())
        entries = [RouteEntry(broker, 6, count, count) for broker, count in hosts]
        change = None if topic.startswith(RETRY) else self.entries
        return tuple(changed(one, change, second) for one in entries)

    def readable(self, topic: str, second: float) -> Hosts:
        """The queues that clients list."""
        route = self.route(topic, second)
        return {one.broker_name: one.read_queue_nums for one in route if one.perm & PERM_READ}

    def topics_of(self, client_id: str) -> Sequence[str]:
        """The topics that a client subscribes to."""
        return self.subscribed.get(client_id, list(self.routes))


def routes_of(hosts: Hosts) -> dict[str, Course[Hosts]]:
    """One topic, and the group's retry topic with a queue on each of its brokers, always."""
    return {"topic": [(ALWAYS, hosts)], "%RETRY%group": [(ALWAYS, dict.fromkeys(hosts, 1))]}


ON_TWO_BROKERS = routes_of({"broker-a": 4, "broker-b": 4})


def at(course: Course[T], second: float) -> T:
    """The value that holds then."""
    return next(value for since, value in reversed(course) if since <= second)


def changed(value: T, change: Change[T] | None, second: float) -> T:
    """The value as it is then."""
    return change[1](value) if change and second in change[0] else value
