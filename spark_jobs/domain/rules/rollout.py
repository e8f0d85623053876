"""ROLLOUT: new members replace those of a group within a time, as in a deployment; and what that cost."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, Rebalance, RebalanceInterval
from spark_jobs.domain.kernel.offset_facts import unconsumed
from spark_jobs.domain.kernel.triggers import host, moved_between
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.finding import ConflictingValue, Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND, common, joined
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules import offset_rewound
from spark_jobs.domain.rules.flapping_member import MOVED
from spark_jobs.domain.rules.rebalancing import consumed_again_max, exposure, joined_and_left
from spark_jobs.domain.rules.rule import Cause, Rule

MEMBERS_REPLACED, QUEUES_STOOD, CONSUMED_AGAIN = "MEMBERS_REPLACED", "QUEUES_STOOD", "CONSUMED_AGAIN"
#: Changes of members that are further apart belong to different rollouts.
_APART = 600 * SECOND
#: How long a member does not commit what it consumed: clients begin 10 s after their start, and go on every 5 s.
#: Source: MQClientInstance.startScheduledTask.
_UNCOMMITTED = 10 * SECOND
#: A group of one member that restarts is no rollout.
_FEWEST = 2


class Rollout(NamedTuple):
    """The client ids `before` it; those of them that `left`, and those that `joined` instead, from `start` until the
    last change has settled at `end` (microseconds). `waves`: rebalances in which members left. `rebalances`: of
    ordinary topics.
    """

    start: int
    end: int
    before: set[str]
    left: set[str]
    joined: set[str]
    waves: int
    rebalances: Sequence[Rebalance]

    @property
    def replaced(self) -> int:
        """The number of members that others replaced."""
        return min(len(self.left), len(self.joined))

    @property
    def moved(self) -> set[MessageQueue]:
        """The queues that changed owner."""
        moves = ((each.interval.topic, each.moves.handed_over) for each in self.rebalances)
        return {MessageQueue(topic, *queue) for topic, handed_over in moves for queue in handed_over}


def rollouts(step: AuditedStep) -> list[Rollout]:
    """The times in which new members replaced at least two, and half of the group. A host of which an id joined and
    left again is left out: it flaps. A group that is offline meanwhile is another rule's.
    """
    changes = (each for each in step.rebalances if each.moves.joined or each.moves.left)
    moments = [list(together) for _, together in groupby(changes, key=lambda each: each.moment)]
    apart = (after[0].moment - before[0].moment > _APART for before, after in pairwise(moments))
    cuts = [place for place, is_apart in enumerate(apart, start=1) if is_apart]
    runs = (moments[first:last] for first, last in pairwise([0, *cuts, len(moments)]))
    all_rollouts = [_rollout(step, run) for run in runs if run]
    return [each for each in all_rollouts if each and each.replaced >= max(_FEWEST, len(each.before) / 2)]


def _rollout(step: AuditedStep, run: Sequence[Sequence[Rebalance]]) -> Rollout | None:
    """The replaced members of a run of changes; None: nobody left, nobody joined, or the group was offline."""
    first, last = run[0][0], run[-1][-1]
    after = set(last.interval.client_ids)
    before = set(first.interval.client_ids).difference(first.moves.joined).union(first.moves.left)
    flapping = set(map(_host, joined_and_left([each.moves for each in together] for together in run)))
    left, joined = (
        {client_id for client_id in changed if _host(client_id) not in flapping}
        for changed in (before - after, after - before)
    )
    changes = [each for together in run for each in together]
    leaving = {each.moment for each in changes if left.intersection(each.moves.left)}
    joining = {each.moment for each in changes if joined.intersection(each.moves.joined)}
    # Nobody was a member for as long as GROUP_OFFLINE takes.
    empty = [each.interval for each in changes if not each.interval.client_ids]
    longest = max(((each.seen_at or each.start) - each.start for each in empty), default=-1)
    if not leaving or not joining or longest >= step.settings.thresholds.settled_seconds * SECOND:
        return None
    start, last_at = min(leaving | joining), max(leaving | joining)
    during = [each for each in step.rebalances if start <= each.moment <= last_at and each.interval.is_ordinary]
    end = min(last_at + step.settings.thresholds.convergence_seconds * SECOND, step.window.end)
    return Rollout(start, end, before, left, joined, len(leaving), during)


def _host(client_id: str) -> str:
    return host(client_id) or client_id


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per queue that a rollout moved, until its last rebalance has settled; one without if there is none."""
    thresholds = step.settings.thresholds
    for rollout in rollouts(step):
        measures = measures_of(step, rollout)
        cause = MEMBERS_REPLACED
        if (measures["longest_pause_seconds"] or 0) >= thresholds.stalled_after_seconds:
            cause = QUEUES_STOOD
        elif (measures["consumed_again"] or 0) >= thresholds.redelivery_messages:
            cause = CONSUMED_AGAIN
        who = (("joined", rollout.joined), ("left", rollout.left))
        values = tuple(ConflictingValue(what, tuple(sorted(ids))) for what, ids in who)
        hit = RuleHit(rollout.start, rollout.end, cause, measures=measures, conflicting_values=values)
        yield from list(_of_queues(step, rollout, hit)) or [hit]


