"""REDELIVERY_EXPOSURE: what a rebalance may have consumed again."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, Moves
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.rule import Cause, Rule

QUEUES_MOVED = "QUEUES_MOVED"


class Exposure(NamedTuple):
    """Messages in flight on the queues that one rebalance handed over; `unknown` of these queues count as 0."""

    in_flight: int
    queues: int
    unknown: int


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per step with rebalances that moved messages in flight, from the first to the last."""
    per_moment: dict[int, list[Exposure]] = defaultdict(list)
    for moment, interval, moves in step.rebalances:
        # Rebalances of the warm-up belong to the step before.
        if moves.handed_over and moment >= step.window.start:
            per_moment[moment].append(exposure(step, interval.topic, moves))
    exposures = {moment: Exposure(*map(sum, zip(*topics, strict=True))) for moment, topics in per_moment.items()}
    exposed = {moment: total for moment, total in exposures.items() if total.in_flight > 0}
    if exposed:
        thresholds, greatest = step.settings.thresholds, max(total.in_flight for total in exposed.values())
        yield RuleHit(
            min(exposed),
            min(max(exposed) + thresholds.convergence_seconds * SECOND, step.window.end),
            QUEUES_MOVED,
            severity=WARN if greatest >= thresholds.redelivery_messages else INFO,
            measures={
                "in_flight_max": greatest,
                "in_flight_total": sum(total.in_flight for total in exposed.values()),
                "queues_handed_over": sum(total.queues for total in exposed.values()),
                "rebalances": len(exposed),
                "unknown_queues": sum(total.unknown for total in exposed.values()),
            },
        )


def exposure(step: AuditedStep, topic: str, moves: Moves) -> Exposure:
    """The exposure of one topic in a rebalance, by its last sample (at most `max_gap` old) with the former owners."""
    queues = len(moves.handed_over)
    samples, held_at = step.history.offsets.get(topic), moves.before_seen_at
    if samples is None or held_at is None:
        return Exposure(0, queues, queues)
    last = int(np.searchsorted(samples.times, held_at, side="right")) - 1
    oldest = max(held_at - step.settings.max_gap, step.window.read_from)
    if last < 0 or samples.times[last] < oldest:
        return Exposure(0, queues, queues)
    columns = [samples.columns[place] for place in moves.handed_over if place in samples.columns]
    counts = in_flight(samples, last, columns)
    known = counts[counts != UNKNOWN]
    return Exposure(int(known.sum()), queues, queues - len(known))


def in_flight(samples: OffsetSamples, row: int, columns: list[int]) -> Matrix:
    """Messages per queue that the owner pulled and did not commit, which the next owner consumes again at most; at
    least 0. Unknown if the group never committed, or the broker forgot the pull offset in a restart (0 or less).
    """
    consumed_to, pulled_to = samples.consumed_to[row, columns], samples.pull_offset[row, columns]
    forgotten = (pulled_to <= 0) & (consumed_to > 0)
    known = (consumed_to != UNKNOWN) & (pulled_to != UNKNOWN) & ~forgotten
    count = np.where(known, pulled_to, 0) - np.where(known, consumed_to, 0)
    return np.where(known, np.maximum(count, 0), UNKNOWN)


RULE = Rule(
    name="REDELIVERY_EXPOSURE",
    headline="Rebalances of {groups} hand over many messages in flight",
    meaning="Rebalances hand over messages in flight. The new owner of a queue starts at the committed offset, and "
    "consumes again what the previous one had pulled.",
    decided_by="Pull offset − consumer offset of the queues that changed owner, by the last sample before. INFO; "
    "WARN from `redelivery_messages` (10,000) on.",
    causes={
        QUEUES_MOVED: Cause(
            "always",
            "Consumers must tolerate duplicates. Shut them down instead of killing them, so that they commit, and "
            "lower pullThresholdForQueue if listeners are slow.",
        )
    },
    evaluate=hits,
    hit_severity=INFO,
    lasts=0,
)
