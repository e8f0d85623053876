"""CONSUMER_LAGGING: a consumer makes progress, and is slower than the producers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

import numpy as np

from spark_jobs.domain.diagnosis.diagnoses import times_of
from spark_jobs.domain.diagnosis.measure import commits_of, pulling_by_hand
from spark_jobs.domain.diagnosis.pulls import Pulled, are_unanswered, pulls_are_limit, skipped
from spark_jobs.domain.diagnosis.scaling import who_left
from spark_jobs.domain.diagnosis.table import StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.client_spans import busy_spans
from spark_jobs.domain.kernel.matrices import runs_of_true
from spark_jobs.domain.kernel.process_queues import process_queue
from spark_jobs.domain.kernel.unseen import is_handed_out
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, Mask, Numbers
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.model.window import SECOND, common, without
from spark_jobs.domain.phrases import count, names_text
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.rules.standing import BEHIND, ON_TOP
from spark_jobs.domain.status.lagging_queues import CATCH_UP_SECONDS
from spark_jobs.domain.status.time_left import COMMIT_SECONDS

FALLING_BEHIND, PULLS, PULLS_BY_HAND = "FALLING_BEHIND", "PULLS", "PULLS_BY_HAND"
PULL_THREADS, UNANSWERED, FILTERED_SLOWLY = "PULL_THREADS", "UNANSWERED", "FILTERED_SLOWLY"
WORKED_OFF_SLOWLY = "WORKED_OFF_SLOWLY"
#: What came at once and waits so long after that is no burst any more; a step of five minutes sees no more.
_LONG = 420 * SECOND
#: `DefaultLitePullConsumer.pullThreadNums` by default: each pull keeps one until it is answered.
_PULL_THREADS = 20


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Hits begin when the lag last fell, was allowed or began to grow, or with the interval. What a consumer has in
    flight goes up and down by a few messages, and by chance only up: the lag must grow by more than the allowed lag. A
    hit of a queue that all members may pop names them, if all are busy then.
    """
    spans = ((progress, span) for progress in step.progress for span in progress.spans if span.verdict == Verdict.WARN)
    growing = (each for each in spans if _grows(step, *each))
    seldom = ((each, commits_of(step, each[0].interval.topic)) for each in growing)
    # Of a topic that is committed seldom, the lag may grow between two commits.
    lagging = (each for each, of_topic in seldom if of_topic is None or not of_topic.keeps_up)
    if not any(len(client.answers.times) for client in step.history.clients.values()):
        yield from chain.from_iterable(_worked_off(step, progress) for progress in step.progress)
    for hit in (hit for progress, span in lagging for hit in _span_hits(step, progress, span)):
        members = _busy_members(step, hit) if hit.implicated is None else ()
        yield from (replace(hit, implicated=client_id) for client_id in members) if members else (hit,)


def _grows(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan) -> bool:
    """Return whether the lag grows by more than the allowed lag, to more than what is consumed between two commits."""
    samples, allowed = step.history.offsets[progress.interval.topic], step.settings.thresholds.allowed_lag
    column = samples.columns[progress.queues[span.place]]
    consumed = samples.forward[samples.inside(span.start, span.end), column].sum() * SECOND / (span.end - span.start)
    return span.lag_last - span.lag_first > allowed and span.lag_last > allowed + consumed * COMMIT_SECONDS


def _worked_off(step: AuditedStep, progress: IntervalProgress) -> Iterator[RuleHit]:
    """One per owner of a queue and time in which a burst is worked off slowly. Clients that report nothing do not say
    that they are busy.
    """
    samples, thresholds = step.history.offsets.get(progress.interval.topic), step.settings.thresholds
    if samples is None or progress.is_filtered:
        return
    seen = samples.inside(step.window.read_from, progress.end)
    times, waits = samples.times[seen], samples.lag[seen] > thresholds.allowed_lag
    is_long = np.diff(times) @ waits[1:] >= _LONG
    if not is_long.any():  # as mostly
        return
    growing = {span.place for span in progress.spans if span.verdict == Verdict.WARN}
    for place, queue in enumerate(progress.queues):
        column = samples.columns.get(queue)
        if column is None or place in growing or not is_long[column]:
            continue
        lag, consumed = samples.lag[seen, column], samples.consumed_to[seen, column]
        stalled = thresholds.stalled_after_seconds * SECOND
        for first, last in _bursts(times, waits[:, column], lag, consumed, stalled):
            start, end = max(int(times[first]), progress.start), int(times[last])
            measures = {"lag_first": int(lag[first]), "lag_last": int(lag[last])}
            for client_id in progress.owner_ids(place) if start < end else ():
                yield RuleHit(
                    *(start, end, WORKED_OFF_SLOWLY, progress.interval.topic),
                    queue=queue_at(progress, place, BEHIND),
                    implicated=client_id,
                    weight=int(lag[first : last + 1].max()),
                    measures=measures,
                )


