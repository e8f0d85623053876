"""CONSUMER_LAGGING: a consumer makes progress, and is slower than the producers."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules import pop_redelivering
from spark_jobs.domain.rules.behind import DECIDED_BY, FOLLOWS, verdict_hits
from spark_jobs.domain.rules.roots import Follows, topics
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "CONSUMER_LAGGING"
FALLING_BEHIND = "FALLING_BEHIND"


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """Hits begin when the lag last fell or was allowed, or with the interval. What a consumer has in flight goes up and
    down by a few messages, and by chance only up: the lag must grow by more than the allowed lag.
    """
    least_growth = step.settings.thresholds.allowed_lag + 1
    return verdict_hits(step, Verdict.WARN, WARN, FALLING_BEHIND, least_growth)


RULE = Rule(
    name=NAME,
    headline="Consumers of {groups} cannot keep up with {queues}",
    meaning="The consumer makes progress, but its lag never decreased in the window: it is slower than the producers. "
    "One finding per group and topic; the evidence names its queues with their backlog.",
    decided_by=DECIDED_BY.format("WARN"),
    causes={
        FALLING_BEHIND: Cause(
            "the lag is above `allowed_lag` in all readings of the window, never below the reading before, and grows "
            "by more than `allowed_lag` while that is so",
            "Make the listener faster, give the client more consume threads, or add consumers while there are more "
            "queues than members.",
        )
    },
    example="`legacy-import`: the lag of its two queues only grew, from 36 to 381, until the slow consumer briefly "
    "caught up a little at 02:09:46 and 02:09:56.",
    hits=hits,
    follows=(*FOLLOWS, Follows(pop_redelivering.NAME, topics)),
)
