"""How many messages a second a client can consume, by its running info.

Its listener: every consume thread takes one batch at a time, so it is threads × messages per batch ÷ response time
(Little's law). Its pulls: each queue is pulled by one request after the other. A queue of an orderly consumer is
consumed by one thread at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.consume_statuses import StatusSamples, status_samples
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import BROKER_BATCH, most_per_call
from spark_jobs.domain.model.history import ClientHistory, ClientState, Floats, Numbers
from spark_jobs.domain.model.series import Series, Timed
from spark_jobs.domain.model.window import SECOND

#: A client reports averages over the last minute (StatsItem.getStatsDataInMinute): they stand for its middle.
_MIDDLE = 30 * SECOND
#: Pulls that take so many times longer, or shorter, than the median are not just uneven.
_CHANGED = 3
#: A pull is measured in whole milliseconds, and none takes no time at all.
_SHORTEST_PULL_MS = 1.0


class ConsumeSettings(NamedTuple):
    """The settings that decide how fast a client can consume. `threads`: the core size of its pool, whose queue is
    unbounded, so no more ever run (ConsumeMessageConcurrentlyService); messages of one call of the listener, and of one
    pull; milliseconds between two pulls of a queue.
    """

    threads: int
    consume_batch: int
    pull_batch: int
    pull_interval_ms: int
    orderly: bool

    @property
    def numbers(self) -> tuple[float, ...]:
        """The threads, the most messages of a call of the listener and of a pull, milliseconds between two pulls, and 1
        if it is orderly.
        """
        batch = most_per_call(self.consume_batch, self.pull_batch, self.orderly)
        return self.threads, batch, min(self.pull_batch, BROKER_BATCH), self.pull_interval_ms, self.orderly


def settings_of(state: ClientState) -> ConsumeSettings | None:
    """The settings that a client reports; None: it does not report all of them."""
    threads, batch, pull_batch = state.consume_threads, state.consume_batch_size, state.pull_batch_size
    interval, orderly = state.pull_interval_ms, state.consume_orderly
    if not threads or not batch or not pull_batch or interval is None or orderly is None:
        return None
    return ConsumeSettings(threads, batch, pull_batch, interval, orderly)


@dataclass(frozen=True)
class Changes:
    """Settings that a client would have instead; None keeps its own. `response_ms`: of the listener for one batch."""

    threads: int | None = None
    threads_times: int | None = None
    pull_batch: int | None = None
    pull_interval_ms: int | None = None
    response_ms: float | None = None

    def over(self, defaults: Changes) -> Changes:
        """These changes, and the `defaults` where these keep a client's own setting."""
        return replace(defaults, **{name: value for name, value in vars(self).items() if value is not None})

    def applied_to(self, settings: ConsumeSettings) -> ConsumeSettings:
        """The settings with these changes."""
        if self is AS_SET:
            return settings
        new = {name: vars(self)[name] for name in ("threads", "pull_batch", "pull_interval_ms")}
        changed = settings._replace(**{name: value for name, value in new.items() if value is not None})
        return changed._replace(threads=changed.threads * (self.threads_times or 1))


AS_SET = Changes()


class Rates(NamedTuple):
    """Messages a second that a client can consume, one number per time asked for. `listener`: with all its threads;
    `queue`: of one queue, by its pulls and, for an orderly consumer, its one thread. `inf`: the listener takes no time.
    """

    listener: Floats
    queue: Floats


@dataclass(frozen=True)
class MinuteAverages(Timed):
    """Average milliseconds that something took in the minutes that ended at `times`."""

    took_ms: Floats

    def at(self, rows: slice) -> MinuteAverages:
        """Those of some of these minutes."""
        return MinuteAverages(self.times[rows], self.took_ms[rows])


class MinuteLoads(NamedTuple):
    """Messages a second, per minute: `consumed`, `taken` (or pulled), and taken `per_queue` of the topic with most."""

    consumed: Floats
    taken: Floats
    per_queue: Floats


@dataclass(frozen=True)
class Throughput:
    """One client's reports over some time: its `settings`; for the minutes in which it consumed, how long its listener
    took for a batch (`responses`) and its `loads`; and how long pulls that found messages took (`pulls`).
    """

    settings: Series[ConsumeSettings]
    responses: MinuteAverages
    loads: MinuteLoads
    pulls: MinuteAverages

    @cached_property
    def pull_ms(self) -> float:
        """The median of how long a pull takes, in milliseconds, 1 at least."""
        took = self.pulls.took_ms.tolist()
        return max(median(took), _SHORTEST_PULL_MS) if took else _SHORTEST_PULL_MS

    @property
    def response_ms(self) -> float:
        """How long the listener takes for a batch, in milliseconds, on average over all messages."""
        messages = self.loads.consumed
        return float(self.responses.took_ms @ messages / messages.sum())

    def between(self, start: int, end: int) -> Throughput | None:
        """The part of its reports in `[start, end)` (microseconds); None: not enough."""
        rows, minutes = self.settings.inside(start, end), self.responses.inside(start, end)
        if minutes.start == minutes.stop or rows.start == rows.stop:
            return None
        settings = Series(self.settings.times[rows], self.settings.codes[rows], self.settings.states)
        loads = MinuteLoads(*(column[minutes] for column in self.loads))
        return Throughput(settings, self.responses.at(minutes), loads, self.pulls.at(self.pulls.inside(start, end)))

    def on_average(self, changes: Changes = AS_SET) -> tuple[float, float]:
        """Messages a second of the listener and of a queue, with the settings that the client reported last."""
        settings = changes.applied_to(self.settings.states[self.settings.codes[-1]])
        response_ms = self.response_ms if changes.response_ms is None else changes.response_ms
        listener, queue = _rates(np.array(settings.numbers, float), np.float64(response_ms), self.pull_ms)
        return float(listener), float(queue)

    @cached_with_value
    def by_minute(self, changes: Changes) -> Rates:
        """The rates in each of the minutes of `responses`."""
        return self.rates(self.responses.times - _MIDDLE, changes)

    def rates(self, times: Numbers, changes: Changes = AS_SET) -> Rates:
        """The rates at these times: response times are interpolated between minutes, and constant before and after."""
        places = np.searchsorted(self.settings.times, times, side="right") - 1
        rows = [changes.applied_to(settings).numbers for settings in self.settings.states]
        numbers = np.array(rows, float)[self.settings.codes[np.maximum(places, 0)]].T
        if changes.response_ms is None:
            response = np.interp(times, self.responses.times - _MIDDLE, self.responses.took_ms)
        else:
            response = np.full(len(times), changes.response_ms)
        return _rates(numbers, response, self._pulls_at(times))

    def _pulls_at(self, times: Numbers) -> Floats | float:
        """How long a pull takes at these times, in milliseconds; its median, unless that changes several times over."""
        took = np.maximum(self.pulls.took_ms, _SHORTEST_PULL_MS)
        if took.max(initial=0) <= _CHANGED * self.pull_ms and self.pull_ms <= _CHANGED * took.min(initial=np.inf):
            return self.pull_ms
        return np.interp(times, self.pulls.times - _MIDDLE, took)


