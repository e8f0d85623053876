"""Reports of clients about themselves, compressed to its changes, for the rules that need client snapshots.

One snapshot is never enough: `seen_twice` and `symptoms` keep what two successive snapshots show.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TypeVar

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import saturated
from spark_jobs.domain.kernel.process_queues import clock_behind_ms, is_known
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import (
    LOCK_LIVES_MS,
    BusyClient,
    ClientReport,
    ThrottleCause,
    Throttled,
    needs_locks,
    queue_of,
    reported_series,
)
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, Mask, Numbers
from spark_jobs.domain.model.message_queue import MessageModel, MessageQueue
from spark_jobs.domain.model.series import Series, Span, State
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import MILLISECOND

Symptom = TypeVar("Symptom")
_LIMITS = tuple(ThrottleCause)


#: The symptoms of a `ClientReport`, in its order.
_Symptoms = tuple[tuple[MessageQueue, ...], tuple[Throttled, ...], BusyClient | None, tuple[MessageQueue, ...]]


@cached_with_value
def client_spans(step: AuditedStep) -> Mapping[str, Sequence[Span[ClientReport]]]:
    """By client id, in order, the spans of the window with the same reports, ended where a client does not answer.
    Without those in which it does not answer and commits, or never answered and may broadcast, so that it need not
    commit: it lacks the request, or the answer is lost.
    """
    return {
        client_id: [
            span
            for span in reports.spans(step.window, step.settings.max_gap)
            if span.state.answered or not (_may_broadcast(step, client_id) or _commits(step, client_id, span))
        ]
        for client_id, reports in reported(step).items()
    }


def _may_broadcast(step: AuditedStep, client_id: str) -> bool:
    """Return whether the client never answered, and a broker that lists it says that the group broadcasts."""
    ever_answered = any(report.answered for report in reported(step)[client_id].states)
    listed = (each.state for each in step.membership_spans if client_id in each.state.client_ids)
    return not ever_answered and any(state.message_model == MessageModel.BROADCASTING for state in listed)


def _commits(step: AuditedStep, client_id: str, span: Span[ClientReport]) -> bool:
    """Return whether offsets of queues that only this client owns advance at two samples of the time: one may be a
    reset. It may answer, or another client may commit, in a collection interval at either end.
    """
    cadence, advances = step.settings.cadence, set[int]()
    for interval in step.replayed:
        samples, allocation = step.history.offsets.get(interval.topic), interval.allocation
        start, end = max(span.start, interval.start) + cadence, min(span.end - cadence, interval.end)
        if samples is not None and allocation is not None and start < end:
            owned = zip(allocation.queues, allocation.owner_ids, strict=True)
            own = (queue for queue, owner_ids in owned if list(owner_ids) == [client_id])
            columns = [samples.columns[queue] for queue in own if queue in samples.columns]
            seen = samples.inside(start, end)
            rose = (samples.forward[seen][1:, columns] > 0).any(axis=1)
            advances.update(samples.times[seen][1:][rose].tolist())
    return len(advances) > 1


@cached_with_value
def unwell_spans(step: AuditedStep) -> Mapping[str, Sequence[Span[ClientReport]]]:
    """The same of the clients that any report shows not to be well."""
    return spans_showing(step, lambda report: not report.is_well)


def spans_showing(
    step: AuditedStep, shows: Callable[[ClientReport], bool]
) -> Mapping[str, Sequence[Span[ClientReport]]]:
    """`client_spans` of the clients of which any report shows it: mostly there are none."""
    ever = (client_id for client_id, reports in reported(step).items() if any(map(shows, reports.states)))
    every = ((client_id, client_spans(step)[client_id]) for client_id in ever)
    return {client_id: spans for client_id, spans in every if any(shows(span.state) for span in spans)}


@cached_with_value
def reported(step: AuditedStep) -> Mapping[str, Series[ClientReport]]:
    """By client id, its reports in the window and outside of it, by the clock that the window's snapshots show."""
    thresholds, idle_ms = step.settings.thresholds, step.settings.thresholds.pull_idle_seconds * 1000
    return {
        client_id: client_reports(client, thresholds, clock_behind_ms(client, step.window, idle_ms))
        for client_id, client in step.history.clients.items()
    }


