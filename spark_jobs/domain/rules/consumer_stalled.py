"""CONSUMER_STALLED: a queue that has an owner has a backlog, and its consumer offset never moves."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.unconsumed import Unconsumed, unconsumed
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.model.window import SECOND, Time, common, islands, joined, without
from spark_jobs.domain.rocketmq.strategies import is_popped
from spark_jobs.domain.rules.behind import (
    BEHIND,
    DECIDED_BY,
    FOLLOWS,
    NO_MASTER,
    NOT_ASKED_FOR,
    NOT_CONSUMED,
    NOT_REPLAYED,
    PRIORITY_STARVATION,
    SLAVES_ONLY,
    STARVED,
    verdict_hits,
)
from spark_jobs.domain.rules.client_hung import pulling_by_hand
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.evidence import NEVER_COMMITTED
from spark_jobs.domain.rules.filtered import FILTERED, FILTERED_OUT
from spark_jobs.domain.rules.in_common import standing_broker, standing_to_the_end, with_what_they_share
from spark_jobs.domain.rules.offset_held_back import held_back_times
from spark_jobs.domain.rules.refused import REFUSED, refused_hits
from spark_jobs.domain.rules.rule import Cause, Follows, Rule, everything
from spark_jobs.domain.rules.strategy_unknown import OWNERS_UNKNOWN

NO_PROGRESS, FEW_MESSAGES = "NO_PROGRESS", "FEW_MESSAGES"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Those of the verdict STALL, of queues that stand without a verdict, and of queues that a broker refuses."""
    stalled = (*verdict_hits(step, Verdict.STALL, NO_PROGRESS), *_without_verdict(step))
    yield from with_what_they_share(step, stalled, NO_PROGRESS)
    yield from refused_hits(step, BEHIND)


def _without_verdict(step: AuditedStep) -> Iterator[RuleHit]:
    by_hand, filtered = pulling_by_hand(step), {row.interval.topic for row in step.progress if row.is_filtered}
    for topic, samples in step.history.offsets.items():
        intervals = [interval for interval in step.replayed if interval.topic == topic]
        if intervals and topic not in filtered:
            seconds = step.settings.thresholds.stalled_after_seconds
            time = step.window.read_from, step.window.end
            for span in unconsumed(samples, time, step.settings.max_gap, seconds):
                if span.produced <= 0:
                    continue  # a few old messages may be of no use to the group
                # An application that pulls when it likes may keep its offsets elsewhere.
                elsewhere = () if span.others_commit and not span.is_committed else by_hand
                held_back = held_back_times(step).get(MessageQueue(topic, *span.queue), ())
                explained = joined([*elsewhere, *held_back, *_verdict_times(step, topic, span)])
                yield from _standing_hits(step, topic, span, intervals, explained)


def _standing_hits(
    step: AuditedStep, topic: str, span: Unconsumed, intervals: Sequence[RebalanceInterval], explained: Sequence[Time]
) -> Iterator[RuleHit]:
    """The hits of one queue in the times in which it has an owner, if they are long enough."""
    cause, severity, minimum = _kind(step, span)
    owned = [interval for interval in intervals if _owners(interval, span)]
    runs = (
        groupby(island, lambda interval: cause == NO_PROGRESS and _owners(interval, span)) for island in islands(owned)
    )
    for island in ([*run] for _, run in chain.from_iterable(runs)):
        since, until = island[0].start, max(interval.end for interval in island)
        if cause == NO_PROGRESS and span.start > since + step.settings.cadence:
            continue  # it moved since the owner came: verdicts show it
        owned_time = common((span.start, span.end), (since, until))
        lasting = owned_time if cause == NO_PROGRESS else None
        for start, end in without(owned_time, explained) if owned_time else ():
            first, last = lasting or (start, end)
            if min(last, span.seen_at) - first >= minimum * SECOND:
                yield from _hits_of(island, topic, span, (start, end), cause, severity)


def _hits_of(
    island: Sequence[RebalanceInterval], topic: str, span: Unconsumed, time: Time, cause: str, severity: str
) -> Iterator[RuleHit]:
    for interval in island:
        part = common(time, (interval.start, interval.end))
        for client_id in _owners(interval, span) if part else ():
            yield RuleHit(
                *(*(part or time), cause, topic),
                queue=FindingQueue(topic, *span.queue, BEHIND),
                implicated=client_id,
                minimum_seconds=0,
                severity=severity,
                weight=span.waiting,
                measures={"waiting": span.waiting},
            )