def _rates(settings: Floats, response_ms: Floats | np.float64, pull_ms: Floats | float) -> Rates:
    """The rates with these `ConsumeSettings.numbers`, and milliseconds of the listener for a batch, and of a pull."""
    threads, batch, pulled, interval, orderly = settings
    with np.errstate(divide="ignore"):
        thread = batch * 1000 / response_ms
    pulls = pulled * 1000 / (interval + pull_ms)
    return Rates(threads * thread, np.where(orderly > 0, np.minimum(pulls, thread), pulls))


def throughputs(clients: Mapping[str, ClientHistory], start: int, end: int) -> dict[str, Throughput]:
    """By client id, what clients reported in `[start, end)` (microseconds); without those that reported too little."""
    reported = ((client_id, throughput(client)) for client_id, client in clients.items())
    during = ((client_id, of_client.between(start, end)) for client_id, of_client in reported if of_client)
    return {client_id: of_client for client_id, of_client in during if of_client}


@cached_with_value
def throughput(client: ClientHistory) -> Throughput | None:
    """All that a client reported in its snapshots; None: never its settings, or no consumed message.

    Without messages a client repeats an older response time (ConsumerStatsManager.getConsumeRT): that is none.
    """
    settings = _reported_settings(client.series)
    if settings is None:
        return None
    samples, times = status_samples(client), client.series.times

    def client_sum(topic_numbers: Floats) -> Floats:
        return np.bincount(samples.snapshot, topic_numbers, len(times)).astype(np.float64, copy=False)

    weight = np.where(np.isnan(samples.consume_rt_ms), 0, np.nan_to_num(samples.consumed_tps))
    consumed = client_sum(weight)
    measured = np.flatnonzero(consumed > 0)
    if not measured.size:
        return None
    response_sums = client_sum(np.nan_to_num(samples.consume_rt_ms) * weight)
    taken = np.nan_to_num(np.fmax(samples.consumed_tps, samples.pull_tps))
    queues, taken_per_queue = _queues(client, samples), np.zeros(len(times))
    np.maximum.at(taken_per_queue, samples.snapshot, np.where(queues > 0, taken / np.maximum(queues, 1), 0))
    return Throughput(
        settings,
        MinuteAverages(times[measured], response_sums[measured] / consumed[measured]),
        MinuteLoads(*(rates[measured] for rates in (consumed, client_sum(taken), taken_per_queue))),
        _pulls(client, samples, queues),
    )


def _reported_settings(series: Series[ClientState]) -> Series[ConsumeSettings] | None:
    settings_of_states = [settings_of(state) for state in series.states]
    states = list(dict.fromkeys(settings for settings in settings_of_states if settings is not None))
    code_of_state = [-1 if settings is None else states.index(settings) for settings in settings_of_states]
    codes = np.array(code_of_state, np.int64)[series.codes]
    is_known = codes >= 0
    return Series(series.times[is_known], codes[is_known], states) if is_known.any() else None


def _queues(client: ClientHistory, samples: StatusSamples) -> Floats:
    """Per sample, how many queues of its topic the client owned."""
    queue_counts = [
        Counter(owned.topic for owned in state.owned or () if not owned.dropped) for state in client.series.states
    ]
    table = np.array([[topic_counts[topic] for topic in samples.topics] for topic_counts in queue_counts], float)
    return np.asarray(table[client.series.codes[samples.snapshot], samples.topic])


def _pulls(client: ClientHistory, samples: StatusSamples, queues: Floats) -> MinuteAverages:
    """How long pulls took, without the time in which the broker held them (long polling)."""
    pulled = np.flatnonzero((samples.pull_tps > 0) & ~np.isnan(samples.pull_rt_ms))
    snapshots = samples.snapshot[pulled]
    intervals = np.array([state.pull_interval_ms or 0 for state in client.series.states])
    between = intervals[client.series.codes[snapshots]]
    polling_ms = np.maximum(queues[pulled] * 1000 / samples.pull_tps[pulled] - between, 0)
    return MinuteAverages(client.series.times[snapshots], np.maximum(samples.pull_rt_ms[pulled] - polling_ms, 0))
