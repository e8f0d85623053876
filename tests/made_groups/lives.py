"""What is true of one made group over some hours; `recorder.py` makes of it what a recorder sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

T = TypeVar("T")
#: Values, each from a second on.
BacklogCourse = Sequence[tuple[int, T]]
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

    `routes`: of each topic; `members`: client ids, of twins twice; `language` and `version`: of all. Where `told`,
    clients are asked for their running info: `strategies`, `subscribed` and `failing` (share of messages) are theirs
    by id, where they differ; `silent`: who does not answer when. `owns`: whether they list their queues. `listed`: what
    single brokers list instead of the members.

    `rate`: messages a second that come into each queue; `commits`: whether the brokers know of any offset;
    `standing`: queues whose offset stands; `slowed`: when half of the messages are left; `bursts`: when a backlog comes
    and goes. `sources_lost`: when nothing at all was recorded. `connects`: whether brokers list the members;
    `has_proxy`: whether the cluster has one. `fault`: when something is wrong; None: nothing is. `hours`: how many.
    """

    routes: Mapping[str, BacklogCourse[Hosts]]
    members: BacklogCourse[tuple[str, ...]]
    strategy: str = "AVG"
    language: str = "JAVA"
    version: int = 493
    model: str = "CLUSTERING"
    consume_type: str = "CONSUME_PASSIVELY"
    orderly: bool = False
    client_rebalance: bool | None = True
    told: bool = True
    owns: bool = True
    strategies: Mapping[str, str] = field(default_factory=dict)
    subscribed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    failing: Mapping[str, float] = field(default_factory=dict)
    silent: Mapping[str, Time] = field(default_factory=dict)
    rate: int = 5
    commits: bool = True
    standing: Sequence[Standing] = ()
    slowed: Time | None = None
    bursts: Sequence[Time] = ()
    sources_lost: Time | None = None
    connects: bool = True
    has_proxy: bool = False
    bystander: bool = False
    listed: Mapping[str, BacklogCourse[tuple[str, ...]]] = field(default_factory=dict)
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

    def topics_of(self, client_id: str) -> Sequence[str]:
        """What a client subscribes."""
        return self.subscribed.get(client_id, list(self.routes))


def at(course: BacklogCourse[T], second: float) -> T:
    """The value that holds then."""
    return next(value for since, value in reversed(course) if since <= second)
