"""DOUBLE_OWNED_QUEUE: several connections consume one queue, each message as often."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules import mixed_clients
from spark_jobs.domain.rules.queue_owners import double_owned_queues, queue_hit
from spark_jobs.domain.rules.rule import Cause, Rule


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue, client id that owns it with others); one condition per group, topic and cause."""
    for interval in step.replayed:
        for queue, cause, owner_ids in double_owned_queues(interval):
            for client_id in owner_ids:
                yield queue_hit(interval, queue, cause, client_id)


RULE = Rule(
    name="DOUBLE_OWNED_QUEUE",
    headline="Several consumers of {groups} own {queues}",
    meaning="Several connections own a queue, and each of them consumes all of its messages.",
    decided_by="The replay gives the queue to several connections; not with POP. INFO for a duplicate client id of "
    "less than 150 s.",
    causes={
        DoubleOwnedCause.DUPLICATE_CLIENT_ID: Cause(
            "all owners share one id",
            "Each consumer with this client id consumes every message of these queues. Give every consumer its own "
            "client id.",
        ),
        DoubleOwnedCause.MIXED_STRATEGIES: Cause("members use different strategies", mixed_clients.ONE_STRATEGY),
        DoubleOwnedCause.MIXED_CLIENTS: Cause(
            "clients compute the strategy differently", mixed_clients.ONE_KIND_OF_CLIENT
        ),
        DoubleOwnedCause.CONFIG_OVERLAP: Cause(
            "the configured lists of several clients contain it",
            "Keep each of these queues in the configured list of one client only.",
        ),
    },
    evaluate=hits,
)
