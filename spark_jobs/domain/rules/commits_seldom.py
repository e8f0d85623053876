"""COMMITS_SELDOM: an application commits its offsets seldom, all queues at once."""

from collections.abc import Iterator
from datetime import timedelta

from spark_jobs.domain.diagnosis.diagnoses import diagnoses
from spark_jobs.domain.diagnosis.measure import commits_of
from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.domain.rules.standing import cause_of

UNCOMMITTED = "UNCOMMITTED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per queue and time between two commits; one condition per topic."""
    for each in diagnoses(step):
        standing = each.standing
        seldom = commits_of(step, standing.queue.topic) if each.cause is StandingCause.COMMITS_SELDOM else None
        if seldom is not None:
            yield RuleHit(
                *(standing.start, standing.end, each.cause.value, standing.queue.topic),
                queue=FindingQueue(*standing.queue, UNCOMMITTED),
                implicated=each.client_id,
                measures={"usual_seconds": seldom.distance / SECOND},
            )


def _detail(finding: Finding) -> str:
    """How often they are committed."""
    usual = dict(finding.evidence.measures or ()).get("usual_seconds")
    return f"usually every {duration_text(timedelta(seconds=round(usual)))}" if usual else ""


RULE = Rule(
    name="COMMITS_SELDOM",
    headline="Offsets of {topics} are committed seldom in {groups}, all queues at once",
    meaning="The application commits its offsets seldom, as Flink does with its checkpoints. Between two commits the "
    "lag says nothing about its consumption.",
    decided_by="Offsets of all queues in which messages wait move at the same samples, at even distances of a minute "
    "or more (three commits, or two of several queues). After twice the usual distance it is CONSUMER_STOPPED.",
    causes={StandingCause.COMMITS_SELDOM: cause_of(LINE_OF[StandingCause.COMMITS_SELDOM])},
    evaluate=hits,
    detail=_detail,
    hit_severity=INFO,
    lasts="stalled_after_seconds",
)