def _kind(step: AuditedStep, span: Unconsumed) -> tuple[str, str, float]:
    """The cause and the severity of a span, and the seconds for which it must last."""
    thresholds = step.settings.thresholds
    if span.is_committed and span.waiting > thresholds.allowed_lag:
        return NO_PROGRESS, ERROR, thresholds.stalled_after_seconds
    if span.is_committed:
        return FEW_MESSAGES, WARN, 2 * thresholds.verdict_window_seconds
    if span.waiting <= thresholds.allowed_lag:
        return NEVER_COMMITTED, WARN, 2 * thresholds.verdict_window_seconds
    return NEVER_COMMITTED, ERROR if span.others_commit else WARN, thresholds.stalled_after_seconds


def _owners(interval: RebalanceInterval, span: Unconsumed) -> Sequence[str]:
    """The client ids that own the queue, without those that pop it."""
    allocation, members = interval.allocation, interval.members
    if allocation is None or members is None or span.queue not in allocation.queues:
        return ()
    if any(is_popped(member.strategy) for member in members):
        return ()
    return allocation.owner_ids[allocation.queues.index(span.queue)]


def _verdict_times(step: AuditedStep, topic: str, span: Unconsumed) -> Iterator[Time]:
    """The times in which the queue has the verdict of a stuck one."""
    verdicts = ((row, verdict) for row in step.progress if row.interval.topic == topic for verdict in row.spans)
    return ((each.start, each.end) for row, each in verdicts if row.queues[each.place] == span.queue)


RULE = Rule(
    name="CONSUMER_STALLED",
    headline="Consumers of {groups} make no progress in {queues}",
    meaning="The queue has a backlog, but its consumer offset does not advance, nor did it since its interval began.",
    decided_by=DECIDED_BY.format("STALL")
    + " `NEVER_COMMITTED` and `FEW_MESSAGES` use all samples of the step and its look-back; not with filters, POP, a "
    "proxy, BROADCASTING or, unless another queue of the topic has a committed offset, CONSUME_ACTIVELY.",
    causes={
        NO_PROGRESS: Cause(
            "the offset stands in the window, or for `stalled_after_seconds` since the queue got its owner",
            "Check whether the queue's owner pulls, and whether one message holds back the offset: a listener that "
            "hangs, or an orderly one that suspends forever.",
            commands=(THREAD_DUMP,),
        ),
        NEVER_COMMITTED: Cause(
            "no committed offset, although messages came for `stalled_after_seconds` (WARN if no queue of the topic "
            "has one: the application may keep its offsets elsewhere)",
            "No message of these queues was ever consumed. Check that the owner's host reaches the address that the "
            "broker registers, that the owner pulls the queue, and that its first message does not hang in the "
            "listener.",
            commands=(THREAD_DUMP,),
        ),
        FEW_MESSAGES: Cause(
            "at most `allowed_lag` messages wait, and the offset stands for twice `verdict_window_seconds` (WARN)",
            "Check whether the owner pulls the queue, has the lock of an orderly queue, or hangs in the listener "
            "with one message. Restart it if it does not recover.",
            commands=(THREAD_DUMP,),
        ),
        REFUSED: Cause(
            "for 60 s the broker's subscription of the group lacks the topic: it refuses pulls (code 24, "
            "SUBSCRIPTION_NOT_EXIST)",
            "A broker keeps the subscription of the group's last heartbeat, which lacks this topic. Make all members "
            "subscribe to the same topics, or give the consumers of each topic a separate group.",
        ),
        NO_MASTER: SLAVES_ONLY,
        NOT_CONSUMED: NOT_ASKED_FOR,
        PRIORITY_STARVATION: STARVED,
        FILTERED: FILTERED_OUT,
        OWNERS_UNKNOWN: NOT_REPLAYED,
    },
    evaluate=hits,
    hit_severity=ERROR,
    detail=standing_to_the_end,
    broker=standing_broker,
    follows=(
        *FOLLOWS,
        Follows("STRATEGY_UNKNOWN", everything, (OWNERS_UNKNOWN,)),
        Follows("SUBSCRIPTION_MISMATCH", everything, (REFUSED,)),
    ),
)
