"""ORDERLY_LOCK_MISSING: an orderly consumer owns a queue without the broker's lock on it."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans, symptoms
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.rules import client_hung, duplicate_client_id, membership_view_split
from spark_jobs.domain.rules.roots import Follows, clients, queues, topics
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

NAME = "ORDERLY_LOCK_MISSING"
UNLOCKED = "UNLOCKED"
NOT_LOCKED = "NOT_LOCKED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (orderly client, span, queue that it owns without the lock); one condition per client and topic."""
    for client_id, spans in client_spans(step).items():
        for start, end, _, queue in symptoms(spans, lambda report: report.reported.unlocked, lambda queue: queue):
            yield RuleHit(
                start,
                end,
                cause=NOT_LOCKED,
                topic=queue.topic,
                client_id=client_id,
                queue=FindingQueue(*queue, UNLOCKED),
                implicated=client_id,
            )


RULE = Rule(
    name=NAME,
    headline="{subjects} in {groups} {subjects:owns|own} queues, but {subjects:does|do} not hold the "
    "broker's lock on them",
    meaning="An orderly consumer owns a queue, but does not hold the broker's lock on it: it consumes nothing from the "
    "queue, and tries to get the lock every 3 s. One finding per client and topic.",
    decided_by="two successive snapshots of a client with an orderly listener (not BROADCASTING, which needs no locks) "
    "list the queue as its own and not locked. INFO if nothing was produced to the queues and no backlog is "
    "known.",
    causes={
        NOT_LOCKED: Cause(
            "the client reports that it does not hold the lock",
            "Another client holds the lock, which expires 60 s after its last renewal. Look for a consumer that was "
            "stopped without shutdown, for consumers that share a client id, and for members that see different member "
            "lists.",
        ),
    },
    example="none: `ledger`, the orderly group, holds all its locks in every client snapshot.",
    hits=hits,
    needs=(CLIENT_SNAPSHOTS,),
    follows=(
        Follows(duplicate_client_id.NAME, clients),
        Follows(client_hung.NAME, queues),
        Follows(membership_view_split.NAME, topics),
    ),
)
