"""MIXED_STRATEGIES: members of one group run different allocation strategies."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.rules.conflicting_values import conflicting_values
from spark_jobs.domain.rules.rule import Cause, Rule

DIFFERENT_STRATEGIES = "DIFFERENT_STRATEGIES"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval whose members run different strategies; one condition per group."""
    for interval in step.replayed:
        members = [member for member in interval.members or () if member.parameters.holders is None]
        if len({member.strategy for member in members}) > 1:
            values = conflicting_values(((member.strategy, member.client_id) for member in members), str)
            time = interval.start, interval.end
            yield RuleHit(*time, DIFFERENT_STRATEGIES, view=interval.view, conflicting_values=values)


RULE = Rule(
    name="MIXED_STRATEGIES",
    headline="Consumers of {groups} use different allocation strategies",
    meaning="Members of one group use different allocation strategies. Some queues are consumed twice, others by no "
    "consumer.",
    decided_by="Clients report different strategy classes, or one that pops and one that pulls. For a custom class the "
    "configured strategy counts. ERROR.",
    causes={DIFFERENT_STRATEGIES: Cause("always", "Configure the same strategy on all members.")},
    evaluate=hits,
    hit_severity=ERROR,
)
