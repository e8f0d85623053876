"""Members that cannot fetch what comes: their threads are idle, and they have nothing in hand, or few messages."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.consume_statuses import busy_threads, rows_of, status_samples
from spark_jobs.domain.kernel.process_queues import process_queue
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import MILLISECOND, SECOND

#: Threads are idle if so many percent of them, at most, are busy.
_IDLE_PERCENT = 50
#: A queue is pulled without a pause if pulls take such a part of the time. One that finds messages brings one at least.
_PULLING = 0.5

#: A broker skips most messages if the offsets advance by so many times what members consume, at least.
_SKIPPED = 10
#: A pull that finds messages takes no such time: without one, a broker holds it for 20 s at most, then answers.
_UNANSWERED_MS = 20_000


class Pulled(NamedTuple):
    """Messages that a pull of one queue brings, milliseconds that it takes, and until the next one (pullInterval)."""

    per_pull: float
    pull_rt_ms: float
    pull_interval_ms: float = 0.0


def pulls_are_limit(step: AuditedStep, client_id: str, queue: MessageQueue, start: int, end: int) -> Pulled | None:
    """Messages and time of a pull, if nothing else keeps the owner from consuming a queue with a backlog in
    `[start, end)`, microseconds; None: something else may, or its reports do not show it.

    Each queue is pulled by one request after the other, so a pull brings rate × time until the next one ÷ queues: less
    than one message, if the client takes its time between two pulls.
    """
    client = step.history.clients.get(client_id)
    seen = client.series.inside(start, end) if client else slice(0)
    if client is None or seen.start == seen.stop or not _are_threads_idle(client, seen):
        return None
    process = process_queue(client, queue, start, end)
    known = process.cached_count[process.cached_count != UNKNOWN]
    pulled = _pulled(client, seen, queue.topic)
    if pulled is None or pulled.per_pull < _PULLING or not len(known):
        return None
    pulled = pulled._replace(per_pull=max(pulled.per_pull, 1.0))
    return pulled if np.median(known) < pulled.per_pull + 1 else None


def are_unanswered(step: AuditedStep, client_id: str, queue: MessageQueue, start: int, end: int) -> bool:
    """Return whether the broker leaves pulls of a queue with a backlog in `[start, end)` without an answer: nothing is
    in hand, and some last pull is so much older than others. One that finds messages is answered at once; the client
    gives up after 30 s (`DefaultMQPushConsumer.consumerTimeoutMillisWhenSuspend`).
    """
    client = step.history.clients.get(client_id)
    if client is None:
        return False
    samples = process_queue(client, queue, start, end)
    ages = samples.times // MILLISECOND - samples.last_pull
    is_idle = len(ages) > 0 and bool((samples.last_pull > 0).all()) and not np.median(samples.cached_count)
    return is_idle and int(ages.max() - ages.min()) >= _UNANSWERED_MS


def skipped(
    step: AuditedStep, client_ids: Iterable[str], topic: str, start: int, end: int
) -> tuple[float, float] | None:
    """Messages a second that all members consume of a topic in `[start, end)`, microseconds, and by which its offsets
    advance, if they have little to do, and the broker skips most of what they ask for; None: not so, or not reported.
    """
    consumed, samples = 0.0, step.history.offsets[topic]
    for client_id in client_ids:
        client = step.history.clients.get(client_id)
        rows = rows_of(client, topic, start, end) if client else ()
        if client is None or not len(rows) or not _are_threads_idle(client, client.series.inside(start, end)):
            return None
        consumed += float(np.mean(status_samples(client).consumed_tps[rows]))
    advanced = float(samples.forward[samples.inside(start, end)][1:].clip(0).sum()) * SECOND / (end - start)
    return (consumed, advanced) if 0 < consumed * _SKIPPED <= advanced else None


def has_few_in_hand(step: AuditedStep, finding: Finding) -> bool:
    """Return whether a finding's client had messages for at most half of its threads, and any, in most snapshots of its
    time. Not of an orderly one: a queue takes one thread. Nor if it counts MiB without a message: its count is wrong.
    """
    client, few = step.history.clients.get(finding.client_id or ""), list[bool]()
    if client is None:
        return False
    for number in range(len(client.series.times))[client.series.inside(finding.started_at, finding.ended_at)]:
        state, rows = client.series.states[client.series.codes[number]], slice(*client.samples.offsets[number:][:2])
        cached, mib = client.samples.cached_count[rows], client.samples.cached_mib[rows]
        if state.consume_orderly is not False or (cached == UNKNOWN).any() or (mib[cached == 0] > 0).any():
            return False
        few.append(0 < int(cached.sum()) * 100 <= (state.consume_threads or 0) * _IDLE_PERCENT)
    return len(few) < 2 * sum(few)


def _are_threads_idle(client: ClientHistory, seen: slice) -> bool:
    threads = [state.consume_threads for state in client.series.at(seen) if state.consume_threads]
    busy = busy_threads(status_samples(client), len(client.series.times))[seen]
    known = busy[~np.isnan(busy)]
    return bool(threads and len(known) and np.median(known) * 100 <= min(threads) * _IDLE_PERCENT)


def _pulled(client: ClientHistory, seen: slice, topic: str) -> Pulled | None:
    """Messages and time of a pull on average; None: the client does not report its pulls of the topic."""
    rates = [
        (status.pull_tps, status.pull_rt_ms, state.pull_interval_ms or 0, queues)
        for statuses, state in zip(client.samples.statuses[seen], client.series.at(seen), strict=True)
        for status in statuses or ()
        if status.topic == topic and status.pull_tps and status.pull_rt_ms
        for queues in [sum(own.topic == topic and not own.dropped for own in state.owned or ())]
        if queues
    ]
    if not rates:
        return None
    tps, rt_ms, interval_ms, queues = (float(np.median(column)) for column in zip(*rates, strict=True))
    return Pulled(tps * (rt_ms + interval_ms) / 1000 / queues, rt_ms, interval_ms)
