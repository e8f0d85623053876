"""What listeners reject: as clients measured it, and as the retry and dead-letter topics show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.consume_statuses import held, status_readings
from spark_jobs.domain.history import UNKNOWN, ClientHistory
from spark_jobs.domain.series import Span
from spark_jobs.domain.subscriptions import DEAD_LETTERS, RETRY
from spark_jobs.domain.window import AuditSettings, StepWindow


class FailureRate(NamedTuple):
    """Of one client and topic over the client's last minute: messages a second, and the share that was rejected."""

    failed_per_second: float
    consumed_per_second: float
    failed_percent: float


class SentBack(NamedTuple):
    """Messages that the group sent to its retry topic in a step, and that it consumed of its other topics (None: it
    never committed there).
    """

    sent_back: int
    consumed: int | None


def failing_listeners(
    client: ClientHistory, window: StepWindow, settings: AuditSettings
) -> Iterator[tuple[str, list[Span[FailureRate]]]]:
    """Per topic the snapshots, in the step or its warm-up, that show a listener which rejects too much.

    Retry topics are left out: what is rejected again was rejected before.
    """
    readings, thresholds = status_readings(client), settings.thresholds
    if not readings.topics:
        return
    seen = client.series.inside(window.read_from, window.end)
    rows = np.arange(*readings.snapshot.searchsorted((seen.start, seen.stop)))
    failed, consumed = readings.failed_tps[rows], readings.consumed_tps[rows]
    # NaN compares false: what is unknown does not fail.
    fails = (failed * 60 >= thresholds.failing_messages) & (failed * 100 >= consumed * thresholds.failing_percent)
    rows = rows[fails]
    for code in np.unique(readings.topic[rows]).tolist():
        if not readings.topics[code].startswith(RETRY):
            spans = []
            for row in rows[readings.topic[rows] == code].tolist():
                failed_tps, tps = float(readings.failed_tps[row]), float(readings.consumed_tps[row])
                rate = FailureRate(failed_tps, tps, failed_tps * 100 / tps)
                spans.append(held(client, int(readings.snapshot[row]), window, settings.max_gap, rate))
            yield readings.topics[code], [span for span in spans if span.start < span.end]


def sent_back(step: AuditedStep) -> tuple[SentBack, list[IntervalProgress]]:
    """What went to the group's retry topic in the step, and the progress of that topic's queues; a queue that is
    unknown counts as nothing.
    """
    of_retry = [one for one in step.progress if one.interval.topic.startswith(RETRY)]
    others = [one for one in step.progress if one.interval.is_ordinary]
    consumed = [_known(one.consumed) for one in others if (one.consumed != UNKNOWN).any()]
    return SentBack(sum(_known(one.produced) for one in of_retry), sum(consumed) if consumed else None), of_retry


def dead_letters(step: AuditedStep) -> Span[int] | None:
    """Messages that were given up in the step, and from when to when (the readings between which the dead-letter topic
    grew); None: nothing is known of that topic, or it did not grow.

    After `maxReconsumeTimes` (16) the broker moves a message to `%DLQ%` + group (`SendMessageProcessor`).
    """
    readings, window = step.history.topics.get(DEAD_LETTERS + step.history.consumer_group), step.window
    if readings is None:
        return None
    rows = readings.inside(window.read_from, window.end)
    times, offsets = readings.times[rows], readings.max_offset[rows]
    grown = np.where((offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN), offsets[1:] - offsets[:-1], 0)
    more = np.maximum(grown, 0).sum(axis=1) * (times[1:] >= window.start)
    growing = np.flatnonzero(more)
    if not growing.size:
        return None
    first, last = int(times[growing[0]]), int(times[growing[-1] + 1])
    return Span(max(first, window.start), max(last, window.start + 1), last, int(more.sum()))


def _known(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    return int(values[values != UNKNOWN].sum())
