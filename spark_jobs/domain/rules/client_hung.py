"""CLIENT_HUNG: a member that owns queues and does nothing with them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.diagnosis.measure import pulling_by_hand
from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import ClientReport, unwell_spans
from spark_jobs.domain.model.clients import HungCause
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, Time, from_micros, overlaps, without
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.links import hosts
from spark_jobs.domain.rules.queue_owners import owned_queues
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

HUNG = "HUNG"


class Hung(NamedTuple):
    """A time in which a client hangs (microseconds); `stale`: the queues that it does not pull, None: all it owns."""

    start: int
    end: int
    cause: HungCause
    stale: frozenset[MessageQueue] | None


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (client that hangs, interval, queue that it owns by replay); one condition per client and cause."""
    seconds = step.settings.thresholds.silent_after_seconds
    by_hand = pulling_by_hand(step)
    for client_id, spans in unwell_spans(step).items():
        hangs = list(_hangs(spans, seconds, by_hand))
        for interval in step.replayed if hangs else ():
            yield from _hang_hits(step, interval, client_id, hangs)


def _hangs(spans: Sequence[Span[ClientReport]], seconds: int, by_hand: Sequence[Time]) -> Iterator[Hung]:
    """The times in which a client hangs, in order. One old last pull counts at once, no answer after two snapshots."""
    for start, end, seen_at, (reported, symptoms) in spans:
        if not reported.answered and seen_at > start and end >= start + seconds * SECOND:
            yield Hung(start, end, HungCause.NO_ANSWER, None)
        if symptoms.stale:
            for part in without((start, end), by_hand):
                yield Hung(*part, HungCause.NO_PULL, frozenset(symptoms.stale))


def _hang_hits(
    step: AuditedStep, interval: RebalanceInterval, client_id: str, hangs: Sequence[Hung]
) -> Iterator[RuleHit]:
    """The hits of queues that a client owns in an interval while it hangs."""
    for hang, start, end in overlaps(interval.start, interval.end, hangs):
        for queue in owned_queues(interval, client_id, HUNG):
            since, until = start, end
            if hang.stale is not None:
                since, until = _unmoved(step, queue, hang, (start, end)) if queue[:3] in hang.stale else (end, end)
            if since < until:
                hint = _left(step, interval, client_id, until) if hang.cause is HungCause.NO_ANSWER else None
                yield RuleHit(
                    since, until, hang.cause, client_id=client_id, queue=queue, implicated=client_id, hint=hint
                )


def _left(step: AuditedStep, interval: RebalanceInterval, client_id: str, until: int) -> str | None:
    """When it left the group, if its hang ends so. Source: ClientHousekeepingService closes a channel whose last
    heartbeat is 120 s old.
    """
    following = (each for each in step.replayed if each.topic == interval.topic and each.start == until)
    if until < interval.end or all(client_id in each.client_ids for each in following):
        return None
    at = format_utc(from_micros(until))
    return (
        f"It left the group by {at}: its connection was closed, or a broker removed it 120 s after its last heartbeat."
    )


def _unmoved(step: AuditedStep, queue: FindingQueue, hang: Hung, time: Time) -> Time:
    """The longest part of the time in which the queue's offset does not move while it is not pulled. Empty, if nothing
    waits in the queue, or the hang is a pause between two pulls: shorter than `pull_idle_seconds`, and the next one
    moved the offset. Offsets may show before the next client snapshot that the client pulls again.
    """
    start, end = time
    samples, settings = step.history.offsets.get(queue.topic), step.settings
    column = samples.columns.get((queue.broker_name, queue.queue_id)) if samples else None
    if samples is None or column is None:
        return time
    seen = samples.inside(hang.start - settings.max_gap, min(hang.end + 2 * settings.cadence, step.window.end))
    offsets, lag = samples.consumed_to[seen, column], samples.lag[seen, column]
    times, offsets = samples.times[seen][offsets != UNKNOWN], offsets[offsets != UNKNOWN]
    moved = times[1:][np.diff(offsets) != 0]
    is_pause = hang.end - hang.start < settings.thresholds.pull_idle_seconds * SECOND and (moved >= hang.end).any()
    if is_pause or (len(lag) and not lag.any()):
        return end, end
    inside = moved[(moved > start) & (moved < end)].tolist()
    parts = pairwise([start, *inside, end])
    return max(parts, key=lambda part: (part[1] - part[0], part))


RULE = Rule(
    name="CLIENT_HUNG",
    headline="{subjects} in {groups} {subjects:hangs|hang}, but still {subjects:owns|own} queues",
    meaning="A member with queues does not answer, or has stopped pulling. Its queues are not consumed. The broker "
    "closes its connection about 120 s after its last heartbeat.",
    decided_by="By client snapshots. `NO_PULL` not with CONSUME_ACTIVELY or LONG_PULL_INTERVAL, or if nothing waits "
    "in the queue, its offset moves, or its cached messages wait for the listener.",
    causes={
        HungCause.NO_ANSWER: Cause(
            "connected, but no client snapshot got an answer for `silent_after_seconds` (60)",
            LINE_OF[StandingCause.NO_ANSWER].advice,
            lasts="silent_after_seconds",
        ),
        HungCause.NO_PULL: Cause(
            "it answers, but a queue's last pull is more than `pull_idle_seconds` (120) old",
            LINE_OF[StandingCause.NO_PULL].advice,
            headline="{subjects} in {groups} {subjects:does|do} not pull {queues}",
            commands=(THREAD_DUMP,),
        ),
    },
    evaluate=hits,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
    spreads_by=hosts,
)
