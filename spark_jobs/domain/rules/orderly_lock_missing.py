"""ORDERLY_LOCK_MISSING: an orderly consumer owns a queue without the broker's lock on it."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.client_spans import client_spans, symptoms
from spark_jobs.domain.rules import client_hung, duplicate_client_id, membership_view_split
from spark_jobs.domain.rules.follows import Follows, clients, queues, topics
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, FindingQueue, Rule, RuleHit

NAME = "ORDERLY_LOCK_MISSING"
UNLOCKED = "UNLOCKED"
NOT_LOCKED = "NOT_LOCKED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (orderly client, span, queue that it owns unlocked); one condition per client and topic."""
    for client_id, spans in client_spans(step).items():
        for start, end, seen_at, queue in symptoms(spans, lambda one: one.said.unlocked, lambda queue: queue):
            yield RuleHit(
                start,
                end,
                cause=NOT_LOCKED,
                topic=queue.topic,
                client_id=client_id,
                seen_at=seen_at,
                queue=FindingQueue(*queue, UNLOCKED),
                implicated=client_id,
            )


RULE = Rule(
    name=NAME,
    headline="{subjects} of {groups} owns queues without the broker's lock",
    meaning="An orderly consumer owns a queue and does not hold the broker's lock on it: it consumes nothing there, "
    "and tries again every 3 s. One finding per client and topic.",
    decided_by="two successive looks at a client with an orderly listener (not BROADCASTING, which needs no locks) "
    "show the queue as its own and not locked. INFO if nothing was produced to the queues and no backlog is known.",
    causes={
        NOT_LOCKED: Cause(
            "the client says that it has no lock",
            "Another client holds the lock, until 60 s after it last renewed it: look for a consumer that was stopped "
            "without shutdown, for twins, and for members whose views of the group differ.",
        ),
    },
    example="nothing: `ledger`, the orderly group, holds all its locks at every look.",
    hits=hits,
    needs=(CLIENT_SNAPSHOTS,),
    follows=(
        Follows(duplicate_client_id.NAME, clients),
        Follows(client_hung.NAME, queues),
        Follows(membership_view_split.NAME, topics),
    ),
)
