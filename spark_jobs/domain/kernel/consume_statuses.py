"""Response times and rates as clients measured them over their last minute: busy threads, slower listeners."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import BusyClient, most_per_call
from spark_jobs.domain.model.history import ClientHistory, ClientState, ConsumeStatus, Floats, Mask, Numbers
from spark_jobs.domain.model.series import Series, Span
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings, StepWindow

State = TypeVar("State")


@dataclass(frozen=True)
class StatusSamples:
    """All consume statuses of one client, one row per (snapshot, topic); NaN is unknown.

    `snapshot`: its number, ascending; `topic`: place in `topics`; milliseconds, and messages per second: consumed
    (successfully or not), and of these failed. `per_call`: messages that one call of the listener gets at most.
    """

    snapshot: Numbers
    topic: Numbers
    topics: Sequence[str]
    consume_rt_ms: Floats
    consumed_tps: Floats
    failed_tps: Floats
    pull_rt_ms: Floats
    pull_tps: Floats
    per_call: Numbers

    @cached_property
    def message_ms(self) -> Floats:
        """Milliseconds that a message takes of a thread, at least. A client counts the time once per call, but the rate
        per message. Source: `ConsumeRequest.run` of ConsumeMessageConcurrentlyService and ConsumeMessageOrderlyService.
        """
        return self.consume_rt_ms / self.per_call

    @cached_property
    def slowest_ms(self) -> float:
        """The longest response time of messages that were consumed; 0: there is none."""
        return float(np.fmax.reduce(self.consume_rt_ms[self.consumed_tps > 0], initial=0.0))

    @cached_property
    def most_failed_tps(self) -> float:
        """The highest rate of messages that failed; 0: none is known."""
        return float(np.fmax.reduce(self.failed_tps, initial=0.0))


class ResponseTimes(NamedTuple):
    """Response times of one topic at one client, and the usual ones before the step, in milliseconds; None: unknown."""

    consume_rt_ms: float
    pull_rt_ms: float
    usual_consume_rt_ms: float
    usual_pull_rt_ms: float | None


@cached_with_value
def status_samples(client: ClientHistory) -> StatusSamples:
    """The measures of all snapshots."""
    statuses = client.samples.statuses
    counts = [len(topic_statuses) if topic_statuses else 0 for topic_statuses in statuses]
    rows = list(chain.from_iterable(topic_statuses for topic_statuses in statuses if topic_statuses))
    # Column by column: numpy reads a tuple of numbers faster than a list of rows.
    names, *columns = zip(*rows, strict=True) if rows else ((),) * len(ConsumeStatus._fields)
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    consume_rt, consumed, failed, pull_rt, pulled = (np.array(column, dtype=np.float64) for column in columns)
    snapshot = np.repeat(np.arange(len(counts)), counts)
    return StatusSamples(
        snapshot,
        np.fromiter(map(codes.__getitem__, names), np.int64, len(names)),
        list(codes),
        consume_rt,
        consumed + failed,
        failed,
        pull_rt,
        pulled,
        _most_per_call(client.series)[snapshot],
    )


def rows_in(client: ClientHistory, start: int, end: int) -> Numbers:
    """The rows of its `status_samples` in `[start, end)`, microseconds."""
    seen = client.series.inside(start, end)
    return np.arange(*status_samples(client).snapshot.searchsorted((seen.start, seen.stop)))


def rows_of(client: ClientHistory, topic: str, start: int, end: int) -> Numbers:
    """Those of them about the topic."""
    samples, rows = status_samples(client), rows_in(client, start, end)
    number = samples.topics.index(topic) if topic in samples.topics else -1
    return np.asarray(rows[samples.topic[rows] == number])


def _most_per_call(series: Series[ClientState]) -> Numbers:
    """Per snapshot the messages that one call of the listener gets at most."""
    most = [
        most_per_call(state.consume_batch_size, state.pull_batch_size, state.consume_orderly) for state in series.states
    ]
    return np.array(most, np.int64)[series.codes]


def busy_threads(samples: StatusSamples, snapshots: int) -> Floats:
    """Per snapshot the threads that its messages keep busy, at least: time of a message × rate, over all topics; NaN is
    unknown. The rate is what it pulls, if that is more than it consumes: a busy listener consumes no faster.
    """
    busy = samples.message_ms * np.maximum(samples.consumed_tps, samples.pull_tps) / 1000
    return np.bincount(samples.snapshot, weights=busy, minlength=snapshots).astype(np.float64, copy=False)


def saturated(client: ClientHistory, thresholds: Thresholds) -> Iterator[tuple[int, BusyClient]]:
    """The snapshots (by number) in which nearly all of the client's threads were busy."""
    states, codes = client.series.states, client.series.codes
    threads = np.array([state.consume_threads or 0 for state in states], dtype=np.int64)[codes]
    most = np.array([_most_at_once(state) for state in states])[codes]
    busy = np.minimum(busy_threads(status_samples(client), len(threads)), most)
    enough = (threads > 0) & (busy * 100 >= threads * thresholds.busy_percent)
    for number in np.flatnonzero(enough).tolist():
        statuses = client.samples.statuses[number]
        if statuses is not None:
            response_times = _busiest_response_times(statuses)
            # Long calls that end in one minute count for more threads than there are.
            at_once = min(float(busy[number]), float(threads[number]))
            yield number, BusyClient(at_once, int(threads[number]), *response_times)


