"""ALLOCATION_DRIFT: the queues that a client really has are not those of its share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans
from spark_jobs.domain.model.clients import DriftCause
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import Membership, Place
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.window import SECOND, Time, overlaps, without
from spark_jobs.domain.rocketmq.strategies import is_popped
from spark_jobs.domain.rules import client_hung, duplicate_client_id, mixed_clients
from spark_jobs.domain.rules.client_hung import pulling_by_hand
from spark_jobs.domain.rules.roots import Follows, clients
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

NAME = "ALLOCATION_DRIFT"


class Shares(NamedTuple):
    """The share of every client in one interval, until the last snapshot that showed its members (microseconds).
    `settled_at`: when clients must have followed the last change, also of the route; `agree`: how long they have for
    it. `listed_at`: when brokers of the topic listed the members, in any interval.
    """

    start: int
    end: int
    settled_at: int
    client_ids: frozenset[str]
    queues_of_client: Mapping[str, frozenset[Place]]
    listed_at: NDArray[np.int64]
    agree: int

    def is_confirmed(self, start: int, end: int) -> bool:
        """Whether the members were listed in the time, and clients had followed that list by its end. Where rounds were
        missed, members may have come and gone.
        """
        return bool(self.listed_at.searchsorted(start) < self.listed_at.searchsorted(end - self.agree, side="right"))


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client, topic, span of drift, queue); one condition per client, topic and direction.

    A span ends with the last snapshot that showed it: a client that has left, or has followed since, is not drifting.
    A client that pulls by hand may list no queue at all, whatever it pulls.
    """
    shares, by_hand = _shares(step), pulling_by_hand(step)
    for client_id, spans in client_spans(step).items():
        asked_at = step.history.clients[client_id].series.times
        for start, _, seen_at, (reported, _) in spans:
            for time in without((start, seen_at), () if reported.owned else by_hand):
                for topic, owned_queues in reported.holdings.items():
                    yield from _drifting(shares.get(topic, ()), topic, client_id, owned_queues, time, asked_at)


def _drifting(
    shares: Sequence[Shares],
    topic: str,
    client_id: str,
    owned_queues: frozenset[Place],
    seen: Time,
    asked_at: NDArray[np.int64],
) -> Iterator[RuleHit]:
    """The hits of one client and topic in the time `seen`, in which its snapshots (at `asked_at`) list these queues."""
    for share, since, until in overlaps(*seen, shares):
        start = max(since, share.settled_at)
        if start >= until or client_id not in share.client_ids:
            continue
        drifted = drift(owned_queues, share.queues_of_client.get(client_id, frozenset()))
        end = int(asked_at[np.searchsorted(asked_at, until, side="right") - 1]) if drifted else until
        is_certain = bool(drifted) and start < end and share.is_confirmed(start, end)
        for cause, queues in drifted.items() if is_certain else ():
            for broker_name, queue_id in sorted(queues):
                yield RuleHit(
                    start,
                    end,
                    cause=cause.value,
                    topic=topic,
                    client_id=client_id,
                    queue=FindingQueue(topic, broker_name, queue_id, cause.value),
                    implicated=client_id,
                )


def drift(owned_queues: frozenset[Place], share: frozenset[Place]) -> Mapping[DriftCause, frozenset[Place]]:
    """The queues that a client owns beyond its share, and those of its share that it does not own; {} if none are."""
    if owned_queues == share:
        return {}
    return {DriftCause.HOLDS_MORE: owned_queues - share, DriftCause.HOLDS_LESS: share - owned_queues}


def _shares(step: AuditedStep) -> Mapping[str, Sequence[Shares]]:
    """By topic, in intervals with the same members on all hosts: otherwise a share depends on which host is asked."""
    agree = step.settings.thresholds.convergence_seconds * SECOND
    poll = step.settings.thresholds.route_poll_seconds * SECOND
    shares_of_topic: dict[str, list[Shares]] = defaultdict(list)
    route_since: dict[str, tuple[tuple[Place, ...] | None, int]] = {}
    listed_at = cache(partial(_listed_at, step.history.memberships))
    for interval in step.replayed:
        if interval.view != ALL_HOSTS or interval.allocation is None or interval.members is None:
            continue
        queues, route_at = route_since.get(interval.topic, (None, interval.start))
        if interval.queues != queues:
            route_at = interval.start
        route_since[interval.topic] = interval.queues, route_at
        settled_at = max(interval.start, route_at + poll) + agree
        # What a client pops is not among the queues that it lists.
        client_ids = frozenset(member.client_id for member in interval.members if not is_popped(member.strategy))
        end = interval.end if interval.seen_at is None else min(interval.end, interval.seen_at)
        lists = listed_at(frozenset(broker for broker, _ in interval.queues or ()))
        own_queues = interval.allocation.queues_of_client
        shares = Shares(interval.start, end, settled_at, client_ids, own_queues, lists, agree)
        shares_of_topic[interval.topic].append(shares)
    return shares_of_topic


def _listed_at(memberships: Mapping[str, Series[Membership]], brokers: frozenset[str]) -> NDArray[np.int64]:
    """When any of the brokers listed the members, in microseconds, ascending."""
    times = [memberships[broker].times for broker in brokers if broker in memberships]
    return np.sort(np.concatenate([np.empty(0, np.int64), *times]))


RULE = Rule(
    name=NAME,
    headline="{subjects} in {groups} holds other queues than its share",
    meaning="A client holds queues outside its share (`HOLDS_MORE`: another client consumes them as well), or has not "
    "taken queues of its share (`HOLDS_LESS`: perhaps nobody consumes them). One finding per client, topic and "
    "direction; the evidence names the queues.",
    decided_by="the queues that the client itself lists, without those it has dropped, compared with its share in the "
    "replayed allocation, while all brokers of the topic list the same members. After every change the "
    "clients have `convergence_seconds` (20 s) to follow, and after a route change `route_poll_seconds` (30 "
    "s) more. A difference that exists then, or begins later, and is still there in a client snapshot "
    "another `convergence_seconds` later, is drift. So a client that drops its queues after an offset "
    "reset, and takes them again at its next rebalance, has no finding. Of consumers that share a client id "
    "only one answers, and their shares are equal. Clients do not list queues that they pop. Only shares "
    "that a membership snapshot confirms count: one between the client snapshots that show the difference, "
    "`convergence_seconds` before the last of them at the latest. An empty list says nothing while a broker reports "
    "CONSUME_ACTIVELY for the group (`DefaultMQPullConsumer` never lists a queue). INFO if nothing was "
    "produced to the queues and no backlog is known.",
    causes={
        DriftCause.HOLDS_MORE: Cause(
            "the client holds queues that are not in its share",
            "The client computes its share by other rules than its group, or its rebalance is stuck. Compare its "
            "strategy, settings and version with those of the other members, look for errors in its rebalance log, and "
            "restart it.",
        ),
        DriftCause.HOLDS_LESS: Cause(
            "the client has not taken queues of its share",
            "The client computes its share by other rules than its group, its rebalance is stuck, or (if it consumes "
            "orderly) it cannot get the broker's lock. Look for errors in its rebalance log, and restart it.",
        ),
    },
    example="none: all clients hold what the replay gives them, except for moments after a change or an offset reset.",
    hits=hits,
    needs=(CLIENT_SNAPSHOTS,),
    follows=(
        Follows(client_hung.NAME, clients),
        Follows(duplicate_client_id.NAME, clients),
        Follows(mixed_clients.NAME, clients),
    ),
)