def seen_twice(spans: Sequence[Span[State]]) -> Iterator[Span[State]]:
    """The spans of one key, in order, that a second snapshot confirms, inside the span or next to it."""
    for place, span in enumerate(spans):
        is_behind = place > 0 and spans[place - 1].end == span.start
        is_before = place + 1 < len(spans) and spans[place + 1].start == span.end
        if span.seen_at > span.start or is_behind or is_before:
            yield span


@cached_with_value
def busy_spans(step: AuditedStep) -> Mapping[str, Sequence[Span[BusyClient]]]:
    """By client id the times in which two successive snapshots show it with nearly all its threads busy."""
    return {
        client_id: list(seen_twice([span.showing(span.state.busy) for span in spans if span.state.busy]))
        for client_id, spans in unwell_spans(step).items()
    }


def symptoms(
    spans: Iterable[Span[ClientReport]],
    shown: Callable[[ClientReport], Sequence[Symptom]],
    queue: Callable[[Symptom], MessageQueue],
) -> Iterator[Span[Symptom]]:
    """One per (span of one client, queue with a symptom that `shown` finds), confirmed by two successive snapshots."""
    spans_per_queue: dict[MessageQueue, list[Span[Symptom]]] = defaultdict(list)
    for span in spans:
        for symptom in shown(span.state):
            spans_per_queue[queue(symptom)].append(span.showing(symptom))
    for queue_spans in spans_per_queue.values():
        yield from seen_twice(queue_spans)


@cached_with_value
def client_reports(client: ClientHistory, thresholds: Thresholds, clock_behind_ms: int) -> Series[ClientReport]:
    """One report per snapshot of a client, whose clock is behind by so many milliseconds."""
    reported = reported_series(client)
    reports, snapshot_codes = [*reported.states], reported.codes.copy()
    code_of_symptoms: dict[tuple[int, _Symptoms], int] = {}
    for snapshot, shown in _symptoms(client, thresholds, clock_behind_ms).items():
        healthy = int(snapshot_codes[snapshot])
        code = code_of_symptoms.setdefault((healthy, shown), len(reports))
        if code == len(reports):
            stale, throttled, busy, expired = shown
            reports.append(replace(reports[healthy], stale=stale, throttled=throttled, busy=busy, expired=expired))
        snapshot_codes[snapshot] = code
    return Series(client.series.times, snapshot_codes, reports)


def _symptoms(client: ClientHistory, thresholds: Thresholds, clock_behind_ms: int) -> dict[int, _Symptoms]:
    """By number of a snapshot, the symptoms that it shows; without snapshots that show none."""
    stale: dict[int, list[MessageQueue]] = defaultdict(list)
    throttled: dict[int, list[Throttled]] = defaultdict(list)
    busy: dict[int, BusyClient] = dict(saturated(client, thresholds))
    expired: dict[int, list[MessageQueue]] = defaultdict(list)
    limits = _limits(client, thresholds)
    is_stale, causes = _stale(client, thresholds, clock_behind_ms), _throttle_causes(client, limits)
    is_expired = _lock_expired(client, clock_behind_ms)
    first_rows, series = client.samples.offsets, client.series
    rows = np.flatnonzero(is_stale | is_expired | (causes < len(_LIMITS)))
    for row, snapshot in zip(rows.tolist(), client.samples.snapshots[rows].tolist(), strict=True):
        process_queue = (series.states[series.codes[snapshot]].owned or ())[row - int(first_rows[snapshot])]
        if process_queue.dropped:
            continue
        if is_stale[row]:
            stale[snapshot].append(queue_of(process_queue))
        if is_expired[row]:
            expired[snapshot].append(queue_of(process_queue))
        if causes[row] < len(_LIMITS):
            limit = int(limits[snapshot, causes[row]])
            throttled[snapshot].append(_throttled(client, row, queue_of(process_queue), _LIMITS[causes[row]], limit))
    return {
        snapshot: (
            tuple(stale.get(snapshot, ())),
            tuple(throttled.get(snapshot, ())),
            busy.get(snapshot),
            tuple(expired.get(snapshot, ())),
        )
        for snapshot in stale.keys() | throttled.keys() | busy.keys() | expired.keys()
    }


