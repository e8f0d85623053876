"""POP_REDELIVERING and POP_REVIVE_STUCK: popped messages that are delivered again, or not any more."""

from collections.abc import Iterator

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.matrices import age_ms, known_total
from spark_jobs.domain.kernel.sample_pairs import sample_pairs
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.window import SECOND, Time
from spark_jobs.domain.rocketmq.pop import is_revive, popped_topic
from spark_jobs.domain.rules import consume_failing
from spark_jobs.domain.rules.links import brokers
from spark_jobs.domain.rules.rule import Cause, Rule

NOT_ACKNOWLEDGED = "NOT_ACKNOWLEDGED"
REDELIVERED = "REDELIVERED"
REVIVE_STANDS = "REVIVE_STANDS"
STUCK = "STUCK"
#: A revive thread rests for 4 s at most (`reviveInterval` × (1 + `reviveMaxSlow`)), scans for 10 s (`reviveScanTime`),
#: gives a request up after 30 s, and waits for 3 min for the check point of an acknowledgement (`reviveAckWaitMs`).
#: Check points come when they are due, so that the invisible time does not matter.
_LONGEST_WAIT = 300


def _redelivered_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (queue of a POP retry topic, time in which that topic kept growing); one condition per popped topic. Of
    the last samples none shows that it is over.
    """
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
        lasts = pairs.times[-1] - end < thresholds.busy_after_seconds * SECOND
        until = min(int(pairs.times[-1]) + step.settings.max_gap, step.window.end) if lasts else end
        for column in np.flatnonzero(per_queue).tolist():
            yield RuleHit(
                *(start, until, NOT_ACKNOWLEDGED, topic),
                queue=FindingQueue(retry, *samples.queues[column], REDELIVERED),
                severity=ERROR if redelivered * 100 >= consumed * consume_failing.MOST_PERCENT else WARN,
                measures={"consumed": consumed, "redelivered": redelivered},
            )


def lasting(times: Matrix, at_least: int) -> Iterator[Time]:
    """The times `[first, last]` of runs that last at least `at_least` microseconds, with no longer gap in them."""
    for run in np.split(times, np.flatnonzero(np.diff(times) > at_least) + 1):
        if len(run) and run[-1] - run[0] >= at_least:
            yield int(run[0]), int(run[-1])


def _stuck_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (revive queue, time in which its consumer offset did not advance and its end did)."""
    for topic, samples in step.history.offsets.items():
        if is_revive(topic, step.history.consumer_group):
            for place in samples.queues:
                yield from _queue_hits(step, FindingQueue(topic, *place, STUCK), samples)


def stalled_times(
    times: Matrix, consumer_offset: Matrix, end_offset: Matrix, max_gap: int
) -> Iterator[tuple[int, int]]:
    """First and last sample of each run with one consumer offset; the last: where its end offset last grew."""
    is_cut = (np.diff(consumer_offset) != 0) | (np.diff(end_offset) < 0) | (np.diff(times) > max_gap)
    for rows in np.split(np.arange(len(times)), np.flatnonzero(is_cut) + 1):
        if len(rows):
            last = int(np.searchsorted(end_offset[rows], end_offset[rows[-1]]))
            yield int(rows[0]), int(rows[last])


def _queue_hits(step: AuditedStep, queue: FindingQueue, samples: OffsetSamples) -> Iterator[RuleHit]:
    rows = samples.inside(step.window.read_from, step.window.end)
    column = samples.columns[queue.broker_name, queue.queue_id]
    consumed_to, end_offset = samples.consumed_to[rows, column], samples.end_offset[rows, column]
    known = (consumed_to != UNKNOWN) & (end_offset != UNKNOWN)
    times, consumed_to, end_offset = samples.times[rows][known], consumed_to[known], end_offset[known]
    stored = samples.last_timestamp[rows, column][known]
    for first, last in stalled_times(times, consumed_to, end_offset, step.settings.max_gap):
        new_entries = int(end_offset[last] - end_offset[first])
        is_long = times[last] - times[first] >= _LONGEST_WAIT * SECOND
        if not is_long or new_entries <= step.settings.thresholds.allowed_lag:
            continue
        lag = end_offset[last] - consumed_to[last]
        age = int(age_ms(times[last], stored[last], lag))
        yield RuleHit(
            int(times[first]),
            int(times[last]),
            *(REVIVE_STANDS, queue.topic),
            queue=queue,
            weight=float(lag),
            measures={
                "age_seconds": None if age == UNKNOWN else age / 1000,
                "came_meanwhile": new_entries,
                "lag": float(lag),
            },
        )


POP_REDELIVERING = Rule(
    name="POP_REDELIVERING",
    ended="messages were acknowledged in time again",
    headline="{groups} {groups:gets|get} many popped messages again",
    meaning="Members do not acknowledge popped messages in time. After the invisible time (60 s, `popInvisibleTime`) "
    "the broker moves a message to the POP retry topic, from which it is popped again; after 16 times it goes to the "
    "dead-letter topic.",
    decided_by="The POP retry topic grows for `busy_after_seconds` (120) by at least `failing_messages` (10) and "
    "`failing_percent` (10) of what was consumed. ERROR from 50 % on, else WARN.",
    causes={
        NOT_ACKNOWLEDGED: Cause(
            "always",
            "Make the invisible time longer than the listener needs for one pop, pop less at once, or use more threads "
            "(setPopInvisibleTime, setPopBatchNums). Behind a proxy, check that it renews the time of gRPC clients "
            "(`enableProxyAutoRenew`, rocketmq-clients issue #1198). If listeners are fast, check their logs for "
            "exceptions. Listeners must tolerate duplicates.",
        )
    },
    evaluate=_redelivered_hits,
    hit_severity=WARN,
    lasts=0,
)
POP_REVIVE_STUCK = Rule(
    name="POP_REVIVE_STUCK",
    ended="the broker revived messages again",
    headline="{brokers} {brokers:does|do} not deliver unacknowledged popped messages again",
    meaning="A broker does not deliver unacknowledged messages of POP groups again. A thread that reads one of its "
    "revive queues (`rmq_sys_REVIVE_LOG_` + cluster, group `CID_RMQ_SYS_REVIVE_GROUP`) makes no progress.",
    decided_by="The consumer offset of a revive queue stands for 300 s, while more than `allowed_lag` (32) entries "
    "came. ERROR. Unknown for brokers with `popConsumerKVServiceEnable`.",
    causes={
        REVIVE_STANDS: Cause(
            "always",
            "Check the broker's pop.log for `revive error` and `stay too long`, and take a thread dump of "
            "PopReviveService_<queue>. Restart the broker. Keep the messages (fileReservedTime) until it has caught "
            "up.",
        )
    },
    evaluate=_stuck_hits,
    hit_severity=ERROR,
    lasts=_LONGEST_WAIT,
    spreads_by=brokers,
)
