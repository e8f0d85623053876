"""CONSUMER_STOPPED: a consumer that made progress commits no more, while messages wait."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.rules.behind import (
    BY_WHOM_UNKNOWN,
    DECIDED_BY,
    FOLLOWS,
    NO_MASTER,
    NOT_ASKED_FOR,
    NOT_CONSUMED,
    PRIORITY_STARVATION,
    SLAVES_ONLY,
    STARVED,
    verdict_hits,
)
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.filtered import FILTERED, FILTERED_OUT
from spark_jobs.domain.rules.in_common import standing_broker, standing_to_the_end, with_what_they_share
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.rules.strategy_unknown import OWNERS_UNKNOWN

NO_COMMITS = "NO_COMMITS"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Those of the verdict STOP, with what their queues have in common."""
    return with_what_they_share(step, verdict_hits(step, Verdict.STOP, NO_COMMITS), NO_COMMITS)


RULE = Rule(
    name="CONSUMER_STOPPED",
    headline="Consumers of {groups} stopped committing offsets for {queues}",
    meaning="A consumer stopped committing offsets while messages wait. It had made progress before, for less time "
    "than it has stopped.",
    decided_by=DECIDED_BY.format("STOP"),
    causes={
        NO_COMMITS: Cause(
            "the offset advanced earlier in the interval",
            "Take a thread dump of the queue's owner to see whether its listener hangs. Restart it if it does not "
            "recover.",
            commands=(THREAD_DUMP,),
        ),
        NO_MASTER: SLAVES_ONLY,
        NOT_CONSUMED: NOT_ASKED_FOR,
        OWNERS_UNKNOWN: BY_WHOM_UNKNOWN,
        PRIORITY_STARVATION: STARVED,
        FILTERED: FILTERED_OUT,
    },
    evaluate=hits,
    hit_severity=ERROR,
    detail=standing_to_the_end,
    broker=standing_broker,
    follows=FOLLOWS,
)
