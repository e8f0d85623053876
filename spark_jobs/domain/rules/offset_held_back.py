"""OFFSET_HELD_BACK: one message that is not finished holds back the offset of a queue that its client consumes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.process_queues import ProcessQueue, process_queue
from spark_jobs.domain.kernel.unconsumed import Unconsumed, unconsumed
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.window import SECOND, Time
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

HELD_BACK = "HELD_BACK"
ONE_MESSAGE = "ONE_MESSAGE"


class HeldOffset(NamedTuple):
    """A time (microseconds) in which a queue is consumed and its offset stands.

    `consumed`: messages behind it that the client had finished when it was last seen to consume.
    """

    start: int
    end: int
    queue: MessageQueue
    client_id: str
    offset: int
    consumed: int


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per queue and time; one condition per topic. The measures are those of the queue with most messages."""
    for each in held_back(step):
        yield RuleHit(
            *(each.start, each.end, ONE_MESSAGE, each.queue.topic),
            queue=FindingQueue(*each.queue, HELD_BACK),
            implicated=each.client_id,
            weight=each.consumed,
            measures={"consumer_offset": each.offset, "consumed_again": each.consumed},
            hint=f"The message at offset {each.offset} of {each.queue.broker_name}:{each.queue.queue_id} is not "
            f"finished; {each.consumed:,} behind it are consumed again after a restart.",
        )


@cached_with_value
def held_back(step: AuditedStep) -> Sequence[HeldOffset]:
    """The times in which the offset of a queue is held back, in the order of intervals."""
    return [each for interval in step.replayed for each in _in_interval(step, interval)]


@cached_with_value
def held_back_times(step: AuditedStep) -> Mapping[MessageQueue, Sequence[Time]]:
    """The same by queue, in order."""
    times: dict[MessageQueue, list[Time]] = defaultdict(list)
    for each in held_back(step):
        times[each.queue].append((each.start, each.end))
    return times


def _in_interval(step: AuditedStep, interval: RebalanceInterval) -> Iterator[HeldOffset]:
    samples, settings = step.history.offsets.get(interval.topic), step.settings
    if samples is None or not step.history.clients:
        return
    seconds = settings.thresholds.verdict_window_seconds
    for stand in unconsumed(samples, (interval.start, interval.end), settings.max_gap, seconds):
        queue = MessageQueue(interval.topic, *stand.queue)
        for client_id, places in interval.allocation.queues_of_client.items() if interval.allocation else ():
            if stand.is_committed and stand.queue in places and client_id in step.history.clients:
                each = _of_owner(step, client_id, queue, stand)
                if each is not None:
                    yield each


def _of_owner(step: AuditedStep, client_id: str, queue: MessageQueue, stand: Unconsumed) -> HeldOffset | None:
    """Return the time in which the owner consumes the queue with the message at the offset as its oldest, or None."""
    client = step.history.clients[client_id]
    samples = process_queue(client, queue, stand.start + 1, stand.end)
    advances = np.flatnonzero(np.diff(samples.last_consume) > 0) + 1
    if not len(advances) or _is_orderly(step, client_id, stand):
        return None
    last = int(samples.times[advances[-1]])
    consumed = _waiting_at(step.history.offsets[queue.topic], stand, last) - int(samples.cached_count[advances[-1]])
    if not _holds(samples, stand.offset) or consumed < 1:
        return None
    idle = step.settings.thresholds.verdict_window_seconds * SECOND
    end = stand.end if stand.end - last <= idle else last
    return HeldOffset(stand.start, end, queue, client_id, stand.offset, consumed)


def _waiting_at(samples: OffsetSamples, stand: Unconsumed, moment: int) -> int:
    """The messages from the offset on, by the newest sample up to the moment: the client cannot have pulled others."""
    lag = samples.lag[samples.inside(stand.start, moment + 1), samples.columns[stand.queue]]
    return int(lag[lag != UNKNOWN][-1:].sum())


def _holds(samples: ProcessQueue, offset: int) -> bool:
    """Return whether the client holds the message at the offset, in all snapshots but the first, which may be older."""
    return bool(((samples.cached_count > 0) & (samples.cached_min_offset == offset))[1:].all())


def _is_orderly(step: AuditedStep, client_id: str, stand: Unconsumed) -> bool:
    """An orderly consumer that suspends a queue takes the same message again and again."""
    series = step.history.clients[client_id].series
    seen = series.codes[series.inside(stand.start, stand.end)].tolist()
    return any(series.states[code].consume_orderly is not False for code in set(seen) if series.states[code].answered)


RULE = Rule(
    name="OFFSET_HELD_BACK",
    headline="One message holds back the offset of {queues} in {groups}, while the client consumes the queue",
    meaning="One unfinished message holds back the committed offset of its queue. The client consumes the messages "
    "behind it: the backlog that brokers show is not real, and a restart consumes them again.",
    decided_by="For `verdict_window_seconds` (300) the offset stands while messages are produced, and client "
    "snapshots show its message as the oldest cached one, while later ones are consumed. It replaces CONSUMER_STOPPED "
    "and CONSUMER_STALLED. WARN.",
    causes={
        ONE_MESSAGE: Cause(
            "always",
            "Take a thread dump: a listener call may hang, or the client has lost the message after a call that took "
            "too long. Restart the client, and let the listener tolerate duplicates.",
            commands=(THREAD_DUMP,),
        )
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts="verdict_window_seconds",
    needs=(CLIENT_SNAPSHOTS,),
)