def _stale(client: ClientHistory, thresholds: Thresholds, clock_behind_ms: int) -> Mask:
    """Per process queue whether the client stopped pulling it. Source: ProcessQueue.isPullExpired.

    An idle client asks every 15 s (long polling), or as it is set to. A Go client waits for its listener first.
    """
    samples, series, idle_ms = client.samples, client.series, thresholds.pull_idle_seconds * 1000
    last_pull, last_consume = samples.last_pull, samples.last_consume
    by_listener = (samples.cached_count > 0) & is_known(last_consume) & (last_consume < last_pull)
    waits = np.array([(state.pull_interval_ms or 0) > idle_ms for state in series.states], dtype=bool)
    is_old = (series.times // MILLISECOND)[samples.snapshots] - last_pull - clock_behind_ms > idle_ms
    stale: Mask = is_known(last_pull) & ~waits[series.codes[samples.snapshots]] & ~by_listener & is_old
    return stale


def _lock_expired(client: ClientHistory, clock_behind_ms: int) -> Mask:
    """Per process queue, True if an orderly client no longer trusts its lock. Source: ProcessQueue.isLockExpired.

    It takes no messages then. Go clients before 2025-08 note the time of consuming where they renew a lock
    (defaultConsumer.lockAll).
    """
    last_lock, series, snapshots = client.samples.last_lock, client.series, client.samples.snapshots
    orderly = np.array([needs_locks(state) for state in series.states], dtype=bool)[series.codes[snapshots]]
    is_old = (series.times // MILLISECOND)[snapshots] - last_lock - clock_behind_ms > LOCK_LIVES_MS
    last_consume = client.samples.last_consume
    consumed_since = is_known(last_consume) & (last_consume > last_lock + LOCK_LIVES_MS)
    expired: Mask = orderly & (last_lock > 0) & is_old & ~consumed_since
    return expired


def _limits(client: ClientHistory, thresholds: Thresholds) -> Numbers:
    """Per snapshot the limits in the order of `ThrottleCause`: the client's own, else the configured ones."""
    configured = (thresholds.cached_messages, thresholds.cached_mib, thresholds.cached_span)
    own_limits = attrgetter("pull_threshold_for_queue", "pull_threshold_size_for_queue", "consume_max_span")
    limits = [
        [own if own and own > 0 else other for own, other in zip(own_limits(state), configured, strict=True)]
        for state in client.series.states
    ]
    return np.array(limits, dtype=np.int64).reshape(-1, len(_LIMITS))[client.series.codes]


def _throttle_causes(client: ClientHistory, limits: Numbers) -> Numbers:
    """Per process queue its first limit that is reached, by place in `ThrottleCause`; behind the last: none.

    A client stops beyond its messages and MiB, and at its span. Source: DefaultMQPushConsumerImpl.pullMessage.
    """
    samples, series = client.samples, client.series
    messages, mib, span = limits[samples.snapshots].T
    concurrent = np.array([state.consume_orderly is False for state in series.states], dtype=bool)
    beyond = [
        samples.cached_count > messages,
        samples.cached_mib > mib,
        concurrent[series.codes[samples.snapshots]] & (_cached_spans(client) >= span),
    ]
    return np.select(beyond, range(len(_LIMITS)), len(_LIMITS))


@cached_with_value
def _cached_spans(client: ClientHistory) -> Numbers:
    """Offsets from the oldest cached message of each process queue to the newest."""
    first, last = client.samples.cached_min_offset, client.samples.cached_max_offset
    return np.where((first != UNKNOWN) & (last != UNKNOWN), last - first, UNKNOWN)


def _throttled(client: ClientHistory, row: int, queue: MessageQueue, cause: ThrottleCause, limit: int) -> Throttled:
    samples = client.samples
    columns = (samples.cached_count, samples.cached_mib, _cached_spans(client))
    count, mib, span = (None if column[row] == UNKNOWN else int(column[row]) for column in columns)
    return Throttled(queue, count, mib, span, cause, limit)
