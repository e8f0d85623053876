"""UNOBSERVED: nothing was recorded of a group, or of its topics, for longer than a snapshot holds."""

from collections.abc import Hashable, Iterable, Iterator, Sequence

from spark_jobs.domain.kernel.audited_step import AuditedStep, UnansweredCalls
from spark_jobs.domain.kernel.coverage import MEMBERSHIPS, snapshot_gaps
from spark_jobs.domain.model.finding import ConflictingValue, Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.window import islands, moment_text
from spark_jobs.domain.phrases import NAMED, count
from spark_jobs.domain.rules.links import brokers, everything
from spark_jobs.domain.rules.rule import Cause, Rule

NO_SNAPSHOTS, NOT_ANSWERED, NOTHING_RECORDED = "NO_SNAPSHOTS", "NOT_ANSWERED", "NOTHING_RECORDED"
SILENT_BROKER, SILENT = "SILENT_BROKER", "SILENT"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per maximal time in which a source has no snapshots, and per queue and time of a silent broker; one condition
    each.
    """
    every_gap = snapshot_gaps(step)
    for gap in every_gap:
        for queue in gap.queues:
            silent_queue, source = FindingQueue(*queue, SILENT), (ConflictingValue(gap.source, None),)
            yield RuleHit(gap.start, gap.end, SILENT_BROKER, queue=silent_queue, conflicting_values=source)
    for touching in islands(gap for gap in every_gap if not gap.queues):
        start, end = touching[0].start, max(gap.end for gap in touching)
        without_members = any(gap.source == MEMBERSHIPS for gap in touching)
        silent = step.unanswered(start - step.settings.max_gap, end) if without_members else ()
        yield RuleHit(
            *(start, end, NOT_ANSWERED if silent else NO_SNAPSHOTS),
            severity=_severity(step, end, silent),
            conflicting_values=tuple(
                ConflictingValue(source, None) for source in sorted({gap.source for gap in touching})
            ),
            hint=_calls_text(silent),
        )


def _severity(step: AuditedStep, end: int, silent: Sequence[UnansweredCalls]) -> str:
    """ERROR: the recorder called brokers in the step, and none answered in all of it. INFO: it may have ended."""
    window = step.window
    in_step = any(calls.until >= window.start for calls in silent)
    series = step.history.memberships.values()
    if in_step and not any(answers.any_inside(window.start, window.end) for answers in series):
        return ERROR
    goes_on = any(calls.until + step.settings.max_gap >= end for calls in silent)
    return WARN if end < window.end or goes_on else INFO


def _calls_text(silent: Sequence[UnansweredCalls]) -> str | None:
    """A sentence per broker, of so many: since when it did not answer, and its last error."""
    texts = [
        f"{calls.broker_name} did not answer the request for the group's connections from "
        f"{moment_text(calls.since)} on ({calls.error})."
        for calls in silent[:NAMED]
    ]
    more = [f"Nor did {count(len(silent) - NAMED, 'other broker')}."] if len(silent) > NAMED else []
    return " ".join(texts + more) or None


def _event(finding: Finding) -> Iterable[Hashable]:
    """One event per silent broker, one of all groups that brokers did not answer for, one of all without snapshots."""
    if finding.cause == SILENT_BROKER:
        return brokers(finding)
    return (NOT_ANSWERED,) if finding.cause == NOT_ANSWERED else everything(finding)


RULE = Rule(
    name="UNOBSERVED",
    headline="Snapshots of {groups} are missing",
    ended="snapshots were recorded again",
    meaning="Snapshots of members, routes or offsets are missing. What happened in that time is unknown, and the "
    "other rules report nothing.",
    decided_by="No snapshot for `max_gap` (three collection intervals) from a source that had some in the look-back; "
    "of members in `sightings_days`, and from no broker. ERROR if no broker answered the recorder all step; WARN for a "
    "single broker, or if snapshots came again; INFO if the gap lasts to the end.",
    causes={
        NO_SNAPSHOTS: Cause(
            "the source had snapshots before",
            "Check the recorder: was it down, or unable to reach the brokers? If the group was deleted, this lasts "
            "for `sightings_days`.",
        ),
        NOT_ANSWERED: Cause(
            "brokers that list the group did not return its members",
            "Check these brokers, and the recorder's permissions and network.",
        ),
        SILENT_BROKER: Cause(
            "a broker of the route gave neither offsets nor members, others did",
            "The recorder got answers from other brokers. Look whether this broker hangs or is overloaded: consumers "
            "may get nothing of its queues either. Otherwise the recorder alone does not reach it.",
            headline="{brokers} {brokers:does|do} not answer about {groups}, and other brokers do",
            severity=WARN,
        ),
        NOTHING_RECORDED: Cause(
            "no members of any group were recorded up to the end of a step (incidents only)",
            "Check the recorder first: does it run, does it reach the brokers, is what it records loaded?",
        ),
    },
    evaluate=hits,
    spreads_by=_event,
    is_blind=True,
    is_event=True,
)
