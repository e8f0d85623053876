"""PRODUCER_SKEW: producers send to few queues of a topic, or nothing to a broker, so more consumers cannot help."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, IntervalProgress
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix, Place
from spark_jobs.domain.model.message_queue import PERM_WRITE, RouteEntry
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.rules.roots import topics
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "PRODUCER_SKEW"
HOT_QUEUES, BROKER_WITHOUT_MESSAGES = "HOT_QUEUES", "BROKER_WITHOUT_MESSAGES"
HOT, WITHOUT_MESSAGES = "HOT", "WITHOUT_MESSAGES"


class Production(NamedTuple):
    """Messages that came into each queue of a topic in a step, `UNKNOWN` or not; and the time that was measured.

    `whole`: whether they are known of all that time in which those of any queue are.
    """

    queues: Sequence[Place]
    start: Matrix
    end: Matrix
    produced: Matrix
    whole: NDArray[np.bool_]


class Skew(NamedTuple):
    """Mean production of the queues that count, and that of the busiest ÷ the mean."""

    mean: float
    ratio: float


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per (topic, queue far above the mean), and per queue of a broker that got nothing, for all the time that
    was measured in the step.
    """
    per_topic: dict[str, list[IntervalProgress]] = defaultdict(list)
    for progress in step.progress:
        if progress.interval.is_ordinary and len(progress.produced):
            per_topic[progress.interval.topic].append(progress)
    for topic, parts in per_topic.items():
        if _may_be_skewed(parts, step.settings.thresholds):
            yield from _of_topic(step, topic, parts)


def production(parts: Sequence[IntervalProgress]) -> Production:
    """Added up over the intervals of one topic."""
    columns: dict[Place, int] = {}
    places: dict[int, Matrix] = {}
    for queues in (progress.queues for progress in parts):
        if id(queues) not in places:
            found = [columns.setdefault(queue, len(columns)) for queue in queues]
            places[id(queues)] = np.array(found, dtype=np.int64)
    start, end = np.full(len(columns), np.iinfo(np.int64).max), np.zeros(len(columns), np.int64)
    produced, known = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.bool_)
    whole = np.ones(len(columns), np.bool_)
    for progress in parts:
        of_queues = places[id(progress.queues)]
        start[of_queues] = np.minimum(start[of_queues], progress.start)
        end[of_queues] = np.maximum(end[of_queues], progress.end)
        is_known = progress.produced != UNKNOWN
        known[of_queues] |= is_known
        whole[of_queues] &= is_known | ~is_known.any()
        produced[of_queues] += np.where(is_known, progress.produced, 0)
    return Production(list(columns), start, end, np.where(known, produced, UNKNOWN), whole & known)


def skew(produced: Sequence[tuple[str, int | None]], least_mean: float) -> Skew | None:
    """How unequal production is; None where the mean is too small to say.

    `produced`: (broker, messages, None: unknown) per queue. Brokers that got no message are not counted: that is no
    choice of queues (`queues_without_messages`).
    """
    written = {broker for broker, messages in produced if messages}
    counted = [messages for broker, messages in produced if broker in written and messages is not None]
    if not counted or sum(counted) / len(counted) < least_mean:
        return None
    mean = sum(counted) / len(counted)
    return Skew(mean, max(counted) / mean)


def queues_without_messages(routes: Sequence[Sequence[RouteEntry]], made: Production) -> set[Place]:
    """Of brokers that producers could write to as long as the routes held: all queues to write to, if each got none."""
    nothing = {queue for queue, none in zip(made.queues, (made.produced == 0) & made.whole, strict=True) if none}
    write_queues = [
        {
            entry.broker_name: entry.write_queue_nums
            for entry in route
            if entry.perm & PERM_WRITE and entry.write_queue_nums
        }
        for route in routes
    ]
    found: set[Place] = set()
    for broker in set.intersection(*map(set, write_queues)):
        queues = {(broker, queue_id) for of_route in write_queues for queue_id in range(of_route[broker])}
        found |= queues if queues <= nothing else set()
    return found


