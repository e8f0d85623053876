"""What an audit step may see of a (cluster, consumer group, topic): snapshots and the spans they count in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from spark_jobs.domain.duplicates import PERSISTENT_AFTER
from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.message_queue import RouteEntry
from spark_jobs.domain.strategies import Strategy


@dataclass(frozen=True)
class MembershipSnapshot:
    """One broker's answer about the group: ids as listed, duplicates kept; `topics` the group subscribes."""

    broker_name: str
    captured_at: datetime
    client_ids: tuple[str, ...]
    message_model: str | None = "CLUSTERING"
    topics: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RouteSnapshot:
    """The topic's route as the name server gave it."""

    captured_at: datetime
    entries: tuple[RouteEntry, ...]


@dataclass(frozen=True)
class ClientSnapshot:
    """One client's running info; None is unknown, as is everything where it did not answer."""

    client_id: str
    captured_at: datetime
    answered: bool = True
    strategy_class: str | None = None
    client_rebalance: bool | None = None
    topics: frozenset[str] | None = None


_Snapshot = TypeVar("_Snapshot", MembershipSnapshot, ClientSnapshot)


def _from(begin: datetime, snapshots: Iterable[_Snapshot], key: Callable[[_Snapshot], str]) -> tuple[_Snapshot, ...]:
    """The snapshots without those that another one of their key had replaced by then."""
    in_order = sorted(snapshots, key=lambda one: one.captured_at)
    last = {key(one): one.captured_at for one in in_order if one.captured_at <= begin}
    return tuple(one for one in in_order if one.captured_at >= last.get(key(one), one.captured_at))


@dataclass(frozen=True)
class StepWindow:
    """The spans that belong to one audit step, given how often snapshots come and how long each one holds."""

    step: Interval
    cadence: timedelta
    max_gap: timedelta
    persistent_after: timedelta = PERSISTENT_AFTER

    @property
    def replayed(self) -> Interval:
        """The step and the time before it that tells whether a duplicate is persistent."""
        return Interval(self.step.start - self.persistent_after - self.max_gap, self.step.end)

    @property
    def read(self) -> Interval:
        """`replayed` and the gap before it: a snapshot there can still hold. No other snapshot counts."""
        return Interval(self.replayed.start - self.max_gap, self.step.end)


@dataclass(frozen=True)
class GroupHistory:
    """All snapshots of a (cluster, consumer group, topic), in any order; its configured strategy, if any.

    `memberships` and `clients` are of the whole group, whatever the topic; `offset_times` and `routes` of
    the topic.
    """

    topic: str
    memberships: tuple[MembershipSnapshot, ...] = ()
    routes: tuple[RouteSnapshot, ...] = ()
    clients: tuple[ClientSnapshot, ...] = ()
    offset_times: tuple[datetime, ...] = ()
    configured: Strategy | None = None

    def seen_in(self, window: StepWindow) -> GroupHistory:
        """The same with the snapshots of `window.read` that say something about `window.replayed`.

        Of those before it, each broker's and client's last is still in force when it begins: a list for the
        gap, what a client said of itself until it says something else.
        """
        read, begin = window.read, window.replayed.start
        listed = [one for one in self.memberships if begin - window.max_gap < one.captured_at < read.end]
        answered = [one for one in self.clients if one.answered and read.start <= one.captured_at < read.end]
        return replace(
            self,
            memberships=_from(begin, listed, lambda one: one.broker_name),
            routes=tuple(one for one in self.routes if read.start <= one.captured_at < read.end),
            clients=_from(begin, answered, lambda one: one.client_id),
            offset_times=tuple(one for one in self.offset_times if read.start <= one < read.end),
        )

    @property
    def names_topic(self) -> bool:
        """Whether the group or any of its clients was seen to subscribe the topic."""
        known = [one.topics for one in self.memberships] + [one.topics or frozenset() for one in self.clients]
        return any(self.topic in topics for topics in known)

    @property
    def broadcasting(self) -> bool:
        """Whether the group was seen to consume in BROADCASTING mode."""
        return any(one.message_model == "BROADCASTING" for one in self.memberships)

    @property
    def broker_rebalance(self) -> bool:
        """Whether a client was seen to leave rebalancing to the broker."""
        return any(one.client_rebalance is False for one in self.clients)
