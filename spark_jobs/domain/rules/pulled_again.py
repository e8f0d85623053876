"""Messages that members consume several times though no offset goes back: the broker sends their pulls back.

A client takes the `nextBeginOffset` of each pull result, and commits only what is above its last commit
(`ProcessQueue`, `OffsetStore.updateOffset` with `increaseOnly`). RocketMQ issue #7363.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import rows_of, status_samples
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, UNKNOWN, ClientHistory, OffsetSamples, Place
from spark_jobs.domain.model.window import MINUTE, SECOND, Time, joined

PULLED_AGAIN = "PULLED_AGAIN"
#: Messages are consumed so many times at least, and so many more a second.
_TIMES, _MORE = 2, 1
#: A report is about a minute that ended up to 10 s before (`StatsItemSet`).
_REPORTED = MINUTE + 10 * SECOND


class _Rates(NamedTuple):
    """Messages a second that a member consumed, and of these at most different ones."""

    consumed: float
    different: float


def pulled_again(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time in which a member consumes the messages of a topic several times, queue of it that it has)."""
    intervals = [each for each in step.intervals if each.is_shared_out or each.has_popping_members]
    popped = {interval.topic for interval in intervals}
    for topic, samples in step.history.offsets.items():
        if topic.startswith(RETRY) or topic in popped:
            continue
        for client_id, client in step.history.clients.items():
            owned = _owned(step, client, topic)
            rates = _repeated(step, client, topic, samples, owned) if owned else {}
            for start, end in joined(rates):
                of_time = [each for (since, _), each in rates.items() if start <= since < end]
                consumed, different = np.mean(of_time, axis=0).tolist()
                again = (consumed - different) * (end - start) / SECOND
                for place in sorted(owned):
                    yield RuleHit(
                        *(start, end, PULLED_AGAIN, topic),
                        queue=FindingQueue(topic, *place, PULLED_AGAIN),
                        implicated=client_id,
                        weight=again,
                        measures={
                            "consumed_per_second": consumed,
                            "different_per_second": different,
                            "consumed_again": again,
                        },
                    )


def _owned(step: AuditedStep, client: ClientHistory, topic: str) -> set[Place]:
    """The queues of the topic that the client says it has at any time; empty: a report lacks them."""
    codes = np.unique(client.series.codes[client.series.inside(_first(step), step.window.end)])
    states = [client.series.states[code] for code in codes.tolist()]
    if any(state.answered and state.owned is None for state in states):
        return set()
    every = (queue for state in states for queue in state.owned or ())
    return {(queue.broker_name, queue.queue_id) for queue in every if queue.topic == topic}


def _length(step: AuditedStep) -> int:
    return 2 * step.settings.thresholds.verdict_window_seconds * SECOND


def _first(step: AuditedStep) -> int:
    """The start of the first window."""
    return min(step.window.start, step.window.end - _length(step))


def _repeated(
    step: AuditedStep, client: ClientHistory, topic: str, samples: OffsetSamples, owned: set[Place]
) -> Mapping[Time, _Rates]:
    """The windows of twice `verdict_window_seconds` in which the client consumed several times what can have come; that
    of a shorter step begins before it.
    """
    window, length = step.window, _length(step)
    times = ((start, start + length) for start in range(_first(step), window.end - length + 1, length))
    if not owned <= samples.columns.keys():
        return {}
    columns = [samples.columns[place] for place in owned]
    rates = ((time, _rates(step, client, topic, samples, columns, time)) for time in times)
    return {time: of_time for time, of_time in rates if of_time}


def _rates(
    step: AuditedStep, client: ClientHistory, topic: str, samples: OffsetSamples, columns: list[int], time: Time
) -> _Rates | None:
    """The rates of a window, if more is consumed than different messages can explain; None: not, or it is unknown.

    The different ones are at most those from the first committed offset of its queues to their last end. What a member
    reports is summed up over less time, and without failures, which are retried.
    """
    seen, statuses = samples.inside(*time), status_samples(client)
    rows = rows_of(client, topic, *time)
    if seen.start == seen.stop or not len(rows):
        return None
    first, last = samples.consumed_to[seen.start, columns], samples.end_offset[seen.stop - 1, columns]
    most = (statuses.consumed_tps - statuses.failed_tps)[rows].max() * (time[1] - time[0]) / SECOND
    if (first != UNKNOWN).all() and (last != UNKNOWN).all() and most < _TIMES * (last - first).sum():  # as mostly
        return None
    committed, ends = samples.consumed_to[seen][:, columns], samples.end_offset[seen][:, columns]
    known = ((committed != UNKNOWN) & (ends != UNKNOWN)).all(axis=1)
    at, committed, ends = samples.times[seen][known], committed[known], ends[known]
    if not len(at) or (np.diff(committed, axis=0) < 0).any() or (np.diff(ends, axis=0) < 0).any():
        return None
    start, end = int(at[0]), int(at[-1])
    # What is consumed after an offset went back is reported before a sample shows that.
    rows = rows_of(client, topic, start + _REPORTED, end - step.settings.cadence)
    if not len(rows):
        return None
    reported_at = client.series.times[statuses.snapshot[rows]]
    lasts = np.minimum(np.diff(reported_at, prepend=reported_at[0] - MINUTE), MINUTE) / SECOND
    reported = (statuses.consumed_tps - statuses.failed_tps)[rows]
    # A burst is in some of the reports only.
    consumed = float(min(np.average(reported, weights=lasts), np.median(reported)))
    different = int((ends[-1] - committed[0]).sum())
    if not consumed * lasts.sum() >= _TIMES * different + _MORE * (end - start) / SECOND:  # NaN is unknown
        return None
    return _Rates(consumed, different * SECOND / (end - start))
