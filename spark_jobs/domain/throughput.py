"""How many messages a second a client can consume, by what it says of itself (its running info).

Its listener: every consume thread takes one batch at a time, so it is threads × messages per batch ÷ response time
(Little's law). Its pulls: each queue is pulled by one request after the other. A queue of an orderly consumer is
consumed by one thread at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.consume_statuses import StatusReadings, status_readings
from spark_jobs.domain.history import ClientHistory, ClientState
from spark_jobs.domain.series import Series
from spark_jobs.domain.window import SECOND

Numbers = NDArray[np.float64]
Times = NDArray[np.int64]
#: A broker hands out no more messages at once, whatever is asked for; it can be configured.
#: Source: MessageStoreConfig.maxTransferCountOnMessageInMemory, DefaultMessageStore.isTheBatchFull.
BROKER_BATCH = 32
#: What a client says is the average of the minute before (StatsItem.getStatsDataInMinute): of its middle.
_MIDDLE = 30 * SECOND
#: A pull is measured in whole milliseconds, and none takes no time at all.
_SHORTEST_PULL_MS = 1.0


class ConsumeSettings(NamedTuple):
    """What decides how fast a client can consume. `threads`: the core size of its pool, whose queue is unbounded, so no
    more ever run (ConsumeMessageConcurrentlyService); messages of one call of the listener, and of one pull;
    milliseconds between two pulls of a queue.
    """

    threads: int
    consume_batch: int
    pull_batch: int
    pull_interval_ms: int
    orderly: bool

    @property
    def pulled(self) -> int:
        """Messages that one pull brings at most."""
        return min(self.pull_batch, BROKER_BATCH)

    @property
    def batch(self) -> int:
        """Messages that the listener gets at most. Concurrent consumers split what one pull brought; orderly ones take
        from all that is cached (ProcessQueue.takeMessages).
        """
        return self.consume_batch if self.orderly else min(self.consume_batch, self.pulled)


def settings_of(state: ClientState) -> ConsumeSettings | None:
    """None: the client does not say all of it."""
    threads, batch, pull_batch = state.consume_threads, state.consume_batch_size, state.pull_batch_size
    interval, orderly = state.pull_interval_ms, state.consume_orderly
    if not threads or not batch or not pull_batch or interval is None or orderly is None:
        return None
    return ConsumeSettings(threads, batch, pull_batch, interval, orderly)


@dataclass(frozen=True)
class Changes:
    """Settings that a client would have instead; None: its own. `threads_times`: so many times the threads;
    `response_ms`: of one batch.
    """

    threads: int | None = None
    threads_times: int | None = None
    pull_batch: int | None = None
    pull_interval_ms: int | None = None
    response_ms: float | None = None

    def over(self, others: Changes) -> Changes:
        """These, and the others where these leave it open."""
        return replace(others, **{name: value for name, value in vars(self).items() if value is not None})

    def of(self, settings: ConsumeSettings) -> ConsumeSettings:
        """The settings with these instead."""
        new = {name: vars(self)[name] for name in ("threads", "pull_batch", "pull_interval_ms")}
        changed = settings._replace(**{name: value for name, value in new.items() if value is not None})
        return changed._replace(threads=changed.threads * (self.threads_times or 1))


AS_SET = Changes()


class Rates(NamedTuple):
    """Messages a second at each time that was asked for: of the client's listener, and of each of its queues, by its
    pulls and, of an orderly consumer, by its one thread. `inf`: the listener takes no time.
    """

    listener: Numbers
    queue: Numbers

    def of_queues(self, queues: int) -> Numbers:
        """Of a member with so many queues that all have messages."""
        return np.minimum(self.listener, self.queue * queues)


class Minutes(NamedTuple):
    """Milliseconds that something took on average in a minute that ended at a time (microseconds), in their order."""

    times: Times
    took_ms: Numbers

    def inside(self, start: int, end: int) -> Minutes:
        """Those that ended in `[start, end)`."""
        rows = slice(*np.searchsorted(self.times, (start, end)).tolist())
        return Minutes(self.times[rows], self.took_ms[rows])


@dataclass(frozen=True)
class Throughput:
    """What one client told over some time: its settings, how long its listener took for a batch (`responses`, of the
    minutes in which it consumed), and a pull that found messages (`pulls`).
    """

    said: Series[ConsumeSettings]
    responses: Minutes
    pulls: Minutes

    @property
    def pull_ms(self) -> float:
        """How long a pull takes: the median."""
        return (
            max(float(np.median(self.pulls.took_ms)), _SHORTEST_PULL_MS) if len(self.pulls.times) else _SHORTEST_PULL_MS
        )

    def between(self, start: int, end: int) -> Throughput | None:
        """What it told in `[start, end)`; None: not enough."""
        responses, rows = self.responses.inside(start, end), self.said.inside(start, end)
        if not len(responses.times) or rows.start == rows.stop:
            return None
        said = Series(self.said.times[rows], self.said.codes[rows], self.said.states)
        return Throughput(said, responses, self.pulls.inside(start, end))

    def rates(self, times: Times, changes: Changes = AS_SET) -> Rates:
        """Between two minutes of which the response time is known it goes from one to the other, and before the first
        and after the last it stays.
        """
        places = np.searchsorted(self.said.times, times, side="right") - 1
        codes = self.said.codes[np.maximum(places, 0)]
        of_states = [changes.of(one) for one in self.said.states]
        threads, batch, pulled, interval, orderly = (
            np.array(column, float)[codes]
            for column in zip(
                *((one.threads, one.batch, one.pulled, one.pull_interval_ms, one.orderly) for one in of_states),
                strict=True,
            )
        )
        response = np.interp(times, self.responses.times - _MIDDLE, self.responses.took_ms)
        if changes.response_ms is not None:
            response = np.full(len(times), changes.response_ms)
        with np.errstate(divide="ignore"):
            thread = batch * 1000 / response
        pulls = pulled * 1000 / (interval + self.pull_ms)
        return Rates(threads * thread, np.where(orderly > 0, np.minimum(pulls, thread), pulls))


def throughputs(clients: Mapping[str, ClientHistory], start: int, end: int) -> dict[str, Throughput]:
    """By client id, of the snapshots in `[start, end)` (microseconds); without those that told too little."""
    found = {}
    for client_id, client in clients.items():
        told = throughput(client)
        cut = told.between(start, end) if told else None
        if cut is not None:
            found[client_id] = cut
    return found


def throughput(client: ClientHistory) -> Throughput | None:
    """Of all its snapshots; None: it never said its settings, or never consumed. Kept, as every step asks for it.

    The response time is that of all topics together, by how many messages each has, as they share the threads. In a
    minute without messages a client repeats an older one (ConsumerStatsManager.getConsumeRT): that is none.
    """
    known: tuple[Throughput | None] | None = vars(client).get("_throughput")
    if known is None:
        known = vars(client)["_throughput"] = (_throughput(client),)
    return known[0]


def _throughput(client: ClientHistory) -> Throughput | None:
    said, readings, series = _said(client.series), status_readings(client), client.series
    weight = np.where(np.isnan(readings.consume_rt_ms), 0, np.nan_to_num(readings.consumed_tps))
    messages = np.bincount(readings.snapshot, weight, len(series.times))
    measured = np.flatnonzero(messages > 0)
    if said is None or not measured.size:
        return None
    took = np.bincount(readings.snapshot, np.nan_to_num(readings.consume_rt_ms) * weight, len(series.times))
    return Throughput(
        said, Minutes(series.times[measured], took[measured] / messages[measured]), _pulls(client, readings)
    )


def _said(series: Series[ClientState]) -> Series[ConsumeSettings] | None:
    of_states = [settings_of(state) for state in series.states]
    states = list(dict.fromkeys(one for one in of_states if one is not None))
    codes = np.array([-1 if one is None else states.index(one) for one in of_states], np.int64)[series.codes]
    told = codes >= 0
    return Series(series.times[told], codes[told], states) if told.any() else None


def _pulls(client: ClientHistory, readings: StatusReadings) -> Minutes:
    """How long pulls took, without the time in which the broker held them because the queue was empty (long polling): a
    queue that is pulled for every message waits until the next one comes.
    """
    pulled = np.flatnonzero((readings.pull_tps > 0) & ~np.isnan(readings.pull_rt_ms))
    rows = zip(readings.snapshot[pulled].tolist(), readings.topic[pulled].tolist(), strict=True)
    told = [(client.series.states[client.series.codes[snapshot]], readings.topics[topic]) for snapshot, topic in rows]
    queues = np.array(
        [sum(one.topic == topic and not one.dropped for one in state.owned or ()) for state, topic in told]
    )
    intervals = np.array([state.pull_interval_ms or 0 for state, _ in told])
    held = np.maximum(queues * 1000 / readings.pull_tps[pulled] - intervals, 0)
    times = client.series.times[readings.snapshot[pulled]]
    return Minutes(times, np.maximum(readings.pull_rt_ms[pulled] - held, 0))
