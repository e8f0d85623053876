"""STRANDED_WRITE_QUEUES: queues that producers write to and no consumer may read."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules.commands import READ_AND_WRITE_QUEUES
from spark_jobs.domain.rules.links import topics
from spark_jobs.domain.rules.queue_owners import queue_hit, unassigned_queues
from spark_jobs.domain.rules.rule import Cause, Rule


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue beyond the read queues); one condition per group and topic."""
    for interval in step.replayed:
        for queue, cause, _ in unassigned_queues(interval):
            if cause == UnassignedCause.BEYOND_READ_QUEUES:
                yield queue_hit(interval, queue, cause)


RULE = Rule(
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
    evaluate=hits,
    lasts="settled_seconds",
    spreads_by=topics,
)
