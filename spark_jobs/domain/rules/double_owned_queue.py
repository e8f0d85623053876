"""DOUBLE_OWNED_QUEUE: several connections consume one queue, each message as often."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.causes import DoubleOwnedCause
from spark_jobs.domain.rules import duplicate_client_id, mixed_clients, mixed_strategies
from spark_jobs.domain.rules.follows import Follows, clients, everything
from spark_jobs.domain.rules.queue_owners import double_owned_queues, queue_hit
from spark_jobs.domain.rules.rule import Cause, Rule, RuleHit

NAME = "DOUBLE_OWNED_QUEUE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue, client id that owns it with others); one condition per group, topic and cause."""
    for interval in step.replayed:
        for queue, cause, owner_ids in double_owned_queues(interval):
            for client_id in owner_ids:
                yield queue_hit(interval, queue, cause, client_id)


RULE = Rule(
    name=NAME,
    headline="Several consumers of {groups} own {queues}",
    meaning="Several connections consume the queue, each message as often. One finding per group, topic and cause.",
    decided_by="the replayed allocation: more than one connection takes the queue. Not where all of them pop it "
    "(`POP_SHARED` in `allocations`): each message goes to one of them. INFO if nothing was produced to it and no "
    "backlog is known, and for a repeated id that two snapshots 150 s apart do not show.",
    causes={
        DoubleOwnedCause.DUPLICATE_CLIENT_ID: Cause(
            "all owners have one client id (twins)",
            "Twins consume every message of these queues once each: give every consumer its own client id.",
        ),
        DoubleOwnedCause.MIXED_STRATEGIES: Cause(
            "shares by different strategies overlap",
            "Members run different allocation strategies: roll out one to all of them.",
        ),
        DoubleOwnedCause.MIXED_CLIENTS: Cause(
            "shares by one strategy as clients of different languages or versions compute it overlap",
            "Clients of this group compute the same strategy differently: use one language, upgrade Java clients "
            "beyond 4.7.1, or change to AVG. See the MIXED_CLIENTS finding.",
        ),
        DoubleOwnedCause.CONFIG_OVERLAP: Cause(
            "several clients' configured lists name the queue",
            "Several clients' configured lists name these queues: leave each in one list.",
        ),
    },
    example="`config-service`: queue 1 of `config-feed` is in the lists of both members, for the whole recording.",
    hits=hits,
    follows=(
        Follows(duplicate_client_id.NAME, clients, (DoubleOwnedCause.DUPLICATE_CLIENT_ID,)),
        Follows(mixed_strategies.NAME, everything, (DoubleOwnedCause.MIXED_STRATEGIES,)),
        Follows(mixed_clients.NAME, everything, (DoubleOwnedCause.MIXED_CLIENTS,)),
    ),
)