def _bursts(times: Numbers, waits: Mask, lag: Numbers, consumed: Numbers, stalled: int) -> Iterator[tuple[int, int]]:
    """The first and the last sample of each time of `_LONG` or more in which messages wait in a queue, if these were
    produced in it, are more than it consumes in a minute, and are worked off without a stop (of `stalled`).
    """
    for first, end in runs_of_true(waits):
        within, moves = times[first:end], np.diff(consumed[first:end])
        length, stops = int(within[-1] - within[0]), np.diff(within[[True, *(moves > 0)]], append=within[-1])
        is_burst = first > 0 and int(lag[first:end].max()) * length > moves.sum() * CATCH_UP_SECONDS * SECOND
        if length >= _LONG and is_burst and (moves >= 0).all() and stops.max() < stalled:
            yield first, end - 1


def _span_hits(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan) -> Iterator[RuleHit]:
    """One per owner of the queue and time in which no message holds back its offset."""
    measures = {
        "age_ms": None if span.age_ms == UNKNOWN else span.age_ms,
        "lag_first": span.lag_first,
        "lag_last": span.lag_last,
    }
    queue = MessageQueue(progress.interval.topic, *progress.queues[span.place])
    parts = without((_grows_since(step, queue, span), span.end), times_of(step, StandingCause.HELD_BACK).get(queue, ()))
    for (start, end), client_id in product([*parts], progress.owner_ids(span.place)):
        if start < end:
            cause, pulled = _cause(step, client_id or "", queue, start, end)
            filtered = _filtered(step, progress, start, end) if cause == FALLING_BEHIND else None
            yield RuleHit(
                *(start, end, FILTERED_SLOWLY if filtered else cause, queue.topic),
                queue=queue_at(progress, span.place, BEHIND),
                implicated=client_id,
                minimum_seconds=step.settings.thresholds.stalled_after_seconds,
                weight=span.lag_last,
                measures=measures | (pulled._asdict() if pulled else {}),
                hint=filtered
                or _hint(pulled, is_on_top=is_handed_out(step, progress.interval))
                or who_left(step, start, end),
            )


def _cause(step: AuditedStep, client_id: str, queue: MessageQueue, start: int, end: int) -> tuple[str, Pulled | None]:
    """Why the owner falls behind in the time, and its pulls, if these are the limit."""
    if are_unanswered(step, client_id, queue, start, end):
        return UNANSWERED, None
    if pulled := pulls_are_limit(step, client_id, queue, start, end):
        return PULLS, pulled
    if not any(common((start, end), time) for time in pulling_by_hand(step)):
        return FALLING_BEHIND, None
    is_short = _is_short_of_threads(step.history.clients.get(client_id), queue, start, end)
    return PULL_THREADS if is_short else PULLS_BY_HAND, None


def _filtered(step: AuditedStep, progress: IntervalProgress, start: int, end: int) -> str | None:
    """A sentence on what the group subscribes to, if brokers skip most of what its idle members ask for."""
    topic = progress.interval.topic
    rates = skipped(step, progress.interval.client_ids, topic, start, end) if progress.is_filtered else None
    if rates is None:
        return None
    states = (span.state for of_broker in step.memberships.values() for span in of_broker)
    expressions = {expression for state in states for name, expression in state.subscriptions if name == topic}
    consumed, advanced = rates
    return (
        f"The group subscribes to {names_text(sorted(expressions))}: its members are idle and consume {consumed:,.1f} "
        f"messages a second, while its offsets advance by {advanced:,.0f}."
    )


def _is_short_of_threads(client: ClientHistory | None, queue: MessageQueue, start: int, end: int) -> bool:
    """Return whether a client that pulls by hand has more queues than threads for pulls, and mostly nothing of the
    queue in hand. Source: `DefaultLitePullConsumerImpl.PullTaskImpl`.
    """
    if client is None:
        return False
    cached = process_queue(client, queue, start, end).cached_count
    owned = [len(run.state.owned or ()) for run in client.series.runs(start, end)]
    is_idle = bool(len(cached)) and (cached != UNKNOWN).all() and np.median(cached) < _PULL_THREADS
    return bool(is_idle) and min(owned, default=0) > _PULL_THREADS


def _grows_since(step: AuditedStep, queue: MessageQueue, span: VerdictSpan) -> int:
    """The last sample of a span that shows as little as its first."""
    samples = step.history.offsets[queue.topic]
    rows = samples.inside(span.start, span.end)
    lag = samples.lag[rows, samples.columns[queue[1:]]]
    times: list[int] = samples.times[rows][(lag != UNKNOWN) & (lag <= span.lag_first)].tolist()
    return times[-1] if len(times) > 1 else span.start


