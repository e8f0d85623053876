"""CONSUMER_STOPPED: a consumer that got on commits no more, while messages wait."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.rules.behind import DECIDED_BY, EXAMPLE, FOLLOWS, hits_behind
from spark_jobs.domain.rules.rule import Cause, Rule, RuleHit
from spark_jobs.domain.verdicts import Verdict

NAME = "CONSUMER_STOPPED"
NO_COMMITS = "NO_COMMITS"


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """Since the last reading that showed it moving, or with nothing to do."""
    return hits_behind(step, Verdict.STOP, "ERROR", NO_COMMITS)


RULE = Rule(
    name=NAME,
    headline="Consumers of {groups} stopped committing {queues}",
    meaning="The consumer of the queue moved on, then committed no more, for longer than it had been seen to move "
    "in the window, while messages wait. One finding per group and topic; the evidence names its queues with their "
    "backlog.",
    decided_by=DECIDED_BY.format("STOP"),
    causes={
        NO_COMMITS: Cause(
            "the consumer offset moved earlier in the interval, and does no longer",
            "Look at the owner of the queue: a thread dump shows whether its listener hangs. Restart it if it does "
            "not come back.",
        )
    },
    example=EXAMPLE,
    hits=hits,
    follows=FOLLOWS,
)
