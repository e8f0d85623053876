"""OFFSET_BEYOND_END: a group's committed offset is of a former life of the topic, so that messages are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.former_life import FormerOffset, former_offsets, oldest_offset
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.commands import RESET_TO_EARLIEST
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "OFFSET_BEYOND_END"
FORMER_LIFE = "FORMER_LIFE"
SKIPPED = "SKIPPED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per queue and offset that is beyond the end, while it stands, and one when the group commits above it;
    one condition per topic.
    """
    for topic, readings in step.history.offsets.items():
        offsets = list(former_offsets(readings, step.switches.get(topic, ()), step.window, step.settings))
        for offset in offsets:
            hit = _standing_hit(step, topic, offset, sum(other.beyond for other in offsets))
            yield hit
            if offset.to is not None and offset.to > offset.offset:
                yield _skipped_hit(step, topic, offset, offsets, hit)


def _standing_hit(step: AuditedStep, topic: str, offset: FormerOffset, beyond: int) -> RuleHit:
    """INFO if the offset went back, as the group begins with the new messages; or for as long as it soon may."""
    lasts = offset.end - offset.start >= step.settings.thresholds.persistent_after_seconds * SECOND
    is_harmless = not lasts if offset.to is None else offset.to < offset.offset
    return RuleHit(
        offset.start,
        offset.end,
        cause=FORMER_LIFE,
        topic=topic,
        queue=FindingQueue(topic, *offset.queue, SKIPPED),
        minimum_seconds=0.0,
        severity=INFO if is_harmless else WARN,
        weight=0,
        measures={"beyond_end": beyond, "skipped": None},
    )


def _skipped_hit(
    step: AuditedStep, topic: str, offset: FormerOffset, offsets: list[FormerOffset], hit: RuleHit
) -> RuleHit:
    """From the sample that shows the higher offset, for a collection interval."""
    skipped = sum(
        other.offset - (oldest_offset(step.history.topics.get(topic), other, step.window) or 0)
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


def _detail(finding: Finding) -> str:
    """The number of messages that were skipped, or by which the offsets are beyond the end."""
    measures = dict(finding.evidence.measures or ())
    skipped, beyond = measures.get("skipped"), int(measures.get("beyond_end") or 0)
    if skipped:
        return f"about {count(int(skipped), 'message')} of the new topic were never consumed"
    return f"its committed offsets are {count(beyond, 'message')} beyond the end"


RULE = Rule(
    name=NAME,
    headline="{groups} skips messages of {queues}, because its offsets are those of a former life of the topic",
    meaning="The committed offset of a queue is beyond the queue's end. A broker keeps a group's offsets when its "
    "topic is deleted, and the queues of the topic begin with 0 when it is created again. A client that starts "
    "when the new end is above the old offset begins there, and nobody consumes the messages below. One finding per "
    "group and topic. `beyond_end` counts the messages by which the offsets are beyond the end; `skipped` those from "
    "the oldest message up to the old offsets, once the group has committed above them.",
    decided_by="two samples with the same offset that show the end below it by more than `rewind_tolerance` (64 at "
    "least). WARN while the offset stands, also after the end has passed it, from `persistent_after_seconds` (150 s) "
    "on: a broker corrects the offset of a client that runs. ERROR when the group commits above it. INFO if the offset "
    "goes back: the group then begins with the new messages. The rule does not apply if the end "
    "fell because another process serves the broker, or if it jumps back: the messages are then the same ones.",
    causes={
        FORMER_LIFE: Cause(
            "the topic was deleted and created again, or the offsets were copied from elsewhere",
            "Reset the group to the earliest offset (`mqadmin resetOffsetByTime` with a time before the topic was "
            "created): the broker still has the messages. To delete a topic for good, delete the offsets of its "
            "groups, too.",
            commands=(RESET_TO_EARLIEST,),
        ),
    },
    example="none",
    hits=hits,
    detail=_detail,
)
