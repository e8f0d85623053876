"""CONSUMER_STOPPED: a consumer that made progress commits no more, while messages wait."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules.in_common import standing_broker, standing_to_the_end, with_what_they_share
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.domain.rules.standing import CAUSES, DECIDED_BY, STOPPED, standing_hits


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Those of queues whose offset moved before, with what these queues have in common."""
    return with_what_they_share(step, standing_hits(step, has_moved=True))


RULE = Rule(
    name=STOPPED,
    headline="Consumers of {groups} stopped committing offsets for {queues}",
    meaning="A consumer stopped committing offsets while messages wait. It had made progress before.",
    decided_by=DECIDED_BY,
    causes=CAUSES,
    evaluate=hits,
    detail=standing_to_the_end,
    broker=standing_broker,
)
