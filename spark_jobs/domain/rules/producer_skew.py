"""PRODUCER_SKEW: producers send to few queues of a topic, or nothing to a broker, so more consumers cannot help."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.kernel.removed_queues import brokers_without_master
from spark_jobs.domain.kernel.sample_pairs import sample_pairs
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import UNKNOWN, Floats, Matrix, Place
from spark_jobs.domain.model.message_queue import PERM_WRITE
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, Time, common
from spark_jobs.domain.rules.links import brokers, topics
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.status.backlog import queue_intervals
from spark_jobs.domain.status.lagging_queues import lagging_queues, rising_time

HOT_QUEUES, BROKER_WITHOUT_MESSAGES = "HOT_QUEUES", "BROKER_WITHOUT_MESSAGES"
HOT, WITHOUT_MESSAGES = "HOT", "WITHOUT_MESSAGES"
#: The measure of a hot queue with a backlog.
_HAS_BACKLOG = "has_backlog"


class Production(NamedTuple):
    """Messages produced to each queue of a topic in a step (or `UNKNOWN`), its time, and whether all of it is known."""

    queues: Sequence[Place]
    start: Matrix
    end: Matrix
    produced: Matrix
    is_complete: NDArray[np.bool_]

    @property
    def paces(self) -> Floats:
        """Messages a microsecond of each queue in its own time, short for a queue that was added; 0: unknown."""
        return np.asarray(np.maximum(self.produced, 0) / np.maximum(self.end - self.start, 1))


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One per (topic, queue far above the mean, owner, its time), and per queue of a broker that gets no messages, or
    none any more.
    """
    measured = (progress for progress in step.progress if progress.interval.is_ordinary and len(progress.produced))
    for topic, parts in by_key(measured, lambda progress: progress.interval.topic).items():
        if _may_be_skewed(parts, step.settings.thresholds):
            yield from _topic_hits(step, topic, parts)
        if _may_be_silent(step, topic):
            yield from _silent_hits(step, topic, production(parts))


def production(parts: Sequence[IntervalProgress]) -> Production:
    """Messages produced to each queue of one topic, added up over its intervals."""
    columns: dict[Place, int] = {}
    places: dict[int, Matrix] = {}
    for queues in (progress.queues for progress in parts):
        if id(queues) not in places:
            numbers = [columns.setdefault(queue, len(columns)) for queue in queues]
            places[id(queues)] = np.array(numbers, dtype=np.int64)
    start, end = np.full(len(columns), np.iinfo(np.int64).max), np.zeros(len(columns), np.int64)
    produced, known = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.bool_)
    is_complete = np.ones(len(columns), np.bool_)
    for progress in parts:
        chosen = places[id(progress.queues)]
        start[chosen] = np.minimum(start[chosen], progress.start)
        end[chosen] = np.maximum(end[chosen], progress.end)
        is_known = progress.produced != UNKNOWN
        known[chosen] |= is_known
        is_complete[chosen] &= is_known | ~is_known.any()
        produced[chosen] += np.where(is_known, progress.produced, 0)
    return Production(list(columns), start, end, np.where(known, produced, UNKNOWN), is_complete & known)


def skew(brokers: Sequence[str], produced: Matrix, least_mean: float) -> tuple[float, float] | None:
    """Messages per queue on average over the queues of brokers that got any message, and those of the busiest queue ÷
    this mean; None: the mean is too small.
    """
    messages_of_queues = list(zip(brokers, produced.tolist(), strict=True))
    written = {broker for broker, messages in messages_of_queues if messages > 0}
    counted = [messages for broker, messages in messages_of_queues if broker in written and messages != UNKNOWN]
    if not counted or sum(counted) / len(counted) < least_mean:
        return None
    mean = sum(counted) / len(counted)
    return mean, max(counted) / mean


def _may_be_skewed(parts: Sequence[IntervalProgress], thresholds: Thresholds) -> bool:
    """A quick check, False for most topics: the mean is at most what the busiest queue got."""
    busiest = sum(max(int(progress.produced.max()), 0) for progress in parts)
    if busiest < thresholds.skew_messages_per_queue:
        return False
    first = parts[0].produced
    if len(parts) > 1 or not first.all():
        return True
    return busiest >= (known_total(first) or 0) / len(first) * thresholds.skew_ratio