def _of_queues(step: AuditedStep, rollout: Rollout, hit: RuleHit) -> Iterator[RuleHit]:
    """The hit of each queue, while clients own it: what nobody subscribes to any more is no backlog of the group."""
    for queue in sorted(FindingQueue(*moved, MOVED) for moved in rollout.moved):
        owned = [(each.start, each.end) for each in step.replayed if each.topic == queue.topic]
        for start, end in joined(filter(None, (common((hit.start, hit.end), time) for time in owned))):
            yield replace(hit, queue=queue, start=start, end=end)


def measures_of(step: AuditedStep, rollout: Rollout) -> dict[str, float | None]:
    """The measures of a rollout: what it did, and what that cost. Pauses are None where no sample shows the queues."""
    moved = sum(each.moves.moved or 0 for each in rollout.rebalances)
    shares = ((before.shares, after.shares) for before, after in ends_of(step, rollout))
    least = sum(moved_between(before, after).least or 0 for before, after in shares if before and after)
    pauses = _pauses(step, rollout)
    exposures = [exposure(step, each.interval.topic, each.moves) for each in rollout.rebalances]
    is_known = any(each.queues > each.unknown for each in exposures)
    hand_overs = (hit for hit in offset_rewound.hits(step) if hit.cause == offset_rewound.HAND_OVER)
    again = ((hit.measures or {})["rewound"] for hit in hand_overs if rollout.start <= hit.start < rollout.end)
    measures = {
        "members_replaced": rollout.replaced,
        "waves": rollout.waves,
        "rebalances": len({each.moment for each in rollout.rebalances}),
        "queues_moved": moved,
        "minimum_moves": least,
        "moved_per_least_move": moved / least if least else None,
        "longest_pause_seconds": max(pauses, default=None),
        "usual_pause_seconds": median(pauses) if pauses else None,
        "pause_resolution_seconds": _resolution(step, rollout) if pauses else None,
        "in_flight_total": sum(each.in_flight for each in exposures) if is_known else None,
        "consumed_again": sum(filter(None, again)),
        "consumed_again_max": consumed_again_max(step, rollout.rebalances),
    }
    is_orderly = any(client.consumes_orderly for client in step.history.clients.values())
    return measures | ({"lock_wait_seconds": _lock_wait(step, rollout)} if is_orderly else {})


def ends_of(step: AuditedStep, rollout: Rollout) -> Iterator[tuple[RebalanceInterval, RebalanceInterval]]:
    """Of each topic the last replayed interval before the rollout, and the first after its last rebalance."""
    for topic, of_topic in by_key(rollout.rebalances, lambda each: each.interval.topic).items():
        began, after = of_topic[0].interval.start, of_topic[-1].interval
        agreed = (each for each in step.replayed if each.topic == topic and each.view == ALL_HOSTS)
        yield from ((before, after) for before in [each for each in agreed if each.start < began][-1:])


