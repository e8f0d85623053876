"""The members that each group of a fleet needs, from its published steps."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.phrases import percent_text
from spark_jobs.domain.status.utilization import Bottleneck

#: A smaller share of the time does not show what the rest of it needed.
_ENOUGH_OBSERVED = 0.5


class SizeVerdict(StrEnum):
    """Verdict on the size of a group."""

    TOO_FEW = "TOO_FEW"
    NOT_BY_MEMBERS = "NOT_BY_MEMBERS"
    UNEVEN = "UNEVEN"
    ENOUGH = "ENOUGH"
    TOO_MANY = "TOO_MANY"
    UNKNOWN = "UNKNOWN"


class PublishedStep(NamedTuple):
    """A step of a group in `group_status`; None is unknown."""

    member_count: int | None
    queue_count: int | None
    utilization: float | None
    busiest_utilization: float | None
    busiest_bottleneck: str | None


class FleetNeed(NamedTuple):
    """A group at its busiest step: connections, queues, how busy all of them and the busiest of them were, what limits
    that one, and the fewest `needed`, with spare ones of those that it has. None: unknown, or no number is enough.
    `observed_share`: part of the time in which snapshots cover the group; `reason`: why there is no verdict.
    """

    verdict: SizeVerdict
    members: int | None = None
    queues: int | None = None
    utilization: float | None = None
    busiest: float | None = None
    bottleneck: str | None = None
    needed: int | None = None
    observed_share: float | None = None
    reason: str | None = None


def why_no_verdict(observed_share: float, open_rules: Collection[str]) -> str | None:
    """The reason not to size a group by what was recorded of it. `open_rules`: of its open incidents."""
    reasons = [f"open incident: {', '.join(sorted(open_rules))}"] if open_rules else []
    if observed_share < _ENOUGH_OBSERVED:
        reasons.append(f"observed for {percent_text(observed_share)} of the time")
    return "; ".join(reasons) or None


def fleet_need(steps: Sequence[PublishedStep], wanted: float, load: float, spare: int = 1) -> FleetNeed:
    """Of the steps of one group, with `load` times the messages: the busiest member has at most the part `wanted` of
    what it can consume. Up to `spare` members more than the fewest are not too many.

    Queues are consumed to be shared evenly, and members to be as fast as they are together. `NOT_BY_MEMBERS`: one queue
    is the limit, or there are too few. `UNEVEN`: members are enough, but one of them is slower, or has more to do.
    """
    known = [step for step in steps if step.utilization is not None and step.busiest_utilization is not None]
    if not known:
        return FleetNeed(SizeVerdict.UNKNOWN, reason="no step shows how busy members were")
    peak = max(known, key=lambda step: step.busiest_utilization or 0)
    utilization, busiest = load * (peak.utilization or 0), load * (peak.busiest_utilization or 0)
    need = FleetNeed(
        SizeVerdict.UNKNOWN, peak.member_count, peak.queue_count, utilization, busiest, peak.busiest_bottleneck
    )
    if not peak.member_count or not peak.queue_count:
        return need._replace(reason="members or queues are unknown")
    # What there is to do, in what one member can; the busiest member has the most queues of an even share.
    work, queues = utilization * peak.member_count, peak.queue_count
    fewest = next((count for count in range(1, queues + 1) if work * -(-queues // count) / queues <= wanted), None)
    if fewest is None or (busiest > wanted and peak.busiest_bottleneck != Bottleneck.LISTENER):
        return need._replace(verdict=SizeVerdict.NOT_BY_MEMBERS)
    needed = max(fewest, min(peak.member_count, fewest + spare))
    if busiest > wanted and needed <= peak.member_count:
        verdict = SizeVerdict.UNEVEN
    elif needed > peak.member_count:
        verdict = SizeVerdict.TOO_FEW
    else:
        verdict = SizeVerdict.ENOUGH if needed == peak.member_count else SizeVerdict.TOO_MANY
    return need._replace(verdict=verdict, needed=needed)
