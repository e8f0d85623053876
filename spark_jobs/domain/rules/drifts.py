"""The queues that clients really have, compared with those of their shares."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.diagnosis.measure import pulling_by_hand
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import client_spans, reported
from spark_jobs.domain.kernel.holdings import settled_at
from spark_jobs.domain.kernel.views import with_modes
from spark_jobs.domain.model.clients import ClientReport, DriftCause
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, Time, joined, overlaps, without
from spark_jobs.domain.rocketmq.strategies import POP, StrategySource, is_popped

#: The queues of one topic that all reports of a time list, and those that any does.
ListedQueues = tuple[frozenset[Place], frozenset[Place]]


class Shares(NamedTuple):
    """The share of every client in one interval, until the last snapshot that showed its members (microseconds).
    `settled_at`: when clients must have followed the last change, also of the route.
    """

    start: int
    end: int
    settled_at: int
    client_ids: frozenset[str]
    queues_of_client: Mapping[str, frozenset[Place]]
    interval: RebalanceInterval

    def share_of(self, client_id: str) -> frozenset[Place]:
        """The queues that the client owns."""
        return self.queues_of_client.get(client_id, frozenset())


class Drift(NamedTuple):
    """A client that held these queues of a topic, and not those of its share, from `start` to `end` (microseconds).
    `queues`: by direction those that differ all the time. `until`: its end, or that of the step without a later
    snapshot. `is_confirmed`: the members were listed in the time, and the client had followed that list by its end.
    """

    start: int
    end: int
    client_id: str
    topic: str
    owned: frozenset[Place]
    queues: Mapping[DriftCause, frozenset[Place]]
    interval: RebalanceInterval
    until: int
    is_confirmed: bool = True


def drifting(step: AuditedStep) -> Iterator[Drift]:
    """One per (client, topic, time of drift) up to its last snapshot; who pulls by hand or pops may list no queue."""
    shares = _shares(step)
    every = [
        client_id
        for client_id, reports in reported(step).items()
        if any(_differs(report, shares, client_id) for report in reports.states)
    ]
    without_lists = joined([*pulling_by_hand(step), *_popping(step)] if every else ())
    for client_id in every:
        for run in _runs(client_spans(step)[client_id]):
            start, seen_at = run[0].start, run[-1].seen_at
            if start >= seen_at:  # a single snapshot shows no drift
                continue
            is_listing = any(span.state.owned for span in run)
            for time in without((start, seen_at), () if is_listing else without_lists):
                for topic, listed in _listed(run).items():
                    for each in _drifting(step, shares.get(topic, ()), client_id, topic, listed, time):
                        is_open = run[-1].end == each.interval.end == step.window.end
                        yield each._replace(until=run[-1].end) if is_open else each


def _differs(report: ClientReport, shares: Mapping[str, Sequence[Shares]], client_id: str) -> bool:
    """Return whether the client lists other queues than those of any of its shares."""
    of_topics = ((listed, shares.get(topic, ())) for topic, listed in report.holdings.items())
    return any(listed != share.share_of(client_id) for listed, of_topic in of_topics for share in of_topic)


def _runs(spans: Sequence[Span[ClientReport]]) -> Iterator[Sequence[Span[ClientReport]]]:
    """The reports of one client without a gap between them that have the same list, or all have different ones."""
    run: list[Span[ClientReport]] = []
    for span in spans:
        if run:
            are_single = run[-1].start == run[-1].seen_at and span.start == span.seen_at
            is_continued = are_single or run[-1].state.owned == span.state.owned
            if run[-1].end != span.start or not is_continued:
                yield run
                run = []
        run.append(span)
    if run:
        yield run


def _listed(run: Sequence[Span[ClientReport]]) -> Mapping[str, ListedQueues]:
    """By topic that all the reports are about."""
    holdings = [span.state.holdings for span in run]
    topics = set(holdings[0]).intersection(*holdings)
    lists = {topic: [of_report[topic] for of_report in holdings] for topic in topics}
    return {topic: (frozenset.intersection(*of), frozenset.union(*of)) for topic, of in lists.items()}


def _popping(step: AuditedStep) -> Iterator[Time]:
    """The times in which a broker has POP set for a topic: clients that consume in order may pop there, too."""
    for spans in step.memberships.values():
        for span in with_modes(spans):
            if any(mode.mode == POP for mode in span.state.request_modes or ()):
                yield span.start, span.end


def _drifting(
    step: AuditedStep, shares: Sequence[Shares], client_id: str, topic: str, listed: ListedQueues, seen: Time
) -> Iterator[Drift]:
    """The drift of one client and topic in the time `seen`, in which its snapshots list these queues."""
    asked_at = reported(step)[client_id].times
    for share, since, until in overlaps(*seen, shares):
        start = max(since, share.settled_at)
        if start >= until or client_id not in share.client_ids:
            continue
        drifted = drift(listed, share.share_of(client_id))
        end = int(asked_at[np.searchsorted(asked_at, until, side="right") - 1]) if drifted else until
        if drifted and start < end:
            is_confirmed = _is_confirmed(step, share.interval, start, end)
            yield Drift(start, end, client_id, topic, listed[0], drifted, share.interval, end, is_confirmed)


def _is_confirmed(step: AuditedStep, interval: RebalanceInterval, start: int, end: int) -> bool:
    """Return whether a broker of the topic listed the members in the time, and clients had followed it by its end."""
    until = end - step.settings.thresholds.convergence_seconds * SECOND
    brokers = {broker for broker, _ in interval.queues or ()} & step.history.memberships.keys()
    return any(step.history.memberships[broker].any_inside(start, until + 1) for broker in brokers)


def drift(listed: ListedQueues, share: frozenset[Place]) -> Mapping[DriftCause, frozenset[Place]]:
    """The queues that a client always has beyond its share, and those of it that it never has; {} if none are."""
    always, ever = listed
    surplus, missing = always - share, share - ever
    return {DriftCause.HOLDS_MORE: surplus, DriftCause.HOLDS_LESS: missing} if surplus or missing else {}


def _shares(step: AuditedStep) -> Mapping[str, Sequence[Shares]]:
    """By topic, in intervals with the same members on all hosts: otherwise a share depends on which host is asked."""
    shares_of_topic: dict[str, list[Shares]] = defaultdict(list)
    before: dict[str, tuple[RebalanceInterval, int, int]] = {}
    for interval in step.replayed:
        given = interval.shares
        if interval.view != ALL_HOSTS or given is None or interval.members is None:
            continue
        if interval.strategy_source == StrategySource.DEFAULT:
            continue
        last, shares_at, route_at = before.get(interval.topic, (None, interval.start, interval.start))
        if last is None or interval.queues != last.queues:
            route_at = interval.start
        if last is None or last.end != interval.start or last.shares is not given:
            shares_at = interval.start
        before[interval.topic] = interval, shares_at, route_at
        # What a client pops is not among the queues that it lists.
        client_ids = frozenset(member.client_id for member in interval.members if not is_popped(member.strategy))
        end = interval.end if interval.seen_at is None else min(interval.end, interval.seen_at)
        settled = settled_at(shares_at, route_at, step.settings)
        shares = Shares(interval.start, end, settled, client_ids, given.queues_of_client, interval)
        shares_of_topic[interval.topic].append(shares)
    return shares_of_topic