def _topic_hits(step: AuditedStep, topic: str, parts: Sequence[IntervalProgress]) -> Iterator[RuleHit]:
    """The hits of one topic. Where the broker hands out messages to all members, a hot queue does not matter."""
    thresholds, every_queue = step.settings.thresholds, production(parts)
    write_queues = _write_queues(step, topic, (int(every_queue.start.min()), int(every_queue.end.max())))
    per_queue = _without_closed(every_queue, write_queues)
    brokers = [broker for broker, _ in per_queue.queues]
    topic_skew = skew(brokers, per_queue.produced, thresholds.skew_messages_per_queue)
    if not topic_skew:
        return
    mean, ratio = topic_skew
    is_shared_out = any(progress.interval.is_shared_out for progress in parts)
    unwritten, paces = _unwritten(per_queue, write_queues), per_queue.paces
    # Queues that were added late lower the mean; by their pace, the others are then not even half as far above it.
    is_fast = paces >= paces.mean() * (1 + thresholds.skew_ratio) / 2
    is_hot = is_fast & (per_queue.produced >= mean * thresholds.skew_ratio) & (not is_shared_out)
    lagging = _lagging(step, topic, parts) if is_hot.any() else frozenset()
    for place, (queue, produced) in enumerate(zip(per_queue.queues, per_queue.produced.tolist(), strict=True)):
        if queue in unwritten:
            yield _hit(topic, per_queue, place, BROKER_WITHOUT_MESSAGES, WITHOUT_MESSAGES, {"mean": mean})
        elif is_hot[place]:
            measures = {"max_over_mean": ratio, "mean": mean, "produced_max": produced}
            measures |= {_HAS_BACKLOG: 1.0} if queue in lagging else {}
            hit = _hit(topic, per_queue, place, HOT_QUEUES, HOT, measures)
            start, end = _hot_time(step, topic, per_queue, place, produced / mean)
            for client_id in _owners(parts, queue) or [None]:
                yield replace(hit, start=max(hit.start, start), end=min(hit.end, end), implicated=client_id)


def _without_closed(per_queue: Production, write_queues: Mapping[str, Set[Place]]) -> Production:
    """The same without queues beyond the write queues, into which nothing comes: of a topic that is made smaller."""
    queues, start, end, produced, is_complete = per_queue
    is_closed = [queue[0] in write_queues and queue not in write_queues[queue[0]] for queue in queues]
    kept = np.flatnonzero((produced != 0) | ~np.array(is_closed))
    return Production(
        [queues[place] for place in kept.tolist()], start[kept], end[kept], produced[kept], is_complete[kept]
    )


def _lagging(step: AuditedStep, topic: str, parts: Sequence[IntervalProgress]) -> Set[Place]:
    """The topic's queues with a backlog, by the answer about more consumers; and those of which it is unknown."""
    queues, offsets = queue_intervals(parts), {**step.history.offsets, **step.unread}
    behind_queues = lagging_queues(queues, offsets, step.window, step.settings) if topic in offsets else ()
    return {queue[1:] for queue in (*(each.queue for each in behind_queues), *queues.unknown())}


def _hot_time(step: AuditedStep, topic: str, per_queue: Production, place: int, ratio: float) -> Time:
    """When a queue got half its `ratio` to the mean, and `skew_ratio` at least; all the time without samples."""
    samples, thresholds = step.history.offsets.get(topic), step.settings.thresholds
    whole = step.window.start, step.window.end
    if samples is None:
        return whole
    pairs = sample_pairs(samples, samples.of_step(step.window, step.settings.max_gap))
    brokers = {
        queue[0] for queue, count in zip(per_queue.queues, per_queue.produced.tolist(), strict=True) if count > 0
    }
    columns = [samples.columns[queue] for queue in per_queue.queues if queue[0] in brokers and queue in samples.columns]
    produced = np.where(pairs.produced != UNKNOWN, pairs.produced, 0)
    hot = produced[:, samples.columns[per_queue.queues[place]]].cumsum()
    limit = produced[:, columns].sum(axis=1).cumsum() / len(columns) * max(thresholds.skew_ratio, ratio / 2)
    excess = np.rint(hot - limit).astype(np.int64)
    chance = thresholds.verdict_window_seconds * SECOND
    time = rising_time(pairs.times, hot, excess, thresholds.skew_messages_per_queue, chance)
    if time is None:
        return whole
    return time[0], whole[1] if time[1] == pairs.times[-1] else time[1]


def _owners(parts: Sequence[IntervalProgress], queue: Place) -> Sequence[str | None]:
    """The last owners of the queue."""
    last = next((progress for progress in reversed(parts) if queue in progress.queues), None)
    return last.owner_ids(list(last.queues).index(queue)) if last else ()


def _unwritten(per_queue: Production, write_queues: Mapping[str, Set[Place]]) -> set[Place]:
    """The write queues of brokers that got no message in any of them."""
    is_empty = (per_queue.produced == 0) & per_queue.is_complete
    empty = {queue for queue, none in zip(per_queue.queues, is_empty.tolist(), strict=True) if none}
    return set[Place]().union(*(queues for queues in write_queues.values() if queues <= empty))


