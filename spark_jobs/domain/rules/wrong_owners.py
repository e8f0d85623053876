"""DOUBLE_OWNED_QUEUE and STRANDED_WRITE_QUEUES: queues that several connections consume, or that none may read."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules import mixed_clients
from spark_jobs.domain.rules.commands import READ_AND_WRITE_QUEUES
from spark_jobs.domain.rules.links import topics
from spark_jobs.domain.rules.queue_owners import double_owned_queues, queue_hit, unassigned_queues
from spark_jobs.domain.rules.rule import Cause, Rule


def _double_owned_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue, client id that owns it with others); one condition per group, topic and cause."""
    for interval in step.replayed:
        for queue, cause, owner_ids in double_owned_queues(interval):
            for client_id in owner_ids:
                yield queue_hit(interval, queue, cause, client_id)


def _stranded_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue beyond the read queues); one condition per group and topic."""
    for interval in step.replayed:
        for queue, cause, _ in unassigned_queues(interval):
            if cause == UnassignedCause.BEYOND_READ_QUEUES:
                yield queue_hit(interval, queue, cause)


DOUBLE_OWNED_QUEUE = Rule(
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
    evaluate=_double_owned_hits,
)
STRANDED_WRITE_QUEUES = Rule(
    name="STRANDED_WRITE_QUEUES",
    headline="Producers write to queues of {topics} that no consumer can read",
    meaning="Messages go to queues that no consumer can read. The topic has more write queues than read queues. "
    "`backlog_end`: how many messages they hold, if topic snapshots were recorded.",
    decided_by="`readQueueNums < writeQueueNums` in the route of a readable broker for 50 s. ERROR; INFO if these "
    "queues are empty and nothing was produced.",
    causes={
        UnassignedCause.BEYOND_READ_QUEUES: Cause(
            "always", "Raise readQueueNums to writeQueueNums.", commands=(READ_AND_WRITE_QUEUES,)
        )
    },
    evaluate=_stranded_hits,
    lasts="settled_seconds",
    spreads_by=topics,
)