def _most_at_once(state: ClientState) -> float:
    """Threads that can be busy: in order, one for each queue that it holds (`ConsumeMessageOrderlyService`)."""
    if not state.consume_orderly or state.owned is None:
        return np.inf
    return float(sum(not queue.dropped for queue in state.owned))


def _busiest_response_times(statuses: Sequence[ConsumeStatus]) -> tuple[float | None, float | None]:
    """Consume RT and pull RT of the topic that takes the most threads, of equals the slowest; unknown is below 0."""

    def order(status: ConsumeStatus) -> tuple[float, ...]:
        rt, well, failed, pull_rt, pulled = (-1.0 if value is None else value for value in status[1:])
        return rt * max(well + failed, pulled) / 1000, rt, pull_rt

    busiest = max(statuses, key=order, default=None)
    return (None, None) if busiest is None else (busiest.consume_rt_ms, busiest.pull_rt_ms)


def slowed_listeners(
    client: ClientHistory, window: StepWindow, settings: AuditSettings
) -> Iterator[tuple[str, list[Span[ResponseTimes]]]]:
    """Per topic the snapshots, in the step or its warm-up, that show a slower listener.

    A client that consumed nothing repeats an older response time (ConsumerStatsManager.getConsumeRT): unknown.
    The usual time is the median before the step, whenever the listener began to be slow; if it consumed nothing then,
    that of its first `verdict_window_seconds`.
    """
    samples, thresholds = status_samples(client), settings.thresholds
    if samples.slowest_ms < thresholds.slow_rt_ms:
        return
    rows = rows_in(client, window.read_from, window.end)
    rows = rows[samples.consumed_tps[rows] > 0]
    if not rows.size:
        return
    rows = rows[np.argsort(samples.topic[rows], kind="stable")]
    for topic_rows in np.split(rows, np.flatnonzero(np.diff(samples.topic[rows])) + 1):
        times = client.series.times[samples.snapshot[topic_rows]]
        first_seconds = int(times[0]) + thresholds.verdict_window_seconds * SECOND
        is_before = times < (window.start if times[0] < window.start else first_seconds)
        usual = (
            _median(samples.consume_rt_ms[topic_rows[is_before]]),
            _median(samples.pull_rt_ms[topic_rows[is_before]]),
        )
        slowed = topic_rows[_is_slowed(samples, topic_rows, usual, thresholds)]
        measured = (samples.consume_rt_ms[slowed].tolist(), samples.pull_rt_ms[slowed].tolist())
        usual_pull = None if np.isnan(usual[1]) else usual[1]
        states = (ResponseTimes(*of_row, usual[0], usual_pull) for of_row in zip(*measured, strict=True))
        shown = zip(samples.snapshot[slowed].tolist(), states, strict=True)
        topic = samples.topics[samples.topic[topic_rows[0]]]
        yield topic, spans_of_snapshots(client, shown, window, settings.max_gap)


def _median(values: Floats) -> float:
    """The median of the known values; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else np.nan


def _is_slowed(samples: StatusSamples, rows: Numbers, usual: tuple[float, float], thresholds: Thresholds) -> Mask:
    """A mask of times in which only consume RT rose: if pull RT rose too, it is rather the machine or the network.

    It must rise even if each call had one message before, and now has as many as it can: calls that fill up take
    longer.
    """
    consume, pull = samples.consume_rt_ms[rows], samples.pull_rt_ms[rows]
    slow, ratio = thresholds.slow_rt_ms, thresholds.rt_rise_ratio
    rose: Mask = (consume >= slow) & (samples.message_ms[rows] >= usual[0] * ratio)
    return rose & ((pull < slow) | (pull < usual[1] * ratio))


def spans_of_snapshots(
    client: ClientHistory, shown: Iterable[tuple[int, State]], window: StepWindow, max_gap: int
) -> list[Span[State]]:
    """The spans, as far as they are observed, of snapshots (by number) that show a state: until the client's next
    snapshot, but no longer than `max_gap`.
    """
    times = [*client.series.moments, window.end]
    spans = (
        Span(max(at, window.observed_from), min(following, at + max_gap, window.end), at, state)
        for snapshot, state in shown
        for at, following in [times[snapshot : snapshot + 2]]
    )
    return [span for span in spans if span.start < span.end]
