"""ORDERLY_LOCK_MISSING: an orderly consumer owns a queue without the broker's lock on it."""

from collections.abc import Iterator
from dataclasses import replace

from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import client_spans, symptoms, unwell_spans
from spark_jobs.domain.kernel.removed_queues import brokers_without_master
from spark_jobs.domain.model.clients import LOCK_LIVES_MS, ClientReport
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import MILLISECOND, common
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules.broker_not_readable import standing_backlog
from spark_jobs.domain.rules.commands import CLUSTER_LIST
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

UNLOCKED = "UNLOCKED"
NOT_LOCKED, NO_MASTER = "NOT_LOCKED", "NO_MASTER"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (orderly client, time, queue that it owns unlocked); one condition per client, topic and cause."""
    yield from _without_master(step)
    for client_id, spans in unwell_spans(step).items():
        for start, end, _, queue in symptoms(spans, _without_lock, lambda queue: queue):
            without = brokers_without_master(step, queue.topic, (start, end))
            cause = NO_MASTER if queue.broker_name in without else NOT_LOCKED
            yield _hit(client_id, FindingQueue(*queue, UNLOCKED), start, end, cause)


def _without_lock(report: ClientReport) -> list[MessageQueue]:
    """The queues that the client lists without a lock, or with an expired one; retry topics need no renewed lock."""
    expired = (queue for queue in report.expired if not queue.topic.startswith(RETRY))
    return list(dict.fromkeys((*report.unlocked, *expired)))


def _without_master(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time without a master, queue of the broker in which messages wait while its offset stands)."""
    for interval in step.replayed:
        samples = step.history.offsets.get(interval.topic)
        for start, end, seen_at, broker in _masterless_spans(step, interval) if samples else ():
            for queue_id, waiting in standing_backlog(samples, broker, start, seen_at).items() if samples else ():
                queue = FindingQueue(interval.topic, broker, queue_id, UNLOCKED)
                for owner in _orderly_owners(step, interval, (broker, queue_id)):
                    yield replace(_hit(owner, queue, start, end, NO_MASTER), weight=waiting)


def _masterless_spans(step: AuditedStep, interval: RebalanceInterval) -> Iterator[Span[str]]:
    """The times in the interval in which a broker has no master, and locks of before are no longer trusted."""
    series = step.history.masterless.get(interval.topic)
    for span in series.spans(step.window, step.settings.max_gap) if series and any(series.states) else ():
        time = common((span.start + LOCK_LIVES_MS * MILLISECOND, span.end), (interval.start, interval.end))
        yield from (Span(*time, min(span.seen_at, time[1]), broker) for broker in sorted(span.state) if time)


def _orderly_owners(step: AuditedStep, interval: RebalanceInterval, queue: Place) -> list[str]:
    """The owners of the queue that report that they need locks."""
    reports = client_spans(step)
    return [owner for owner in interval.owners_of(queue) if any(span.state.orderly for span in reports.get(owner, ()))]


def _hit(client_id: str, queue: FindingQueue, start: int, end: int, cause: str) -> RuleHit:
    return RuleHit(start, end, cause, queue.topic, client_id, queue=queue, implicated=client_id)


def _detail(finding: Finding) -> str:
    """The brokers that have no master."""
    if finding.cause != NO_MASTER:
        return ""
    names = sorted({queue.broker_name for queue in finding.evidence.queues})
    return f"{names_text(names)} had no master, and only a master gives locks"


RULE = Rule(
    name="ORDERLY_LOCK_MISSING",
    ended="the owners had their locks again",
    headline="{subjects} in {groups} {subjects:owns|own} queues, but {subjects:does|do} not hold the "
    "broker's lock on them",
    meaning="An orderly consumer owns a queue without the broker's lock on it. It consumes nothing from the queue, "
    "and asks for the lock every 3 s.",
    decided_by="Two successive snapshots of a client with an orderly listener list the queue as its own and not "
    "locked.",
    causes={
        NOT_LOCKED: Cause(
            "no lock, or none renewed for 30 s (`last_lock`)",
            LINE_OF[StandingCause.NO_LOCK].advice,
        ),
        NO_MASTER: Cause(
            "the route names only slaves of the broker, and from 30 s on the offset stands while messages wait",
            "The owner does nothing wrong. Bring the broker's master back, or let a slave act as one "
            "(`enableSlaveActingMaster`, or a controller that elects a new master).",
            commands=(CLUSTER_LIST,),
        ),
    },
    evaluate=hits,
    detail=_detail,
    needs=(CLIENT_SNAPSHOTS,),
)
