"""REBALANCE_STORM and REDELIVERY_EXPOSURE: groups that rebalance again and again, and what that may deliver again."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, Moves, Rebalance
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.rule import Cause, Rule, counting

MEMBER_CHANGES = "MEMBER_CHANGES"
ROUTE_CHANGES = "ROUTE_CHANGES"
#: One rebalance of a group: when, and the moves of all topics that rebalanced then.
_Moment = tuple[int, Sequence[Moves]]
QUEUES_MOVED = "QUEUES_MOVED"


def _storm_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per storm of the group, from its first to its last rebalance."""
    thresholds = step.settings.thresholds
    if len(step.rebalances) < thresholds.storm_rebalances:
        return
    by_moment = groupby(step.rebalances, key=lambda rebalance: rebalance.moment)
    moments = [(at, [rebalance.moves for rebalance in rebalances]) for at, rebalances in by_moment]
    for storm in storms(moments, thresholds.storm_rebalances, thresholds.storm_seconds * SECOND):
        by_members = sum(any(change.triggers[0][0].startswith("MEMBER_") for change in moves) for _, moves in storm)
        changes = [change for _, moves in storm for change in moves]
        have_changed = any(change.joined or change.left for change in changes)
        yield RuleHit(
            *(storm[0][0], storm[-1][0], MEMBER_CHANGES if by_members * 2 >= len(storm) else ROUTE_CHANGES),
            implicated=_client_of(storm),
            # A rollout, or a group that grows or shrinks.
            severity=INFO if have_changed and not joined_and_left(moves for _, moves in storm) else None,
            measures={
                "minimum_moves": sum(change.least or 0 for change in changes),
                "queues_moved": sum(change.moved or 0 for change in changes),
                "rebalances": len(storm),
            },
        )


def _client_of(storm: Sequence[_Moment]) -> str | None:
    """The client id that joined or left in most of the rebalances, if in half of them at least."""
    ids = ({client_id for change in moves for client_id in (*change.joined, *change.left)} for _, moves in storm)
    times = Counter(client_id for of_moment in ids for client_id in of_moment)
    client_id, most = max(times.items(), key=lambda item: (item[1], item[0]), default=(None, 0))
    return client_id if most * 2 >= len(storm) else None


def joined_and_left(changes: Iterable[Sequence[Moves]]) -> set[str]:
    """The client ids that joined, and left or joined again later, by the moves of each rebalance in order."""
    seen, again = set[str](), set[str]()
    for moves in changes:
        joined = {client_id for change in moves for client_id in change.joined}
        again |= seen & (joined | {client_id for change in moves for client_id in change.left})
        seen |= joined
    return again


def storms(moments: Sequence[_Moment], minimum: int, within: int) -> list[Sequence[_Moment]]:
    """The storms: runs of at least `minimum` moments within `within` microseconds; runs that overlap are one."""
    runs: list[tuple[int, int]] = []
    for first in range(len(moments) - minimum + 1):
        last = first + minimum - 1
        if moments[last][0] - moments[first][0] < within:
            begin = runs.pop()[0] if runs and runs[-1][1] >= first else first
            runs.append((begin, last))
    return [moments[first : last + 1] for first, last in runs]


class Exposure(NamedTuple):
    """Messages in flight on the queues that one rebalance handed over; `unknown` of these queues count as 0."""

    in_flight: int
    queues: int
    unknown: int


def _exposure_hits(step: AuditedStep) -> Iterator[RuleHit]:
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


def consumed_again_max(step: AuditedStep, rebalances: Iterable[Rebalance]) -> int | None:
    """Messages that may have been consumed again at most, each once, however often its queue moved: those that waited,
    and came, from the last sample with the former owners to the first with the new ones. None: no sample.
    """
    messages, counted_to = 0, dict[str, Matrix]()
    for moment, interval, moves in rebalances:
        samples = step.history.offsets.get(interval.topic)
        if samples is None or moves.before_seen_at is None:
            return None
        may_move = (may_go_to_another(queue in moves.handed_over, len(moves.joined)) for queue in samples.queues)
        columns = np.flatnonzero([*may_move])
        before = int(samples.times.searchsorted(moves.before_seen_at, side="right")) - 1
        after = int(samples.times.searchsorted(moment))
        if before < 0 or after == len(samples.times):
            return None
        consumed, end = samples.consumed_to[before, columns], samples.end_offset[after, columns]
        if (consumed == UNKNOWN).any() or (end == UNKNOWN).any():
            return None
        counted = counted_to.setdefault(interval.topic, np.full(len(samples.queues), UNKNOWN))
        messages += int(np.maximum(end - np.maximum(consumed, counted[columns]), 0).sum())
        counted[columns] = np.maximum(end, counted[columns])
    return messages


def may_go_to_another(is_handed_over: bool, joined: int) -> bool:
    """Return whether a queue may go from a member to another: of several that join at once, the next may take any."""
    return is_handed_over or joined > 1


def in_flight(samples: OffsetSamples, row: int, columns: list[int]) -> Matrix:
    """Messages per queue that the owner pulled and did not commit, at least 0: the next owner may consume them again,
    and those that come until it begins. Unknown if the group never committed, or the broker forgot the pull offset in a
    restart (0 or less).
    """
    consumed_to, pulled_to = samples.consumed_to[row, columns], samples.pull_offset[row, columns]
    forgotten = (pulled_to <= 0) & (consumed_to > 0)
    known = (consumed_to != UNKNOWN) & (pulled_to != UNKNOWN) & ~forgotten
    count = np.where(known, pulled_to, 0) - np.where(known, consumed_to, 0)
    return np.where(known, np.maximum(count, 0), UNKNOWN)


REBALANCE_STORM = Rule(
    name="REBALANCE_STORM",
    headline="{groups} {groups:rebalances|rebalance} again and again",
    meaning="The group rebalances again and again. Each time queues get new owners, pause for up to 20 s, and "
    "deliver messages in flight again.",
    decided_by="At least `storm_rebalances` (5) rebalances in less than `storm_seconds` (600), in the step and its "
    "look-back. INFO if members changed, and no client id joined and left again, as in a rollout. `client_ids`: who "
    "joined or left in at least half of them.",
    causes={
        MEMBER_CHANGES: Cause(
            "mostly, members joined or left",
            "Check for restarts (FLAPPING_MEMBER names the consumer), out-of-memory kills and failing probes.",
        ),
        ROUTE_CHANGES: Cause(
            "mostly, queues or brokers were added or removed",
            "Check the brokers for restarts, and their connections to the name servers.",
        ),
    },
    evaluate=_storm_hits,
    hit_severity=WARN,
    lasts=0,
)
REDELIVERY_EXPOSURE = Rule(
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
    evaluate=_exposure_hits,
    hit_severity=INFO,
    lasts=0,
    detail=counting("{}", in_flight_total="message"),
)
