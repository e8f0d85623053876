"""OFFSET_BEYOND_END: a group's committed offset is beyond the end of its queue, so that messages are skipped."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.former_life import FormerOffset, former_offsets
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.commands import RESET_TO_EARLIEST
from spark_jobs.domain.rules.rule import Cause, Rule

FORMER_LIFE, COMMITTED_AHEAD = "FORMER_LIFE", "COMMITTED_AHEAD"
SKIPPED = "SKIPPED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per offset beyond the end, while it stands, and when commits go above it; a condition per topic, cause."""
    for topic, samples in step.history.offsets.items():
        offsets = former_offsets(samples, step.switches.get(topic, ()), step.window, step.settings)
        for same in by_key(offsets, lambda offset: offset.is_ahead).values():
            for offset in same:
                hit = _standing_hit(step, topic, offset, sum(other.beyond for other in same))
                yield hit
                if offset.to is not None and offset.to > offset.offset:
                    yield _skipped_hit(step, topic, offset, same, hit)


def _standing_hit(step: AuditedStep, topic: str, offset: FormerOffset, beyond: int) -> RuleHit:
    """ERROR if messages come meanwhile: the group does not get them. INFO if the offset went back, as the group begins
    with the new messages; or for as long as it soon may.
    """
    lasts = offset.end - offset.start >= step.settings.thresholds.persistent_after_seconds * SECOND
    is_harmless = not lasts if offset.to is None else offset.to < offset.offset
    return RuleHit(
        offset.start,
        offset.end,
        *(COMMITTED_AHEAD if offset.is_ahead else FORMER_LIFE, topic),
        queue=FindingQueue(topic, *offset.queue, SKIPPED),
        severity=INFO if is_harmless else ERROR if lasts and offset.produced > 0 else WARN,
        weight=0,
        measures={"beyond_end": beyond, "skipped": None},
    )


def _skipped_hit(
    step: AuditedStep, topic: str, offset: FormerOffset, offsets: Sequence[FormerOffset], hit: RuleHit
) -> RuleHit:
    """From the sample that shows the higher offset, for a collection interval."""
    skipped = sum(
        _skipped(step, topic, other)
        for other in offsets
        if other.to is not None and other.to > other.offset and other.end <= offset.end
    )
    return replace(
        hit,
        start=offset.end,
        end=min(offset.end + step.settings.cadence, step.window.end),
        severity=ERROR,
        weight=skipped,
        measures={**(hit.measures or {}), "skipped": skipped},
    )


def _skipped(step: AuditedStep, topic: str, offset: FormerOffset) -> int:
    """Messages below the offset that the group did not get: all of the new topic, or those that came since."""
    if offset.is_ahead:
        return offset.beyond
    oldest = step.history.oldest_offsets(topic, offset.queue, offset.start, min(offset.end, step.window.end))
    return offset.offset - min(oldest, default=0)


def _detail(finding: Finding) -> str:
    """The number of messages that were skipped, or by which the offsets are beyond the end."""
    measures = finding.evidence.measured
    skipped, beyond = measures.get("skipped"), int(measures.get("beyond_end") or 0)
    if skipped and finding.cause == COMMITTED_AHEAD:
        return f"about {count(int(skipped), 'message')} were never consumed"
    if skipped:
        return f"about {count(int(skipped), 'message')} of the new topic were never consumed"
    return f"its committed offsets are {count(beyond, 'message')} beyond the end"


RULE = Rule(
    name="OFFSET_BEYOND_END",
    headline="{groups} skips messages of {queues}, because its offsets are those of a former life of the topic",
    meaning="The committed offset is beyond the queue's end. The messages below it are not consumed. Brokers keep a "
    "group's offsets when its topic is deleted, and a topic that is created again begins with 0.",
    decided_by="Two samples with the same offset show the end below it by more than `rewind_tolerance`. WARN from "
    "`persistent_after_seconds` on, ERROR if messages came since, or when the group commits above it; INFO if it goes "
    "back. Not if another process serves the broker.",
    causes={
        FORMER_LIFE: Cause(
            "the topic was created again, its broker lost the messages but kept the offsets, or offsets were copied "
            "from elsewhere",
            "Reset the group to the earliest offset: the broker still has the messages. To delete a topic for good, "
            "delete the offsets of its groups, too.",
            commands=(RESET_TO_EARLIEST,),
        ),
        COMMITTED_AHEAD: Cause(
            "the offset before was within the queue, whose end has not fallen",
            "Somebody committed an offset that the queue did not have yet: a client that counts wrongly (C++: "
            "rocketmq-client-cpp issue #79), an offset of another queue, or one set by hand. Reset the group to the "
            "time before it: the broker still has the messages.",
            headline="{groups} skips messages of {queues}, because it committed offsets beyond their end",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
    detail=_detail,
)
