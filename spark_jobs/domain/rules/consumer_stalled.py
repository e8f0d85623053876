"""CONSUMER_STALLED: a queue that has an owner has a backlog, and its consumer offset never moves."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules import priority
from spark_jobs.domain.rules.behind import DECIDED_BY, EXAMPLE, FOLLOWS, hits_behind
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "CONSUMER_STALLED"
NO_PROGRESS = "NO_PROGRESS"


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """Hits begin with the last reading with an allowed lag, or with the interval."""
    return hits_behind(step, Verdict.STALL, ERROR, NO_PROGRESS)


RULE = Rule(
    name=NAME,
    headline="Consumers of {groups} make no progress in {queues}",
    meaning="The queue has a backlog and should be consumed, but its consumer offset did not advance, neither in the "
    "window nor since its interval began. One finding per group and topic; the evidence names its queues with "
    "their backlog.",
    decided_by=DECIDED_BY.format("STALL"),
    causes={
        NO_PROGRESS: Cause(
            "the consumer offset is the same in all readings of the window, and the lag is always above `allowed_lag`",
            "Check the queue's owner: one message that is never acknowledged holds back the offset (a listener that "
            "hangs, or an orderly one that suspends forever).",
        ),
        priority.STARVATION: priority.CAUSE,
    },
    example=EXAMPLE,
    hits=hits,
    follows=FOLLOWS,
)
