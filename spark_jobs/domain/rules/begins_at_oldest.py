"""BEGINS_AT_OLDEST: a new group begins with the oldest messages, and has all of the topic's history to consume."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, UNKNOWN, Matrix, OffsetSamples, TopicSamples
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND, moment_text
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.commands import RESET_TO_NOW
from spark_jobs.domain.rules.rule import Cause, Rule

FIRST_COMMIT = "FIRST_COMMIT"
NOT_AT_THE_END = "NOT_AT_THE_END"
OLDEST = "OLDEST"
FROM_THE_END = "CONSUME_FROM_LAST_OFFSET"
_MINUTE = 60
#: A backlog is history if it is more than this many times what came since the group was seen without a commit.
_FAR_ABOVE = 2


class Beginning(NamedTuple):
    """The first known offset of a queue, in the sample at `at` (microseconds): what waited then and at the last
    sample, until when (microseconds) it was not caught up with, and messages worked off per second, 0: none.
    """

    queue: FindingQueue
    at: int
    until: int
    backlog: int
    left: int
    pace: float


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per queue whose first commit is at its oldest message, one condition per topic."""
    for topic, samples in step.history.offsets.items():
        oldest = step.history.topics.get(topic)
        if oldest is not None and not topic.startswith(RETRY) and _is_new(step, samples, oldest):
            beginnings = [
                beginning
                for place in sorted(set(samples.queues) & set(oldest.queues))
                if (beginning := _beginning(step, FindingQueue(topic, *place, OLDEST), samples, oldest))
            ]
            yield from _hits(step, beginnings) if beginnings else ()


def _is_new(step: AuditedStep, samples: OffsetSamples, oldest: TopicSamples) -> bool:
    """Return whether the group had no offset of the topic before, though the topic was recorded, and no member then."""
    window = step.window
    seen = samples.inside(window.read_from, window.end)
    known = np.flatnonzero((samples.consumed_to[seen] != UNKNOWN).any(axis=1))
    if not len(known):
        return False
    if known[0]:
        return bool((samples.end_offset[seen][: known[0]] != UNKNOWN).any())
    before = int(samples.times[seen][0]) - step.settings.max_gap
    if not oldest.any_inside(window.read_from, before):
        return False
    is_listed = any(span.state.connections for span in step.membership_spans if span.start < before)
    return not is_listed and not step.history.was_there_before(window, step.settings)


def _beginning(
    step: AuditedStep, queue: FindingQueue, samples: OffsetSamples, oldest: TopicSamples
) -> Beginning | None:
    """The beginning of a queue of a topic that is new to the group; None: it does not begin with its history."""
    thresholds, seen = step.settings.thresholds, samples.inside(step.window.read_from, step.window.end)
    place = queue.broker_name, queue.queue_id
    times, column = samples.times[seen], samples.columns[place]
    offsets, ends, lag = (each[seen, column] for each in (samples.consumed_to, samples.end_offset, samples.lag))
    known = np.flatnonzero(offsets != UNKNOWN)
    if not len(known):
        return None
    first, last = int(known[0]), int(known[-1])
    minimums = oldest.known_minimums(place, step.window.read_from, int(times[first]) + 1).tolist()
    a_minute = max(_per_second(times, offsets, known) * _MINUTE, thresholds.rewind_tolerance)
    before = np.flatnonzero(ends[:first] != UNKNOWN)
    produced = int(ends[first] - ends[before[0]]) if len(before) else 0
    is_history = lag[first] > max(_FAR_ABOVE * produced, a_minute, thresholds.allowed_lag)
    if not minimums or offsets[first] - minimums[-1] > a_minute or not is_history:
        return None
    caught_up = np.flatnonzero((lag[first:] != UNKNOWN) & (lag[first:] <= a_minute))
    until = int(times[first + caught_up[0]]) if len(caught_up) else step.window.end
    lasting = int(times[last] - times[first]) / SECOND
    pace = max(int(lag[first] - lag[last]) / lasting if lasting else 0.0, 0.0)
    return Beginning(queue, int(times[first]), until, int(lag[first]), int(lag[last]), pace)


def _per_second(times: Matrix, offsets: Matrix, known: Matrix) -> float:
    """Messages a second that are consumed of a queue: between its first two known offsets; 0: it has one."""
    if len(known) < 2:
        return 0.0
    first, second = known[:2].tolist()
    return max(int(offsets[second] - offsets[first]), 0) / (int(times[second] - times[first]) / SECOND)


def _hits(step: AuditedStep, beginnings: Sequence[Beginning]) -> Iterator[RuleHit]:
    history, left = sum(each.backlog for each in beginnings), sum(each.left for each in beginnings)
    measures = {"history": history, "left": left}
    hint = f"{count(history, 'message')} waited when it began. {_until_when(step, beginnings, left)}"
    is_from_the_end = any(span.state.consume_from_where == FROM_THE_END for span in step.membership_spans)
    cause = NOT_AT_THE_END if is_from_the_end else FIRST_COMMIT
    for each in beginnings:
        time = each.at, max(each.until, each.at + 1)
        yield RuleHit(*time, cause, each.queue.topic, queue=each.queue, measures=measures, hint=hint)


def _until_when(step: AuditedStep, beginnings: Sequence[Beginning], left: int) -> str:
    """A sentence: when the group had caught up with all queues, or will have at its pace of the step."""
    until, pace = max(beginning.until for beginning in beginnings), sum(beginning.pace for beginning in beginnings)
    if until < step.window.end:
        return f"It had caught up at {moment_text(until)}."
    if pace <= 0:
        return f"{left:,} are left, and it does not catch up at this pace."
    end = step.window.end + int(left / pace) * SECOND
    return f"{left:,} are left; at this pace it has caught up at {moment_text(end)}."


_RESET = "If the history is not wanted, reset the group to now."
RULE = Rule(
    name="BEGINS_AT_OLDEST",
    headline="{groups} {groups:begins|begin} with the oldest messages of {queues}",
    meaning="A new group begins at the oldest message that the broker has.",
    decided_by="The first known offset is at most a minute's consumption above the oldest one. More messages wait "
    "than the group consumes in a minute, and than twice what came since. INFO; WARN for NOT_AT_THE_END.",
    causes={
        FIRST_COMMIT: Cause("the group's first offsets are at the oldest messages", _RESET, commands=(RESET_TO_NOW,)),
        NOT_AT_THE_END: Cause(
            "the same, although the group is to begin at the end (`CONSUME_FROM_LAST_OFFSET`, the default)",
            f"{_RESET} A broker lets a new group begin at 0 if the queue's oldest offset is 0 and its first message is "
            "still in memory, whatever consumeFromWhere says (RocketMQ: ConsumerManageProcessor.queryConsumerOffset). "
            "If the oldest offset is above 0, look who reset the group.",
            commands=(RESET_TO_NOW,),
            severity=WARN,
        ),
    },
    evaluate=hits,
    hit_severity=INFO,
    lasts=0,
)
