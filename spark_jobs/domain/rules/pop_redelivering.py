"""POP_REDELIVERING: many messages of a group are delivered again, as they are not acknowledged in time."""

from collections.abc import Iterator

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.sample_pairs import sample_pairs
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import Matrix, OffsetSamples
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.window import SECOND, Time
from spark_jobs.domain.rocketmq.pop import popped_topic
from spark_jobs.domain.rules import consume_failing
from spark_jobs.domain.rules.evidence import known_total
from spark_jobs.domain.rules.rule import Cause, Rule

NOT_ACKNOWLEDGED = "NOT_ACKNOWLEDGED"
REDELIVERED = "REDELIVERED"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (queue of a POP retry topic, time in which that topic kept growing); one condition per popped topic."""
    offsets = step.history.offsets
    for retry, samples in offsets.items():
        topic = popped_topic(retry, step.history.consumer_group)
        if topic is not None and topic in offsets:
            yield from _topic_hits(step, topic, offsets[topic], retry, samples)


def _topic_hits(
    step: AuditedStep, topic: str, popped: OffsetSamples, retry: str, samples: OffsetSamples
) -> Iterator[RuleHit]:
    thresholds = step.settings.thresholds
    pairs = sample_pairs(samples, samples.inside(step.window.read_from, step.window.end))
    redeliveries = np.maximum(pairs.produced, 0)
    for start, end in lasting(pairs.times[redeliveries.any(axis=1)], thresholds.busy_after_seconds * SECOND):
        per_queue = redeliveries[(pairs.times > start) & (pairs.times <= end)].sum(axis=0)
        redelivered = int(per_queue.sum())
        consumed = known_total(sample_pairs(popped, popped.inside(start, end + 1)).forward)
        if consumed is None or redelivered < thresholds.failing_messages:
            continue
        if redelivered * 100 < consumed * thresholds.failing_percent:
            continue
        for column in np.flatnonzero(per_queue).tolist():
            yield RuleHit(
                *(start, end, NOT_ACKNOWLEDGED, topic),
                queue=FindingQueue(retry, *samples.queues[column], REDELIVERED),
                severity=ERROR if redelivered * 100 >= consumed * consume_failing.MOST_PERCENT else WARN,
                measures={"consumed": consumed, "redelivered": redelivered},
            )


def lasting(times: Matrix, at_least: int) -> Iterator[Time]:
    """The times `[first, last]` of runs that last at least `at_least` microseconds, with no longer gap in them."""
    for run in np.split(times, np.flatnonzero(np.diff(times) > at_least) + 1):
        if len(run) and run[-1] - run[0] >= at_least:
            yield int(run[0]), int(run[-1])


RULE = Rule(
    name="POP_REDELIVERING",
    headline="{groups} {groups:gets|get} many popped messages again",
    meaning="Members do not acknowledge popped messages in time. After the invisible time (60 s, `popInvisibleTime`) "
    "the broker moves a message to the POP retry topic, from which it is popped again; after 16 times it goes to the "
    "dead-letter topic.",
    decided_by="The POP retry topic grows for `busy_after_seconds` (120) by at least `failing_messages` (10) and "
    "`failing_percent` (10) of what was consumed. ERROR from 50 % on, else WARN.",
    causes={
        NOT_ACKNOWLEDGED: Cause(
            "always",
            "Make the invisible time (setPopInvisibleTime) longer than the listener needs for one pop, pop less at "
            "once (setPopBatchNums), or use more threads. If listeners are fast, check their logs for exceptions. "
            "Listeners must tolerate duplicates.",
        )
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
)
