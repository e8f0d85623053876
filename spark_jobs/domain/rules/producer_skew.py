"""PRODUCER_SKEW: producers send to few queues of a topic, so more consumers cannot help."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.audited_step import ALL_HOSTS, AuditedStep, IntervalProgress
from spark_jobs.domain.history import UNKNOWN, Matrix, Place
from spark_jobs.domain.rules.rule import Cause, FindingQueue, Rule, RuleHit
from spark_jobs.domain.thresholds import Thresholds

NAME = "PRODUCER_SKEW"
HOT_QUEUES = "HOT_QUEUES"
HOT = "HOT"


class Production(NamedTuple):
    """Messages that came into each queue of a topic in a step, `UNKNOWN` or not; and the time that was replayed."""

    queues: Sequence[Place]
    start: Matrix
    end: Matrix
    produced: Matrix


class Skew(NamedTuple):
    """Mean production of the queues that count, and that of the busiest ÷ the mean."""

    mean: float
    ratio: float


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per (topic, queue far above the mean), for all the time that was replayed in the step."""
    per_topic: dict[str, list[IntervalProgress]] = defaultdict(list)
    for one in step.progress:
        if one.interval.is_ordinary and len(one.produced):
            per_topic[one.interval.topic].append(one)
    for topic, parts in per_topic.items():
        if _may_be_skewed(parts, step.settings.thresholds):
            yield from _of_topic(step, topic, production(parts))


def production(parts: Sequence[IntervalProgress]) -> Production:
    """Added up over the intervals of one topic."""
    columns: dict[Place, int] = {}
    places: dict[int, Matrix] = {}
    for queues in (one.queues for one in parts):
        if id(queues) not in places:
            found = [columns.setdefault(queue, len(columns)) for queue in queues]
            places[id(queues)] = np.array(found, dtype=np.int64)
    start, end = np.full(len(columns), np.iinfo(np.int64).max), np.zeros(len(columns), np.int64)
    produced, known = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.bool_)
    for one in parts:
        of_queues = places[id(one.queues)]
        start[of_queues] = np.minimum(start[of_queues], one.start)
        end[of_queues] = np.maximum(end[of_queues], one.end)
        known[of_queues] |= one.produced != UNKNOWN
        produced[of_queues] += np.where(one.produced == UNKNOWN, 0, one.produced)
    return Production(list(columns), start, end, np.where(known, produced, UNKNOWN))


def skew(produced: Sequence[tuple[str, int | None]], least_mean: float) -> Skew | None:
    """How unequal production is; None where the mean is too small to say.

    `produced`: (broker, messages, None: unknown) per queue. Brokers that got no message are not counted: nobody may
    be able to write to them, which is no choice of queues.
    """
    written = {broker for broker, messages in produced if messages}
    counted = [messages for broker, messages in produced if broker in written and messages is not None]
    if not counted or sum(counted) / len(counted) < least_mean:
        return None
    mean = sum(counted) / len(counted)
    return Skew(mean, max(counted) / mean)


def _may_be_skewed(parts: Sequence[IntervalProgress], thresholds: Thresholds) -> bool:
    """False for most topics, at the price of a few array operations: the mean is no more than the busiest, and it is
    at least that over all queues.
    """
    busiest = sum(max(int(one.produced.max()), 0) for one in parts)
    if busiest < thresholds.skew_messages_per_queue:
        return False
    only = parts[0].produced
    return len(parts) > 1 or busiest >= int(only[only != UNKNOWN].sum()) / len(only) * thresholds.skew_ratio


def _of_topic(step: AuditedStep, topic: str, made: Production) -> Iterator[RuleHit]:
    thresholds = step.settings.thresholds
    messages = [None if one == UNKNOWN else one for one in made.produced.tolist()]
    brokers = [broker for broker, _ in made.queues]
    found = skew(list(zip(brokers, messages, strict=True)), thresholds.skew_messages_per_queue)
    if not found:
        return
    for place, produced in enumerate(messages):
        if produced is not None and produced >= found.mean * thresholds.skew_ratio:
            yield RuleHit(
                int(made.start[place]),
                int(made.end[place]),
                cause=HOT_QUEUES,
                topic=topic,
                view=ALL_HOSTS,
                queue=FindingQueue(topic, *made.queues[place], HOT),
                severity="WARN",
                weight=float(produced),
                measures={"max_over_mean": found.ratio, "mean": found.mean, "produced_max": float(produced)},
            )


RULE = Rule(
    name=NAME,
    meaning="Some queues of the topic get far more messages than the others: a selector or an ordering key sends to "
    "few queues, and more consumers cannot help. The measures: `max_over_mean`, and messages of the step.",
    decided_by="production over the queues of the step: busiest ÷ mean ≥ `skew_ratio`, with a mean of at least "
    "`skew_messages_per_queue`. Retry topics, and brokers that got nothing, are left out. `subject` names the queues.",
    causes={
        HOT_QUEUES: Cause(
            "the queues of the subject get so much more than the mean",
            "More consumers cannot help, as a queue has one owner: spread the ordering key or selector over more "
            "queues.",
        )
    },
    example="`audit-log`: queue 0 of broker-a gets 2.9 times the mean, for both groups that consume it.",
    hits=hits,
)