def _pauses(step: AuditedStep, rollout: Rollout) -> list[float]:
    """For how many seconds each queue that it moved paused at most while messages waited, by samples, if that began in
    its time: nobody pulled, or committed but for the time that commits take. Without the queues that still stand at the
    last sample: other rules report these.
    """
    time, since = (step.window.read_from, step.window.end), rollout.start - 2 * step.settings.cadence
    pauses = []
    for topic, moved in by_key(rollout.moved, lambda queue: queue.topic).items():
        samples = step.history.offsets.get(topic)
        if samples is None:
            continue
        longest = dict.fromkeys((queue[1:] for queue in moved if queue[1:] in samples.columns), 0)
        for offsets, late in ((samples.pulled, 0), (samples, _UNCOMMITTED)):
            for stood in unconsumed(offsets, time, step.settings.max_gap, late // SECOND):
                if stood.queue in longest and since <= stood.start < rollout.end:
                    longest[stood.queue] = max(longest[stood.queue], stood.seen_at - stood.start - late)
                    if stood.end > samples.times[samples.inside(*time)][-1]:
                        del longest[stood.queue]
        pauses += [pause / SECOND for pause in longest.values()]
    return pauses


def _resolution(step: AuditedStep, rollout: Rollout) -> float:
    """How many seconds of a pause samples may hide: it began after the one before, and ended before the one after."""
    samples = (step.history.offsets[queue.topic] for queue in rollout.moved if queue.topic in step.history.offsets)
    times = (of_topic.times[of_topic.inside(rollout.start, rollout.end)] for of_topic in samples)
    longest = max((int(np.diff(of_topic).max(initial=0)) for of_topic in times), default=0)
    return 2 * max(longest, step.settings.cadence) / SECOND


def _lock_wait(step: AuditedStep, rollout: Rollout) -> float:
    """The longest time in seconds for which a queue waited for the lock of its new owner, if that began in it."""
    waited = Counter[MessageQueue]()
    for interval in step.replayed:
        if interval.is_ordinary and interval.allocation and rollout.start <= interval.start < rollout.end:
            causes = zip(interval.allocation.queues, interval.allocation.unassigned_causes, strict=True)
            waiting = (queue for queue, cause in causes if cause == UnassignedCause.WAITS_FOR_LOCK)
            waited.update({MessageQueue(interval.topic, *queue): interval.end - interval.start for queue in waiting})
    return max(waited.values(), default=0) / SECOND


def _detail(finding: Finding) -> str:
    """How many members it replaced, in how many waves, and its price; empty: it has no measures."""
    measures = finding.evidence.measured
    names = ("members_replaced", "waves", "queues_moved", "minimum_moves")
    replaced, waves, moved, least = (int(measures.get(name) or 0) for name in names)
    if not replaced or not waves:
        return ""
    detail = f"{count(replaced, 'member')} in {count(waves, 'wave')}, {count(moved, 'queue move')} ({least:,} needed)"
    if pause := measures.get("longest_pause_seconds"):
        detail += f", a queue paused for {math.ceil(pause):,} s at most"
    if again := measures.get("consumed_again_max"):
        detail += f", {count(int(again), 'message')} consumed again at most"
    return detail


RULE = Rule(
    name="ROLLOUT",
    headline="A rollout replaced members of {groups}",
    meaning="New members replace those of a group, as in a deployment. Each rebalance moves queues, which pause, and "
    "whose messages in flight come twice.",
    decided_by="At least two members, and half of the group, leave, and others with different client ids join, with at "
    "most 10 minutes between two changes. Not hosts on which a client id joined and left again, or if the group was "
    "offline for 50 s. `waves`: rebalances in which members left. `minimum_moves`: moves if each queue had moved once. "
    "A queue with messages pauses while neither its pull offset moves nor, but for the 10 s until a commit, its "
    "consumer offset. INFO; WARN if it cost something.",
    causes={
        MEMBERS_REPLACED: Cause(
            "it cost less than the others",
            "If it was a deployment, do nothing. `what-if --rollout` compares other ways of replacing the members.",
        ),
        QUEUES_STOOD: Cause(
            "a queue that it moved stood with messages for at least `stalled_after_seconds` (120) (WARN)",
            "Start new members before old ones stop, and let them report that they are ready only when they consume. "
            "`what-if --rollout` compares the ways of replacing the members.",
            headline="Queues stood in a rollout of {groups}",
            severity=WARN,
        ),
        CONSUMED_AGAIN: Cause(
            "offsets of queues went back by at least `redelivery_messages` (10,000) in all (WARN)",
            "Shut members down instead of killing them, so that they commit, and replace more of them at once. "
            "`what-if --rollout` compares the ways of replacing the members.",
            headline="Messages were consumed again in a rollout of {groups}",
            severity=WARN,
        ),
    },
    evaluate=hits,
    hit_severity=INFO,
    lasts=0,
    detail=_detail,
    is_event=True,
)
