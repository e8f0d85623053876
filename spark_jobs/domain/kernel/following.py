"""The times in which clients may still have the queues of a route that has changed, and what they have meanwhile.

A client hears of a route when it asks for it, every 30 s, and takes its share at its next rebalance, within 20 s more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from spark_jobs.domain.kernel.as_shown import Queues, Shown, per_queue, shown, with_owners_shown
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, RebalanceInterval
from spark_jobs.domain.kernel.holdings import settled_at
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.clients import ReportedState
from spark_jobs.domain.model.history import ClientHistory
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import AuditSettings
from spark_jobs.domain.rocketmq.strategies import is_popped

_OF_THE_ROUTE = {Trigger.BROKER_GONE, Trigger.BROKER_BACK, Trigger.QUEUES_REMOVED, Trigger.QUEUES_ADDED}


def with_settling(
    intervals: Iterable[RebalanceInterval], clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[RebalanceInterval]:
    """The intervals of a topic, cut by the lists of members; those in which clients follow a route say until when."""
    until = 0
    for interval in intervals:
        triggers = interval.moves.triggers if interval.moves else ()
        if any(trigger in _OF_THE_ROUTE for trigger, _ in triggers):
            until = settled_at(interval.start, interval.start, settings)
        differences = list(_differences(interval, until, clients)) if interval.start < until else []
        in_rounds = _in_rounds(differences, interval.end, settings.cadence // 2)
        for piece in with_owners_shown(interval, in_rounds, UnassignedCause.ROUTE_OUTDATED):
            by_strategy = None if piece.allocation is interval.allocation else interval.allocation
            yield replace(piece, settled_at=until, by_strategy=by_strategy) if piece.start < until else piece


def _differences(
    interval: RebalanceInterval, until: int, clients: Mapping[str, ClientHistory]
) -> Iterator[Span[Shown]]:
    """One per (client, queue, time) in which the client's list is not its share, while all brokers list the same."""
    if interval.view != ALL_HOSTS or interval.allocation is None:
        return
    time, queues = replace(interval, end=min(interval.end, until)), frozenset(interval.queues or ())
    pulling = {member.client_id for member in interval.members or () if not is_popped(member.strategy)}
    for client_id in sorted(pulling & clients.keys()):
        share = interval.allocation.queues_of_client.get(client_id, frozenset())
        for owns, differ in ((True, _beyond), (False, _lacking)):
            shows = partial(differ, interval.topic, queues, share)
            for span in per_queue(shown(time, clients[client_id], shows)):
                yield span.showing(Shown(client_id, span.state, owns))


def _in_rounds(spans: Sequence[Span[Shown]], end: int, tolerance: int) -> Sequence[Span[Shown]]:
    """The spans, with times closer than the tolerance as one, the last: the recorder asks client after client."""
    round_of: dict[int, int] = {}
    last = end
    for at in sorted({end, *(at for span in spans for at in span.time)}, reverse=True):
        last = last if last - at < tolerance else at
        round_of[at] = last
    in_rounds = (span._replace(start=round_of[span.start], end=round_of[span.end]) for span in spans)
    return [span for span in in_rounds if span.start < span.end]


def _beyond(topic: str, queues: Queues, share: Queues, reported: ReportedState) -> Queues:
    return reported.holdings.get(topic, frozenset()) & queues - share


def _lacking(topic: str, _: Queues, share: Queues, reported: ReportedState) -> Queues:
    """A client that lists no queue of any topic may pull by hand."""
    return share - reported.holdings[topic] if reported.owned and topic in reported.holdings else frozenset()