def _write_queues(step: AuditedStep, topic: str, time: Time) -> dict[str, set[Place]]:
    """By broker its write queues; of brokers that all routes of the time let producers write to, with a master."""
    routes = [span.state for span in step.routes.get(topic, ()) if common((span.start, span.end), time)]
    writable = ([entry for entry in route if entry.perm & PERM_WRITE and entry.write_queue_nums] for route in routes)
    counts = [{entry.broker_name: entry.write_queue_nums for entry in entries} for entries in writable]
    written_to = set.intersection(*map(set, counts)) if routes else set[str]()
    return {
        broker: {(broker, queue_id) for of_route in counts for queue_id in range(of_route[broker])}
        for broker in written_to - brokers_without_master(step, topic, time)
    }


def _may_be_silent(step: AuditedStep, topic: str) -> bool:
    """A quick check, False for most topics: some queues got nothing at the end of the step, while others did."""
    samples, window = step.history.offsets.get(topic), step.window
    if samples is None:
        return False
    since = window.end - step.settings.thresholds.verdict_window_seconds * SECOND
    end = samples.end_offset[samples.inside(since, window.end)]
    is_same = end[0] == end[-1] if len(end) else np.ones(0, np.bool_)
    return bool(is_same.any() and not is_same.all())


def _silent_hits(step: AuditedStep, topic: str, per_queue: Production) -> Iterator[RuleHit]:
    """One per write queue of a broker that got messages, and after some sample none to the end of the step, for
    `verdict_window_seconds` at least, while the queues of others got `skew_messages_per_queue` each.
    """
    samples, thresholds = step.history.offsets[topic], step.settings.thresholds
    pairs = sample_pairs(samples, samples.inside(step.window.start, step.window.end))
    for broker in sorted({broker for broker, _ in per_queue.queues}):
        is_own = np.array([queue[0] == broker for queue in samples.queues])
        own, elsewhere = pairs.produced[:, is_own], pairs.produced[:, ~is_own]
        rows = np.flatnonzero((own > 0).any(axis=1))
        if not len(rows) or not elsewhere.size or (own[rows[-1] :] == UNKNOWN).any():
            continue
        time = int(pairs.times[rows[-1]]), step.window.end
        mean = float(np.maximum(elsewhere[rows[-1] + 1 :], 0).sum() / elsewhere.shape[1])
        is_long = time[1] - time[0] >= thresholds.verdict_window_seconds * SECOND
        if is_long and mean >= thresholds.skew_messages_per_queue:
            for queue in sorted(_write_queues(step, topic, time).get(broker, set()).intersection(per_queue.queues)):
                place = per_queue.queues.index(queue)
                hit = _hit(topic, per_queue, place, BROKER_WITHOUT_MESSAGES, WITHOUT_MESSAGES, {"mean": mean})
                yield replace(hit, start=time[0])


def _hit(topic: str, per_queue: Production, place: int, cause: str, role: str, measures: dict[str, float]) -> RuleHit:
    return RuleHit(
        int(per_queue.start[place]),
        int(per_queue.end[place]),
        *(cause, topic),
        queue=FindingQueue(topic, *per_queue.queues[place], role),
        weight=measures.get("produced_max"),
        measures=measures,
    )


def _together(finding: Finding) -> Iterable[Hashable]:
    """The topics, which are those of all groups that read them, and apart those of groups that fall behind; and a
    broker that gets no messages.
    """
    if finding.evidence.measured.get(_HAS_BACKLOG):
        return [(topic, _HAS_BACKLOG) for topic in topics(finding)]
    return {*topics(finding), *(brokers(finding) if finding.cause == BROKER_WITHOUT_MESSAGES else ())}


RULE = Rule(
    name="PRODUCER_SKEW",
    headline="Some queues of {topics} receive far more messages than the others",
    detail=lambda finding: finding.subject,
    meaning="Some queues of the topic receive far more messages than the others. More consumers cannot help. Or a "
    "broker receives none, so the owners of its queues idle.",
    decided_by="Over the step, if queues get at least `skew_messages_per_queue` on average. WARN.",
    causes={
        HOT_QUEUES: Cause(
            "these queues get at least `skew_ratio` times the mean; not with POP",
            "More consumers cannot help: spread the ordering key or selector over more queues.",
        ),
        BROKER_WITHOUT_MESSAGES: Cause(
            "no writable queue of the broker grew, in the step or in its last `verdict_window_seconds` (300) and more, "
            "while others did",
            "Check the producers' logs. The broker may refuse messages (disk full, master down), producers may avoid "
            "it as slow (sendLatencyFaultEnable), or a queue selector may never choose it. If all its topics stop at "
            "once, it may store messages and not dispatch them to queues: see dispatchBehindBytes of `mqadmin "
            "brokerStatus`, and errors of ReputMessageService in its store.log. If only delayed messages and retries "
            "stop, its ScheduleMessageService has ended (RocketMQ issue #8124): restart it, nothing is lost.",
            headline="No messages of {topics} come into queues of {brokers}",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    spreads_by=_together,
)
