"""OFFSET_BEYOND_END: a group's committed offset, or the oldest one, is beyond the end of a queue: messages are skipped.

A broker keeps a group's offsets when a topic is deleted. A client that starts when the new end is above the old offset
skips all messages below (`PullMessageProcessor` corrects only offsets beyond the end).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, Switch
from spark_jobs.domain.kernel.matrices import runs_of_true
from spark_jobs.domain.kernel.sample_pairs import falls
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RACE_MESSAGES, UNKNOWN, Mask, OffsetSamples, Place, TopicSamples
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.window import SECOND, AuditSettings, StepWindow
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.commands import RESET_TO_EARLIEST
from spark_jobs.domain.rules.rule import Cause, Rule


class FormerOffset(NamedTuple):
    """A committed offset that two samples at least showed beyond the end of its queue, by `beyond` messages at most,
    while `produced` messages came.

    `start`: the first sample that did; `end`: the first one that shows another offset (`to`), or until when the last
    one holds (`to` None); microseconds. `is_ahead`: it went there from within the queue, whose end did not fall.
    """

    queue: Place
    start: int
    end: int
    offset: int
    beyond: int
    produced: int
    to: int | None
    is_ahead: bool


def former_offsets(
    samples: OffsetSamples, switches: Sequence[Switch], window: StepWindow, settings: AuditSettings
) -> Iterator[FormerOffset]:
    """One per queue and offset that samples show beyond the end by more than `rewind_tolerance`.

    An end that is low because another process serves the broker, or that jumps back, is of the same messages.
    """
    far = max(settings.thresholds.rewind_tolerance, RACE_MESSAGES)
    if not _beyond_at(samples, far).any_inside(window.read_from, window.end):  # as mostly
        return
    seen = samples.inside(window.read_from, window.end)
    is_beyond = samples.beyond_end[seen] > far
    unchanged = [(row, column) for row, column, _ in falls(samples, seen)]
    for column in np.flatnonzero(is_beyond.sum(axis=0) >= 2).tolist():
        queue = samples.queues[column]
        for offset in _standing(samples, seen, column, is_beyond[:, column], (window.end, settings.max_gap)):
            until = samples.times[seen].searchsorted(offset.end)
            is_same_log = any(row < until and of_queue == column for row, of_queue in unchanged)
            if not is_same_log and not any(_explains(switch, queue, offset.start, settings) for switch in switches):
                yield offset


@cached_with_value
def _beyond_at(samples: OffsetSamples, messages: int) -> Timed:
    """The samples that show an offset by more messages beyond the end of its queue."""
    return samples.showing(samples.beyond_end > messages)


def _standing(
    samples: OffsetSamples, seen: slice, column: int, is_beyond: Mask, holds: tuple[int, int]
) -> Iterator[FormerOffset]:
    """A queue's offsets that two samples show beyond the end; the last holds until, and as long as, `holds`."""
    known = np.flatnonzero(samples.consumed_to[seen, column] != UNKNOWN)
    times, offsets, beyond = samples.times[seen][known], samples.consumed_to[seen, column][known], is_beyond[known]
    firsts = np.append(0, np.flatnonzero(np.diff(offsets)) + 1)
    for run in np.flatnonzero(np.add.reduceat(beyond, firsts, dtype=np.int64) >= 2).tolist():
        first = int(firsts[run])
        after = int(firsts[run + 1]) if run + 1 < len(firsts) else None
        shown = first + np.flatnonzero(beyond[first:after])
        ends = samples.end_offset[seen, column][known[shown]]
        yield FormerOffset(
            samples.queues[column],
            int(times[shown[0]]),
            min(int(times[-1]) + holds[1], holds[0]) if after is None else int(times[after]),
            int(offsets[first]),
            int(samples.beyond_end[seen, column][known[shown]].max()),
            int(ends[-1] - ends[0]),
            None if after is None else int(offsets[after]),
            bool(first and shown[0] == first and _is_ahead(samples, seen, column, known[first - 1], known[first])),
        )


