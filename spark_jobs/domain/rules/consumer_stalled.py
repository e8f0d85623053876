"""CONSUMER_STALLED: a queue that has an owner has a backlog, and its consumer offset never moves."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.rules.evidence import REFUSED
from spark_jobs.domain.rules.in_common import standing_broker, standing_to_the_end, with_what_they_share
from spark_jobs.domain.rules.refused import refused_hits
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.rules.standing import BEHIND, CAUSES, DECIDED_BY, standing_hits


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Those of queues whose offset never moved, and of queues that a broker refuses."""
    yield from with_what_they_share(step, standing_hits(step, has_moved=False))
    yield from refused_hits(step, BEHIND)


RULE = Rule(
    name="CONSUMER_STALLED",
    headline="Consumers of {groups} make no progress in {queues}",
    meaning="The queue has a backlog, but its consumer offset does not advance, nor did it since its owner has it.",
    decided_by=DECIDED_BY,
    causes={
        **CAUSES,
        REFUSED: Cause(
            "for 60 s the broker's subscription of the group lacks the topic: it refuses pulls (code 24, "
            "SUBSCRIPTION_NOT_EXIST)",
            "A broker keeps the subscription of the group's last heartbeat, which lacks this topic. Make all members "
            "subscribe to the same topics, or give the consumers of each topic a separate group.",
        ),
    },
    evaluate=hits,
    hit_severity=ERROR,
    detail=standing_to_the_end,
    broker=standing_broker,
)
