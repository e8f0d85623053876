"""Messages that listeners reject and that do not come back: their broker does not deliver what is delayed, or puts a
part of them into a queue that nobody reads.

A concurrent listener's client sends what it rejects back to its broker, which delays it by 10 s at first
(`ConsumeMessageConcurrentlyService.sendMessageBack`, `SendMessageProcessor.consumerSendMsgBack`). It also sends back
what takes longer than `consumeTimeout`, while the listener continues with it (`ProcessQueue.cleanExpiredMsg`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import rows_in, status_samples
from spark_jobs.domain.kernel.sample_pairs import SamplePairs, sample_pairs
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, UNKNOWN, ClientHistory, Numbers, Place
from spark_jobs.domain.model.window import MINUTE, SECOND, Time, common

NOT_RETRIED, RETRIED_IN_PART, MISSED = "NOT_RETRIED", "RETRIED_IN_PART", "MISSED"
#: So many messages are missing at least, and such a part of those that failed: rates are averages.
_MESSAGES, _PART = 30, 0.1
#: The part of what fails that comes back where all does, and at most where some does not; windows that show the latter
#: after one of the former, and by themselves.
_ALL, _SOME, _WINDOWS, _ALONE = 0.9, 0.75, 2, 6
#: Where so many times more fails than before, what comes back may only be delayed.
_RISES = 1.5


def not_retried(step: AuditedStep, given_up: int) -> Iterator[RuleHit]:
    """One per (queue of the retry topic, member that rejects messages), while some of these do not come back and are
    not `given_up`: messages. NOT_RETRIED of brokers to which none come; without such a broker RETRIED_IN_PART.
    """
    topic = RETRY + step.history.consumer_group
    samples, clients = step.history.offsets.get(topic), step.history.clients.values()
    if samples is None or not any(status_samples(client).most_failed_tps for client in clients):  # as mostly
        return
    pairs = sample_pairs(samples, samples.of_step(step.window, step.settings.max_gap))
    for cause, lacking in list(_of_brokers(step, pairs, given_up)) or _of_all(step, pairs, given_up):
        for client_id in sorted(lacking.client_ids):
            for place in lacking.queues:
                yield RuleHit(
                    *(*lacking.time, cause, topic),
                    queue=FindingQueue(topic, *place, MISSED),
                    implicated=client_id,
                    weight=lacking.messages,
                    measures={"not_retried": lacking.messages},
                )


class _Lacking(NamedTuple):
    """Messages that members rejected in a time and that did not come back to queues of the retry topic."""

    time: Time
    queues: Sequence[Place]
    client_ids: Collection[str]
    messages: float


def _of_brokers(step: AuditedStep, pairs: SamplePairs, given_up: int) -> Iterator[tuple[str, _Lacking]]:
    """Those of each broker whose queues had messages and get none, while more fail than come back to any broker."""
    places = pairs.samples.queues
    for broker in sorted({name for name, _ in places}):
        columns = np.array([column for column, (name, _) in enumerate(places) if name == broker])
        for start, end, came_back in _pauses(step, pairs, columns):
            owners = _owners(step, broker, (start, end))
            # What was rejected in the last minutes may be due later: a listener can ask for a longer delay.
            due = _failed(step, (start, end - step.settings.thresholds.verdict_window_seconds * SECOND))
            if _missing(due, owners, came_back + given_up) < max(_MESSAGES, _PART * sum(due.values())):
                continue
            missing = _missing(_failed(step, (start, end)), owners, came_back + given_up)
            failing = [owner for owner in owners if due.get(owner)]
            yield NOT_RETRIED, _Lacking((start, end), [places[column] for column in columns], failing, missing)


def _of_all(step: AuditedStep, pairs: SamplePairs, given_up: int) -> Iterator[tuple[str, _Lacking]]:
    """Those of all queues, from the window (`verdict_window_seconds`) on after which not all of it comes back, to the
    next one in which all does; or of the whole step, if all windows of half an hour and more show it.

    A broker puts what is sent back into one of the group's `retryQueueNums` queues (`AbstractSendMessageProcessor.
    consumerSendMsgBack`); the retry topic may have fewer (RocketMQ issue #3953).
    """
    for time in _in_part(step, pairs):
        failed = _failed(step, time, with_retries=True)
        missing = sum(failed.values()) - _came_back(step, pairs, time)[0] - given_up
        if missing >= max(_MESSAGES, _PART * sum(failed.values())):
            failing = [client_id for client_id, messages in failed.items() if messages]
            yield RETRIED_IN_PART, _Lacking(time, pairs.samples.queues, failing, missing)


def _in_part(step: AuditedStep, pairs: SamplePairs) -> Iterator[Time]:
    """The times in which at most `_SOME` of what fails comes back, and no more fails than in the window before them."""
    if not len(pairs.times):
        return
    last = min(int(pairs.times[-1]) + step.settings.max_gap, step.window.end)
    length = step.settings.thresholds.verdict_window_seconds * SECOND
    seen = []
    for start in range(step.window.start, last - length + 1, length):
        failed = sum(_failed(step, (start, start + length), with_retries=True).values())
        back, has_gap = _came_back(step, pairs, (start, start + length))
        if failed >= _MESSAGES and not has_gap:
            seen.append((start, failed, back))
    complete = [number for number, (_, failed, back) in enumerate(seen) if back >= _ALL * failed]
    for before, after in pairwise([*(complete or [-1] * (len(seen) >= _ALONE)), len(seen)]):
        between, is_alone = seen[before + 1 : after], before < 0
        short = sum(back <= _SOME * failed for _, failed, back in between)
        usual = seen[max(before, 0)][1]
        rises = max((failed for _, failed, _ in between), default=0) > _RISES * usual
        if short >= (len(between) if is_alone else _WINDOWS) and not rises:
            since = step.window.start if is_alone else seen[before][0] + length
            yield since, seen[after][0] if after < len(seen) else last


def _came_back(step: AuditedStep, pairs: SamplePairs, time: Time) -> tuple[int, bool]:
    """The messages that came to the retry topic in the time, and whether samples are missing there."""
    rows = (pairs.times > time[0]) & (pairs.times <= time[1])
    is_after_gap = np.diff(pairs.times, prepend=pairs.times[:1]) > step.settings.max_gap
    return int(np.maximum(pairs.produced[rows], 0).sum()), bool(is_after_gap[rows].any())


def _pauses(step: AuditedStep, pairs: SamplePairs, columns: Numbers) -> Iterator[tuple[int, int, int]]:
    """The times (microseconds) of `verdict_window_seconds` in which none came to these queues, of which one had
    messages, from sample to sample or to the step's end; and the messages that came to all queues meanwhile.
    """
    produced, end_offset = pairs.produced[:, columns], pairs.samples.end_offset[pairs.rows][:, columns]
    known = np.flatnonzero((produced != UNKNOWN).all(axis=1))
    arrivals = known[(produced[known] > 0).any(axis=1)]
    for first, last in pairwise(np.unique([*known[:1], *arrivals, *known[-1:]]).tolist()):
        start, end = int(pairs.times[first]), int(pairs.times[last])
        if last not in arrivals:
            end = min(end + step.settings.max_gap, step.window.end)
        is_long = end - start >= step.settings.thresholds.verdict_window_seconds * SECOND
        if is_long and (end_offset[first] > 0).any():
            yield start, end, int(np.maximum(pairs.produced[first + 1 : last], 0).sum())


def _owners(step: AuditedStep, broker: str, time: Time) -> set[str]:
    """The members that own queues of the broker's ordinary topics at any time of it."""
    of_time = (each for each in step.progress if each.interval.is_ordinary and common((each.start, each.end), time))
    of_broker = ((each, place) for each in of_time for place, (name, _) in enumerate(each.queues) if name == broker)
    return {client_id for each, place in of_broker for client_id in each.owner_ids(place) if client_id is not None}


def _failed(step: AuditedStep, time: Time, *, with_retries: bool = False) -> Mapping[str, float]:
    """By client id, the messages of ordinary topics, or of retry topics, too, that concurrent listeners rejected in the
    time, by the rates that they report of minutes in it.
    """
    start, end = time
    failed = dict[str, float]()
    for client_id, client in step.history.clients.items():
        reports = client.series.inside(start + MINUTE, end)
        if not client.consumes_orderly and reports.start < reports.stop:
            rate = _failed_tps(client, start + MINUTE, end, with_retries) / (reports.stop - reports.start)
            failed[client_id] = rate * (end - start) / SECOND
    return failed


def _failed_tps(client: ClientHistory, start: int, end: int, with_retries: bool) -> float:
    """The sum of the rates of all its reports in the time."""
    samples, rows = status_samples(client), rows_in(client, start, end)
    is_counted = np.array([with_retries or not topic.startswith(RETRY) for topic in samples.topics], bool)
    return float(np.nansum(samples.failed_tps[rows][is_counted[samples.topic[rows]]]))


def _missing(failed: Mapping[str, float], owners: set[str], came_back: int) -> float:
    """Messages that owners rejected, and of those that all members did, no more than did not come back."""
    of_owners = sum(messages for client_id, messages in failed.items() if client_id in owners)
    return min(of_owners, sum(failed.values()) - came_back)


MINUTE_MS = 60_000


class Reported(NamedTuple):
    """Reports of a group's clients in a step's window. `longest_ms`: by client id, the longest response time of its
    listener (an average of a minute), NaN: unknown; `fails`: any reports a failed message; `slow`: by client id, the
    longest response time (ms) of a listener, and its timeout (minutes), which it exceeds.
    """

    longest_ms: Mapping[str, float]
    fails: bool
    slow: Mapping[str, tuple[float, int]]


def reported(step: AuditedStep) -> Reported:
    """The reports of the group's listeners."""
    longest, fails, slow = dict[str, float](), False, dict[str, tuple[float, int]]()
    for client_id, client in sorted(step.history.clients.items()):
        samples, rows = status_samples(client), rows_in(client, step.window.read_from, step.window.end)
        if len(rows):
            longest[client_id] = float(np.fmax.reduce(samples.consume_rt_ms[rows]))
        fails = fails or bool((samples.failed_tps[rows] > 0).any())
        excess = [
            (float(samples.consume_rt_ms[row]), minutes)
            for row in rows.tolist()
            for state in [client.series.states[client.series.codes[samples.snapshot[row]]]]
            for minutes in [None if state.consume_orderly else state.consume_timeout_minutes]
            if minutes is not None and samples.consume_rt_ms[row] > minutes * MINUTE_MS
        ]
        if excess:
            slow[client_id] = max(excess)
    return Reported(longest, fails, slow)
