"""The line that is shown for each round."""

from __future__ import annotations

from collections import Counter

from spark_jobs.capture.calls import CallOutcome
from spark_jobs.capture.cluster import Cluster

#: How many groups a line names.
_NAMED = 5


def round_line(cluster: Cluster, outcomes: Counter[CallOutcome], late: float, *, written: bool) -> str:
    """Return the counts of groups and calls, the seconds that the round began late, and the groups it missed."""
    lost = "" if written else "; NOT WRITTEN"
    return f"{len(cluster.groups)} groups, {_summary(outcomes)}, {late:.1f} s behind{lost}{_missed(cluster)}"


def _summary(outcomes: Counter[CallOutcome]) -> str:
    """How many calls were made, and how many were not answered, by outcome."""
    unanswered = ", ".join(
        f"{count} {outcome.lower().replace('_', ' ')}"
        for outcome, count in sorted(outcomes.items())
        if outcome is not CallOutcome.ANSWERED
    )
    return f"{outcomes.total()} calls ({unanswered or 'all answered'})"


def _missed(cluster: Cluster) -> str:
    """The groups of whose members, or offsets, no broker answered in this round, and why."""
    missed = [f"{group}: {why}" for group in sorted(cluster.groups) if (why := cluster.missed.get(group))]
    more = f", and {len(missed) - _NAMED} more groups" if len(missed) > _NAMED else ""
    return f"; MISSED {', '.join(missed[:_NAMED])}{more}" if missed else ""
