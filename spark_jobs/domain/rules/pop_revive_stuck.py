"""POP_REVIVE_STUCK: a broker makes no progress with delivering again what was popped and not acknowledged."""

from collections.abc import Iterator

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.sample_windows import age_ms
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.pop import is_revive
from spark_jobs.domain.rules.links import brokers
from spark_jobs.domain.rules.rule import Cause, Rule

REVIVE_STANDS = "REVIVE_STANDS"
STUCK = "STUCK"
#: A revive thread rests for 4 s at most (`reviveInterval` × (1 + `reviveMaxSlow`)), scans for 10 s (`reviveScanTime`),
#: gives a request up after 30 s, and waits for 3 min for the check point of an acknowledgement (`reviveAckWaitMs`).
#: Check points come when they are due, so that the invisible time does not matter.
_LONGEST_WAIT = 300


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (revive queue, time in which its consumer offset did not advance and its end did)."""
    for topic, samples in step.history.offsets.items():
        if is_revive(topic, step.history.consumer_group):
            rows = samples.inside(step.window.read_from, step.window.end)
            for column, (broker, queue_id) in enumerate(samples.queues):
                queue = FindingQueue(topic, broker, queue_id, STUCK)
                yield from _queue_hits(step, queue, samples, rows, column)


def stalled_times(
    times: Matrix, consumer_offset: Matrix, end_offset: Matrix, max_gap: int
) -> Iterator[tuple[int, int]]:
    """First and last sample of each run with one consumer offset; the last: where its end offset last grew."""
    is_cut = (np.diff(consumer_offset) != 0) | (np.diff(end_offset) < 0) | (np.diff(times) > max_gap)
    for rows in np.split(np.arange(len(times)), np.flatnonzero(is_cut) + 1):
        if len(rows):
            last = int(np.searchsorted(end_offset[rows], end_offset[rows[-1]]))
            yield int(rows[0]), int(rows[last])


def _queue_hits(
    step: AuditedStep, queue: FindingQueue, samples: OffsetSamples, rows: slice, column: int
) -> Iterator[RuleHit]:
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


RULE = Rule(
    name="POP_REVIVE_STUCK",
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
    evaluate=hits,
    hit_severity=ERROR,
    lasts=_LONGEST_WAIT,
    spreads_by=brokers,
)
