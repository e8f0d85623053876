"""Snapshots of one group by a recorder, and those that an audit step may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.rocketmq.strategies import StrategySettings

NOT_CONFIGURED = StrategySettings()


#: Language and version of a client; None is unknown.
Software = tuple[str | None, int | None]
JAVA_5: Software = ("JAVA", 493)


class MembershipSnapshot(NamedTuple):
    """One broker's answer about the group: ids as listed, duplicates kept; `topics` the group subscribes."""

    broker_name: str
    captured_at: int
    client_ids: tuple[str, ...]
    topics: frozenset[str] = frozenset()
    message_model: str | None = "CLUSTERING"


class RouteSnapshot(NamedTuple):
    """A topic's route as the name server gave it."""

    captured_at: int
    entries: tuple[RouteEntry, ...]


class ClientSnapshot(NamedTuple):
    """One client's running info; None is unknown, as is everything where it did not answer."""

    client_id: str
    captured_at: int
    answered: bool = True
    strategy_class: str | None = None
    client_rebalance: bool | None = None
    topics: frozenset[str] | None = None
    message_model: str | None = None


class OffsetEntry(NamedTuple):
    """One queue of an offset snapshot: next offset to write, to consume, store time (ms) of the last consumed one."""

    broker_name: str
    queue_id: int
    end_offset: int | None
    consumer_offset: int | None
    last_timestamp: int | None


class OffsetSnapshot(NamedTuple):
    """The group's offsets of one topic."""

    captured_at: int
    offsets: tuple[OffsetEntry, ...]


Snapshot = TypeVar("Snapshot", MembershipSnapshot, RouteSnapshot, ClientSnapshot, OffsetSnapshot)


@dataclass(frozen=True)
class Group:
    """Everything that was recorded of a group, in any order; `routes` and `offsets` by topic. `proxies`: what brokers
    list of the proxies' group; `software`: (language, version) by client id, of those that are not Java 5.
    """

    memberships: tuple[MembershipSnapshot, ...] = ()
    routes: Mapping[str, tuple[RouteSnapshot, ...]] = field(default_factory=dict)
    clients: tuple[ClientSnapshot, ...] = ()
    offsets: Mapping[str, tuple[OffsetSnapshot, ...]] = field(default_factory=dict)
    configured: StrategySettings = NOT_CONFIGURED
    proxies: tuple[MembershipSnapshot, ...] = ()
    software: Mapping[str, Software] = field(default_factory=dict)

    @property
    def subscribed(self) -> set[str]:
        """The topics that the group or any of its clients was seen to subscribe to."""
        by_clients = (client.topics or () for client in self.clients)
        return set().union(*(answer.topics for answer in self.memberships), *by_clients)

    @property
    def topics(self) -> list[str]:
        """Every topic that any snapshot names."""
        return sorted({*self.routes, *self.offsets, *self.subscribed})

    def seen_in(self, window: StepWindow) -> Group:
        """The same with the snapshots that say something about the replayed time, none from outside the window.

        Of those before it, each broker's and client's last still applies when it begins: a list for the gap, what
        a client said of itself until it says something else.
        """
        begin, inside = window.replayed_from, range(window.read_from, window.end)
        listed, proxies = (
            [snapshot for snapshot in snapshots if begin - window.max_gap < snapshot.captured_at < window.end]
            for snapshots in (self.memberships, self.proxies)
        )
        answered = [snapshot for snapshot in self.clients if snapshot.answered and snapshot.captured_at in inside]
        return replace(
            self,
            memberships=_from(begin, listed, lambda snapshot: snapshot.broker_name),
            routes={topic: _inside(inside, routes) for topic, routes in self.routes.items()},
            clients=_from(begin, answered, lambda snapshot: snapshot.client_id),
            offsets={topic: _inside(inside, offsets) for topic, offsets in self.offsets.items()},
            proxies=_from(begin, proxies, lambda snapshot: snapshot.broker_name),
        )


@dataclass(frozen=True)
class StepWindow:
    """The step `[start, end)`, how often snapshots come, and how long each one holds; and what verdicts look at."""

    start: int
    end: int
    cadence: int
    max_gap: int
    persistent_after: int
    verdict_window: int
    verdict_samples: int
    stalled_after: int = 120_000_000

    @property
    def replayed_from(self) -> int:
        """The time before the step that tells whether a duplicate is persistent is replayed, too, and so is that which
        a verdict at the step's beginning looks at.
        """
        samples = (self.verdict_samples - 1) * self.cadence
        return self.start - max(self.persistent_after, self.verdict_window, samples) - self.max_gap

    @property
    def read_from(self) -> int:
        """A snapshot in the gap before that can still hold. No other snapshot counts."""
        return self.replayed_from - self.max_gap


def _inside(times: range, snapshots: Iterable[Snapshot]) -> tuple[Snapshot, ...]:
    return tuple(snapshot for snapshot in snapshots if snapshot.captured_at in times)


def _from(begin: int, snapshots: Iterable[Snapshot], key: Callable[[Snapshot], str]) -> tuple[Snapshot, ...]:
    """The snapshots without those that another one of their key had replaced by then."""
    in_order = sorted(snapshots, key=lambda snapshot: snapshot.captured_at)
    last = {key(snapshot): snapshot.captured_at for snapshot in in_order if snapshot.captured_at <= begin}
    return tuple(
        snapshot for snapshot in in_order if snapshot.captured_at >= last.get(key(snapshot), snapshot.captured_at)
    )
