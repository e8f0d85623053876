"""Shared by the rules about consumers without progress: hits of queues with one verdict, and their common causes."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.brokers import brokers_without_master
from spark_jobs.domain.kernel.handed_out import is_handed_out
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.clients import ThrottleCause
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.message_queue import PRIORITY, MessageQueue
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, Reason, Status, Verdict
from spark_jobs.domain.model.window import SECOND, without
from spark_jobs.domain.rules import orderly_lock_missing, strategy_unknown
from spark_jobs.domain.rules.commands import CLUSTER_LIST
from spark_jobs.domain.rules.filtered import FILTERED, waits_for_others
from spark_jobs.domain.rules.offset_held_back import held_back_times
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.rule import Cause, Follows, clients, everything, queues

BEHIND = "BEHIND"
#: Of a backlog that is counted by what was handed out.
ON_TOP = "The offsets show what was handed out: messages that clients hold and have not acknowledged come on top."
#: A queue stands still or falls behind because of its owner, or because of what its broker gets or cannot give.
FOLLOWS = (
    Follows("GROUP_OFFLINE", everything),
    Follows("GHOST_MEMBER", queues),
    Follows("CLIENT_HUNG", queues),
    Follows("ALLOCATION_DRIFT", queues),
    Follows("BROKER_NOT_READABLE", queues, within=60 * SECOND),
    Follows("DUPLICATE_CLIENT_ID", clients),
    Follows("ORDERLY_LOCK_MISSING", queues),
    Follows("CONSUME_FAILING", clients),
    Follows("CONSUME_FAILING", queues),
    Follows("OFFSET_HELD_BACK", queues),
    Follows("OFFSET_BEYOND_END", queues),
    Follows("FLOW_CONTROLLED", queues, root_causes=(ThrottleCause.CACHED_SPAN,)),
    Follows("SLOW_LISTENER", clients),
    Follows("PRODUCER_SKEW", queues),
    Follows("NEAR_CAPACITY", clients),
    Follows("LONG_PULL_INTERVAL", clients),
)
DECIDED_BY = (
    "[Verdict](../replay.md#progress-and-verdicts) {} for `stalled_after_seconds`, in a queue with an owner, or an "
    "unknown one (POP, a proxy, not replayable)."
)
PRIORITY_STARVATION = "PRIORITY_STARVATION"
STARVED = Cause(
    "a PRIORITY topic with POP, and a queue with a higher id on the same broker was consumed (INFO)",
    "Higher priorities take all that the consumers can do. Add consumers, or lower the group's `priority.factor`, so "
    "that some requests take the queues in turn.",
    severity=INFO,
)


NOT_CONSUMED = "NOT_CONSUMED"
NOT_ASKED_FOR = Cause(
    "POP, or behind a proxy: the offsets stand",
    "No consumer asks for these messages or acknowledges them. Check that the consumers run, and that they or the "
    "proxies reach the brokers of these queues.",
    headline="No consumer of {groups} asks for the messages of {queues}",
)
NO_MASTER = orderly_lock_missing.NO_MASTER
SLAVES_ONLY = Cause(
    "the route named only slaves of the queues' broker when they stopped",
    "Bring the broker's master back. Orderly consumers wait for locks that only a master gives. Others read from a "
    "slave, unless it does not serve them (`slaveReadEnable`, RocketMQ issue #9879) or their client uses masters only "
    "(Go: issue #4840).",
    commands=(CLUSTER_LIST,),
)
NOT_REPLAYED = Cause(
    "rooms or queue lists of the strategy are unknown, so the queue may have no owner by design (WARN; INFO in a "
    "retry topic)",
    "Configure what STRATEGY_UNKNOWN names: then the queue's owner is known, or why it has none.",
    severity=WARN,
)
BY_WHOM_UNKNOWN = Cause(
    "the strategy or a setting of it is unknown",
    "Which members consumed these queues is not known: check whether the listener of one hangs. Configure what "
    "STRATEGY_UNKNOWN names: then the owner is known.",
)
#: By verdict, why the owner is unknown of an interval that is not replayed: its strategy, or a setting of it, is.
_UNKNOWN_OWNERS = {
    Verdict.STALL: (Reason.SETTINGS_MISSING,),
    Verdict.STOP: (Reason.SETTINGS_MISSING, Reason.UNKNOWN_STRATEGY),
}


def verdict_hits(step: AuditedStep, verdict: Verdict, cause: str, least_growth: int | None = None) -> Iterator[RuleHit]:
    """One hit per (interval, span with this verdict of a queue with an owner, client that owns it); one condition per
    topic and cause. Queues without an owner are UNASSIGNED_QUEUE. Where owners are not known, the hit has no client.
    `least_growth`: messages by which the lag must have grown in the span.
    """
    for progress in step.progress:
        for span in progress.spans:
            has_grown = least_growth is None or span.lag_last - span.lag_first >= least_growth
            if span.verdict == verdict and has_grown:
                yield from _span_hits(step, progress, span, _excuse(step, progress, span) or cause)


def _excuse(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan) -> str | None:
    """The cause of an offset that does not move and says nothing about an owner; None: it does."""
    if span.verdict == Verdict.WARN:
        return None
    if progress.interval.reason in _UNKNOWN_OWNERS[span.verdict]:
        return strategy_unknown.OWNERS_UNKNOWN
    if _is_starved(step, progress, span):
        return PRIORITY_STARVATION
    if waits_for_others(step, progress, span):
        return FILTERED
    if progress.interval.is_shared_out or progress.interval.reason in CONSUMED_UNSEEN:
        return NOT_CONSUMED
    began = span.start, span.start + 2 * step.settings.cadence
    without_master = brokers_without_master(step, progress.interval.topic, began)
    return NO_MASTER if progress.queues[span.place][0] in without_master else None


def _span_hits(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan, cause: str) -> Iterator[RuleHit]:
    # Of a retry topic, it matters less.
    is_minor = cause == strategy_unknown.OWNERS_UNKNOWN and span.verdict == Verdict.STALL
    severity = INFO if is_minor and not progress.interval.is_ordinary else None
    measures = {
        "age_ms": None if span.age_ms == UNKNOWN else span.age_ms,
        "lag_first": span.lag_first,
        "lag_last": span.lag_last,
    }
    queue = MessageQueue(progress.interval.topic, *progress.queues[span.place])
    parts = without((span.start, span.end), held_back_times(step).get(queue, ()))
    for (start, end), client_id in product([*parts], progress.owner_ids(span.place)):
        if start == end:
            continue
        yield RuleHit(
            *(start, end, cause, queue.topic),
            queue=queue_at(progress, span.place, BEHIND),
            implicated=client_id,
            minimum_seconds=step.settings.thresholds.stalled_after_seconds,
            severity=severity,
            weight=span.lag_last,
            measures=measures,
            hint=ON_TOP if is_handed_out(step, progress.interval) else None,
        )


def _is_starved(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan) -> bool:
    """Return whether the broker had to give messages of a higher priority, which is the queue's id, all the time: a POP
    request for all queues gets the highest one's (unless `priorityOrderAsc` is false); owners pull each of theirs.
    Source: `SendMessageProcessor`, `PopMessageProcessor.popMsgFromTopic`.
    """
    topic, (broker_name, queue_id) = progress.interval.topic, progress.queues[span.place]
    if progress.interval.status == Status.REPLAYED or step.topic_type(topic) != PRIORITY:
        return False
    samples = step.history.offsets[topic]
    broker_queues = ((number, column) for (name, number), column in samples.columns.items() if name == broker_name)
    higher = [column for number, column in broker_queues if number > queue_id]
    seen = samples.inside(span.start + 1, span.end)
    waiting, offsets = samples.lag[seen][:, higher] > 0, samples.consumed_to[seen][:, higher]
    return bool(waiting.any(axis=1).all() and (np.diff(offsets, axis=0) > 0).any())
