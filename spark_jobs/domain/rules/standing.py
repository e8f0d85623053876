"""Shared by CONSUMER_STOPPED and CONSUMER_STALLED: their hits and causes are the lines of the table of diagnosis."""

from collections.abc import Iterator, Mapping

from spark_jobs.domain.diagnosis.diagnoses import Diagnosis, diagnoses
from spark_jobs.domain.diagnosis.facts import Commits, Owner
from spark_jobs.domain.diagnosis.standing import standing_seconds
from spark_jobs.domain.diagnosis.table import LINES, StandingCause, TableLine
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.handed_out import is_handed_out
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, UNKNOWN
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.rules.commands import CLUSTER_LIST, THREAD_DUMP
from spark_jobs.domain.rules.rule import Cause

BEHIND = "BEHIND"
STOPPED = "CONSUMER_STOPPED"
#: Of a backlog that is counted by what was handed out.
ON_TOP = "The offsets show what was handed out: messages that clients hold and have not acknowledged come on top."
#: Lines that a rule about clients reports, too: short ones are left to it.
_OF_CLIENTS = (
    StandingCause.NOT_IN_GROUP,
    StandingCause.NO_ANSWER,
    StandingCause.NOT_TAKEN,
    StandingCause.NO_LOCK,
    StandingCause.PULLS_SELDOM,
    StandingCause.NO_PULL,
)
_MILD: Mapping[StandingCause, str] = {
    StandingCause.PRIORITY_STARVATION: INFO,
    StandingCause.FILTERED: INFO,
    StandingCause.EXPIRED: WARN,
    StandingCause.SLOW_CALLS: WARN,
}
DECIDED_BY = (
    "The committed offset stands while messages wait: WARN from 60 s (and three collection intervals) on, ERROR from "
    "`stalled_after_seconds` (120) on. If at most `allowed_lag` (32) messages wait: WARN from twice "
    "`verdict_window_seconds` on. Only in queues with an owner, or an unknown one. [The cause](../diagnosis.md) is the "
    "first line of one table that fits the facts."
)


def cause_of(line: TableLine) -> Cause:
    """The cause of a rule that a line is."""
    commands = (CLUSTER_LIST,) if line.cause is StandingCause.NO_MASTER else (THREAD_DUMP,) if line.thread_dump else ()
    return Cause(line.when, line.advice, line.headline, commands)


CAUSES: Mapping[str, Cause] = {line.cause.value: cause_of(line) for line in LINES if STOPPED in line.rules}


def standing_hits(step: AuditedStep, *, has_moved: bool) -> Iterator[RuleHit]:
    """One per queue that stands, owner and time; `has_moved`: its offset moved before, under the same owners."""
    for each in diagnoses(step):
        if each.standing.has_moved is has_moved and STOPPED in each.line.rules:
            severity = _severity(step, each)
            if severity is not None:
                yield _hit_of(step, each, severity)


def _hit_of(step: AuditedStep, diagnosis: Diagnosis, severity: str) -> RuleHit:
    """The hit of a queue that stands, with the facts that are known of its owner."""
    standing = diagnosis.standing
    age_ms = UNKNOWN
    if standing.stored > 0:
        age_ms = standing.seen_at // MILLISECOND - standing.stored
    measures = {"lag_first": standing.lag_first, "lag_last": standing.lag_last, "age_ms": age_ms}
    hint = ON_TOP if is_handed_out(step, standing.interval) else diagnosis.facts.in_words()
    return RuleHit(
        *(standing.start, standing.end, diagnosis.cause.value, standing.queue.topic),
        queue=FindingQueue(*standing.queue, BEHIND),
        implicated=diagnosis.client_id,
        minimum_seconds=0,
        severity=severity,
        weight=_waiting(diagnosis),
        measures={name: None if value == UNKNOWN else value for name, value in measures.items()},
        hint=hint or None,
    )


def _waiting(diagnosis: Diagnosis) -> int:
    """The messages that wait at the end; without a commit those that came."""
    standing = diagnosis.standing
    return standing.span.waiting if standing.lag_last == UNKNOWN else standing.lag_last


def _severity(step: AuditedStep, diagnosis: Diagnosis) -> str | None:
    """The severity of a queue that stands for so long; None: not long enough, or nothing came."""
    thresholds, standing, facts = step.settings.thresholds, diagnosis.standing, diagnosis.facts
    span, is_pulled = standing.span, facts.owner is Owner.CLIENT
    if span.waiting <= thresholds.allowed_lag:
        is_long = span.produced > 0 and standing.owned_seconds >= 2 * thresholds.verdict_window_seconds
        return WARN if is_pulled and is_long and not facts.filtered else None
    if not span.is_committed:
        return _without_commits(step, diagnosis) if is_pulled and not facts.filtered else None
    # Of an application that pulls when it likes, where nothing came, or where no commit says what was read, only a long
    # time says anything.
    is_read_on = diagnosis.cause is StandingCause.NOT_COMMITTED and facts.commits is not Commits.OVERDUE
    is_slow = facts.by_hand or span.produced <= 0 or is_read_on
    minimum = thresholds.stalled_after_seconds
    if standing.seconds >= (max(thresholds.verdict_window_seconds, minimum) if is_slow else minimum):
        return WARN if is_read_on else _MILD.get(diagnosis.cause, _of_long(diagnosis))
    is_pause = is_pulled and not is_slow and diagnosis.cause not in (*_MILD, *_OF_CLIENTS)
    return WARN if is_pause and standing.seconds >= _pause_seconds(step, diagnosis) else None


def _of_long(diagnosis: Diagnosis) -> str:
    """ERROR, unless the queue may have no owner by design: then WARN, and INFO in a retry topic."""
    standing = diagnosis.standing
    if standing.interval.reason is not Reason.SETTINGS_MISSING or standing.has_moved:
        return ERROR
    return INFO if standing.queue.topic.startswith(RETRY) else WARN


def _pause_seconds(step: AuditedStep, diagnosis: Diagnosis) -> float:
    """From how many seconds on a pause counts: longer where owners changed, who take their time to begin."""
    changed = diagnosis.standing.start > diagnosis.standing.span.start
    return standing_seconds(step) + (step.settings.thresholds.settled_seconds if changed else 0)


def _without_commits(step: AuditedStep, diagnosis: Diagnosis) -> str | None:
    span = diagnosis.standing.span
    if diagnosis.standing.owned_seconds < step.settings.thresholds.stalled_after_seconds:
        return None
    if diagnosis.facts.by_hand and not span.others_commit:
        return None  # the application may keep its offsets elsewhere
    return ERROR if span.others_commit else WARN