def _may_be_skewed(parts: Sequence[IntervalProgress], thresholds: Thresholds) -> bool:
    """False for most topics, at the price of a few array operations: every queue gets messages, the mean is no more
    than the busiest, and it is at least that over all queues.
    """
    busiest = sum(max(int(progress.produced.max()), 0) for progress in parts)
    if busiest < thresholds.skew_messages_per_queue:
        return False
    only = parts[0].produced
    if len(parts) > 1 or not only.all():
        return True
    return busiest >= int(only[only != UNKNOWN].sum()) / len(only) * thresholds.skew_ratio


def _of_topic(step: AuditedStep, topic: str, parts: Sequence[IntervalProgress]) -> Iterator[RuleHit]:
    """Where the broker hands out the messages to all members, a queue that gets more than others holds nobody up."""
    thresholds, made = step.settings.thresholds, production(parts)
    messages = [None if one == UNKNOWN else one for one in made.produced.tolist()]
    brokers = [broker for broker, _ in made.queues]
    found = skew(list(zip(brokers, messages, strict=True)), thresholds.skew_messages_per_queue)
    if not found:
        return
    is_shared_out = any(progress.interval.is_shared_out for progress in parts)
    unwritten = _unwritten(step, topic, made)
    for place, produced in enumerate(messages):
        if made.queues[place] in unwritten:
            yield _hit(topic, made, place, BROKER_WITHOUT_MESSAGES, WITHOUT_MESSAGES, {"mean": found.mean})
        elif produced is not None and produced >= found.mean * thresholds.skew_ratio and not is_shared_out:
            measures = {"max_over_mean": found.ratio, "mean": found.mean, "produced_max": produced}
            yield _hit(topic, made, place, HOT_QUEUES, HOT, measures)


def _unwritten(step: AuditedStep, topic: str, made: Production) -> set[Place]:
    """By all routes of the time that was measured."""
    start, end = int(made.start.min()), int(made.end.max())
    routes = [span.state for span in step.routes.get(topic, ()) if span.start < end and start < span.end]
    return queues_without_messages(routes, made) if routes else set()


def _hit(topic: str, made: Production, place: int, cause: str, role: str, measures: dict[str, float]) -> RuleHit:
    return RuleHit(
        int(made.start[place]),
        int(made.end[place]),
        cause=cause,
        topic=topic,
        view=ALL_HOSTS,
        queue=FindingQueue(topic, *made.queues[place], role),
        severity=WARN,
        weight=measures.get("produced_max"),
        measures=measures,
    )


RULE = Rule(
    name=NAME,
    headline="Some queues of {topics} receive far more messages than the others",
    meaning="Some queues of the topic receive far more messages than the others: a selector or an ordering key sends "
    "to few queues, and more consumers cannot help. Or a broker receives none at all, so the owners of its "
    "queues have nothing to do. The measures: `max_over_mean`, and messages over the step. One finding per "
    "group that consumes the topic; a topic that no group consumes is not checked.",
    decided_by="messages produced to each queue over the step. `HOT_QUEUES`: busiest ÷ mean ≥ `skew_ratio`, with a "
    "mean of at least `skew_messages_per_queue`, over the queues of the brokers that received messages; not "
    "where the broker hands out messages to all members (POP). `BROKER_WITHOUT_MESSAGES`: with such a mean "
    "on the other brokers, a broker that every route of that time lists with write permission and write "
    "queues, and whose end offsets are known and grew in none of these queues. Retry topics do not count. "
    "`subject` names the queues.",
    causes={
        HOT_QUEUES: Cause(
            "the named queues receive that much more than the mean",
            "More consumers cannot help, as a queue has one owner. Spread the ordering key or selector over more "
            "queues.",
        ),
        BROKER_WITHOUT_MESSAGES: Cause(
            "producers may write to the named broker, but it received no message while others did",
            "Check the producers' logs for this broker. It may refuse messages (disk full, master down), producers may "
            "avoid it as slow (sendLatencyFaultEnable), or a queue selector may never choose it.",
        ),
    },
    example="`audit-log`: queue 0 of broker-a receives 2.9 times the mean; a finding for each of the two groups that "
    "consume it.",
    hits=hits,
    spreads_by=topics,
)