def _hint(pulled: Pulled | None, *, is_on_top: bool) -> str | None:
    """Sentences on what a pull brings, on what keeps pulls apart, and on messages that clients hold."""
    hints = [ON_TOP] if is_on_top else []
    if pulled:
        hints.append(f"A pull brings {count(round(pulled.per_pull), 'message')} in {pulled.pull_rt_ms:,.0f} ms.")
    if pulled and pulled.pull_interval_ms > pulled.pull_rt_ms:
        hints.insert(0, f"pullInterval is {pulled.pull_interval_ms:,.0f} ms: set it to 0.")
    return " ".join(hints) or None


def _busy_members(step: AuditedStep, hit: RuleHit) -> Sequence[str]:
    """The members that may pop the topic of a hit in its time, if all of them report that their threads are busy."""
    of_topic = [each for each in step.intervals if each.topic == hit.topic and each.is_shared_out]
    in_time = [each for each in of_topic if each.start < hit.end and hit.start < each.end]
    client_ids = sorted({member.client_id for each in in_time for member in each.members or ()})
    busy = (busy_spans(step).get(client_id, ()) for client_id in client_ids)
    all_busy = all(any(common((span.start, span.end), (hit.start, hit.end)) for span in spans) for spans in busy)
    return client_ids if all_busy else ()


RULE = Rule(
    name="CONSUMER_LAGGING",
    ended="the group no longer fell behind",
    headline="Consumers of {groups} cannot keep up with {queues}",
    meaning="The consumer is slower than the producers. It makes progress, but its lag grows.",
    decided_by="[Verdict](../replay.md#progress-and-verdicts) WARN for `stalled_after_seconds`, in a queue with an "
    "owner, or an unknown one (POP, a proxy, not replayable).",
    causes={
        FALLING_BEHIND: Cause(
            "the lag stays above `allowed_lag`, and grows by more than that",
            "Look whether all consume threads are busy (response time, `mqadmin consumerStatus`). If so, make the "
            "listener faster or give the client more threads; `status` answers whether more consumers would have "
            "helped. If not, look for slow pulls.",
        ),
        PULLS: Cause(
            "the same, while at most half of the owner's threads are busy, and it has at most one pull's messages of "
            "the queue in hand",
            "Pulls bring less than comes, so more consumers or threads do not help. Small pulls (`per_pull`) come from "
            "the broker's disk, from large messages (a broker sends 256 KiB at once, 64 KiB from its disk: "
            "maxTransferBytesOnMessageInMemory, …InDisk), or from a small pullBatchSize. Add queues, read from a "
            "slave, or lower pullInterval.",
        ),
        UNANSWERED: Cause(
            "the same, while the owner has nothing of the queue in hand, and its last pull is at times 20 s old",
            "The broker leaves pulls of these queues without an answer: the client waits 30 s for one "
            "(consumerTimeoutMillisWhenSuspend), and pulls again. Look in its log for pulls that time out, and at the "
            "broker and the network between them. A broker 5.0.0 does not answer while the client's connection is full "
            "(RocketMQ issue #5066): upgrade it. More consumers or threads do not help.",
        ),
        FILTERED_SLOWLY: Cause(
            "the same, while the group filters, its members' threads are mostly idle, and its offsets advance by ten "
            "times what they consume, or more",
            "The broker skips what the group does not subscribe to more slowly than messages come: it scans at most "
            "800 of them for one request. The listener is not the limit, and threads do not help. Send the group's "
            "messages to a separate topic, or look at what raised the traffic. With POP, upgrade brokers before 5.3.1, "
            "which leave a request waiting although more is to be scanned (RocketMQ issue #8472).",
            "Brokers filter {queues} for {groups} more slowly than messages come",
        ),
        WORKED_OFF_SLOWLY: Cause(
            "no client reports how busy it is, and messages that came at once are not worked off seven minutes later",
            "More came than the group consumes, and it works that off slowly. Its clients do not report why (gRPC "
            "clients never do): look at the time that their listeners take. If they are idle, their requests wait: a "
            "FIFO group that gets one batch each 30 s, when a long poll ends, needs newer brokers and proxies "
            "(rocketmq-clients issue #478).",
            "Consumers of {groups} work off {queues} slowly",
        ),
        PULL_THREADS: Cause(
            "the application decides when to pull, and the owner has more than 20 queues and mostly nothing of this "
            "one in hand",
            "It waits for pulls: DefaultLitePullConsumer pulls in 20 threads (pullThreadNums), and a pull of a queue "
            "without messages keeps one for 20 s (RocketMQ issue #6205). Set pullThreadNums to at least the number of "
            "its queues, or add consumers, so that each has fewer.",
        ),
        PULLS_BY_HAND: Cause(
            "the same, and the application decides when to pull (CONSUME_ACTIVELY), so that the client has no consume "
            "threads",
            "The application's own loop is too slow (DefaultLitePullConsumer, DefaultMQPullConsumer). Process what a "
            "poll brings in several threads, poll more at once (pullBatchSize), or do not sleep between polls. Another "
            "consumer brings another loop, up to one for each queue.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
)