def _is_ahead(samples: OffsetSamples, seen: slice, column: int, before: int, first: int) -> bool:
    """Return whether the offset was within the queue at the sample before, and the end has not fallen since."""
    end = samples.end_offset[seen, column]
    within = samples.consumed_to[seen, column][before] <= end[before] + RACE_MESSAGES
    return bool(within and UNKNOWN < end[before] <= end[first])


def _explains(switch: Switch, queue: Place, start: int, settings: AuditSettings) -> bool:
    """Return True if another process served the queue's broker from about the first sample on."""
    is_near = switch.before - settings.max_gap <= start <= switch.at + settings.max_gap
    return bool(switch.broker_name == queue[0] and switch.old and switch.new and is_near)


class Inverted(NamedTuple):
    """A span in which the broker says that a queue's oldest offset is beyond its end; microseconds. `skipped`: messages
    that came meanwhile, up to the oldest offset.

    The broker answers a pull below the oldest offset with that one, and a pull beyond the end with the end
    (`DefaultMessageStore.getMessage`; RocketMQ issue #10417).
    """

    queue: Place
    start: int
    end: int
    skipped: int


def inverted_queues(samples: TopicSamples, window: StepWindow, max_gap: int) -> Iterator[Inverted]:
    """The spans of a topic's queues, from the first sample that shows it to the first one that does not."""
    seen = samples.inside(window.read_from, window.end)
    times, oldest, ends = samples.times[seen], samples.min_offset[seen], samples.max_offset[seen]
    is_inverted = (ends != UNKNOWN) & (oldest > ends)
    for column in np.flatnonzero(is_inverted.any(axis=0)).tolist():
        known = np.flatnonzero(ends[:, column] != UNKNOWN)
        for first, after in runs_of_true(is_inverted[known, column]):
            last = known[min(after, len(known) - 1)]
            until = times[last] if after < len(known) else min(times[last] + max_gap, window.end)
            skipped = min(ends[last, column], oldest[known[after - 1], column]) - ends[known[first], column]
            yield Inverted(samples.queues[column], int(times[known[first]]), int(until), int(skipped))


FORMER_LIFE, COMMITTED_AHEAD, OLDEST_BEYOND_END = "FORMER_LIFE", "COMMITTED_AHEAD", "OLDEST_BEYOND_END"
SKIPPED = "SKIPPED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per offset beyond the end, while it stands, and when commits go above it; a condition per topic, cause. One
    per queue whose oldest offset is: then the group's offsets go to and fro.
    """
    for topic, samples in step.history.offsets.items():
        topic_samples = step.history.topics.get(topic)
        inverted = [*inverted_queues(topic_samples, step.window, step.settings.max_gap)] if topic_samples else []
        for span in inverted:
            yield _inverted_hit(step, topic, span, sum(other.skipped for other in inverted))
        queues = {span.queue for span in inverted}
        offsets = former_offsets(samples, step.switches.get(topic, ()), step.window, step.settings)
        for same in by_key((it for it in offsets if it.queue not in queues), lambda offset: offset.is_ahead).values():
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


def _inverted_hit(step: AuditedStep, topic: str, span: Inverted, skipped: int) -> RuleHit:
    lasts = span.end - span.start >= step.settings.thresholds.persistent_after_seconds * SECOND
    return RuleHit(
        span.start,
        span.end,
        *(OLDEST_BEYOND_END, topic),
        queue=FindingQueue(topic, *span.queue, SKIPPED),
        severity=ERROR if lasts and span.skipped > 0 else WARN,
        weight=span.skipped,
        measures={"beyond_end": None, "skipped": skipped},
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
    if skipped and finding.cause != FORMER_LIFE:
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
    "back. Not if another process serves the broker. Also where the topic's oldest offset is above its end.",
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
        OLDEST_BEYOND_END: Cause(
            "the broker's oldest offset is above the end, as after an election of a replica that lacked messages",
            "Look at the broker's store, and at what became its master then (RocketMQ issue #10417): it answers each "
            "pull with another offset, so clients get nothing until the end has passed the oldest offset. When it has, "
            "reset the group to the time before; a reset to the earliest offset leads to the wrong one.",
            headline="{groups} gets no message of {queues}: their oldest offset is beyond their end",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
    detail=_detail,
)
