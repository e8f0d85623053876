"""OFFSET_REWOUND: a group's offset went back, so messages are consumed again."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import numpy as np

from spark_jobs.domain.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.causes import DoubleOwnedCause
from spark_jobs.domain.rules import client_hung, duplicate_client_id, flapping_member
from spark_jobs.domain.rules.follows import Follows, clients, everything, queues
from spark_jobs.domain.rules.progress_queues import number, queue_at
from spark_jobs.domain.rules.rule import Cause, Rule, RuleHit
from spark_jobs.domain.window import SECOND

NAME = "OFFSET_REWOUND"
REWOUND = "REWOUND"


class RewindCause(StrEnum):
    """Why a consumer offset went back; the first that applies, in this order."""

    TWINS = "TWINS"
    HAND_OVER = "HAND_OVER"
    RESET = "RESET"


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per (interval, queue whose offset went back): from the reading that showed the greatest rewind, for a
    cadence; one condition per topic and cause.
    """
    for progress in step.progress:
        for place in np.flatnonzero(progress.rewinds > 0).tolist():
            cause = _cause(step, progress, place)
            if cause:
                yield _hit(step, progress, place, cause)


def rewind_cause(
    rewound: int, tolerance: int, *, owned_by_twins: bool, to_rebalance: float, settled_after: float
) -> RewindCause | None:
    """Why an offset went back by so many messages at most; None where that is no more than the tolerance.

    Twins overwrite each other's commits. A consumer that lost a queue without knowing it (frozen, cut off) commits
    what it had when it comes back, which shows around a rebalance. What is left is a reset by an operator.
    """
    if rewound <= tolerance:
        return None
    if owned_by_twins:
        return RewindCause.TWINS
    return RewindCause.HAND_OVER if to_rebalance <= settled_after else RewindCause.RESET


def _cause(step: AuditedStep, progress: IntervalProgress, place: int) -> RewindCause | None:
    thresholds, at = step.settings.thresholds, int(progress.rewound_at[place])
    # To the nearer end of the interval; one that the step cuts does not end there.
    since = at - progress.start if progress.start > step.window.start else np.inf
    until = progress.end - at if progress.end < step.window.end else np.inf
    return rewind_cause(
        int(progress.rewound_max[place]),
        thresholds.rewind_tolerance,
        owned_by_twins=_owned_by_twins(progress, place),
        to_rebalance=min(since, until),
        settled_after=thresholds.convergence_seconds * SECOND + step.settings.cadence,
    )


def _hit(step: AuditedStep, progress: IntervalProgress, place: int, cause: RewindCause) -> RuleHit:
    at = int(progress.rewound_at[place])
    return RuleHit(
        at,
        min(at + step.settings.cadence, progress.end),
        cause=cause,
        topic=progress.interval.topic,
        view=progress.interval.view,
        queue=queue_at(progress, place, REWOUND),
        implicated=_first_owner(progress, place),
        minimum_seconds=0.0,
        severity="WARN",
        weight=number(progress.rewound_max, place),
        measures={
            "rewinds": number(progress.rewinds, place),
            "rewound": number(progress.rewound, place),
            "rewound_max": number(progress.rewound_max, place),
        },
    )


def _owned_by_twins(progress: IntervalProgress, place: int) -> bool:
    """Whether twins own the queue, or may: the group has some, and who owns it is not known."""
    interval = progress.interval
    if interval.allocation is not None:
        return interval.allocation.double_owned_causes[place] == DoubleOwnedCause.DUPLICATE_CLIENT_ID
    client_ids = [member.client_id for member in interval.members or ()]
    return not interval.is_shared_out and len(set(client_ids)) < len(client_ids)


def _first_owner(progress: IntervalProgress, place: int) -> str | None:
    """In allocation order; None: nobody owns it, or nobody knows who."""
    allocation, members = progress.interval.allocation, progress.interval.members
    owners = allocation.owners[place] if allocation else ()
    return members[owners[0]].client_id if owners and members else None


RULE = Rule(
    name=NAME,
    headline="Consumer offsets of {groups} went back in {queues}",
    meaning="The consumer offset of a queue went back, so its messages are consumed again. The measures are those of "
    "the queue that went back furthest: `rewound_max` messages at once, `rewound` in total, and the number of "
    "`rewinds`.",
    decided_by="two readings, the later one with an offset that is smaller by more than `rewind_tolerance`. A topic "
    "that was deleted and created again does not count. The finding begins with the reading that shows it.",
    causes={
        RewindCause.TWINS: Cause(
            "consumers that share a client id own the queue (or may own it, where owners are unknown), and each "
            "commits its own progress",
            "Consumers that share a client id overwrite each other's offsets. Give every consumer its own client id.",
        ),
        RewindCause.HAND_OVER: Cause(
            "the rewind is within `convergence_seconds` and one cadence of a rebalance",
            "A consumer that had lost the queue without noticing (frozen, or cut off from the network) committed its "
            "old offset. Look for long pauses of its process, and let the listener tolerate duplicate messages.",
        ),
        RewindCause.RESET: Cause(
            "otherwise: somebody reset the offset",
            "If the reset was intended, do nothing; otherwise find out who did it. The listener receives these "
            "messages again.",
        ),
    },
    example="`batch-export`: reset at 02:18:54 to a time four minutes before, 539 messages per queue; `audit-service`: "
    "the consumer that was frozen commits its old offsets when it resumes at 02:16:54, 507 messages back.",
    hits=hits,
    follows=(
        Follows(duplicate_client_id.NAME, clients, (RewindCause.TWINS,)),
        Follows(client_hung.NAME, queues, (RewindCause.HAND_OVER,)),
        Follows(flapping_member.NAME, everything, (RewindCause.HAND_OVER,)),
    ),
)
