"""REBALANCE_STORM: a group that rebalances again and again, and consumes less each time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from spark_jobs.domain.kernel.audited_step import AuditedStep, Moves
from spark_jobs.domain.kernel.triggers import host
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.rule import Cause, Rule

MEMBER_CHANGES = "MEMBER_CHANGES"
ROUTE_CHANGES = "ROUTE_CHANGES"


#: One rebalance of a group: when, and the moves of all topics that rebalanced then.
_Moment = tuple[int, Sequence[Moves]]


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per storm of the group, from its first to its last rebalance."""
    thresholds = step.settings.thresholds
    if len(step.rebalances) < thresholds.storm_rebalances:
        return
    by_moment = groupby(step.rebalances, key=lambda rebalance: rebalance.moment)
    moments = [(at, [rebalance.moves for rebalance in rebalances]) for at, rebalances in by_moment]
    for storm in storms(moments, thresholds.storm_rebalances, thresholds.storm_seconds * SECOND):
        by_members = sum(any(change.triggers[0][0].startswith("MEMBER_") for change in moves) for _, moves in storm)
        changes = [change for _, moves in storm for change in moves]
        yield RuleHit(
            *(storm[0][0], storm[-1][0], MEMBER_CHANGES if by_members * 2 >= len(storm) else ROUTE_CHANGES),
            implicated=_client_of(storm),
            severity=INFO if _is_rolling(storm) else None,
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


def _is_rolling(storm: Sequence[_Moment]) -> bool:
    """Return whether members changed, and each host joined once at most, and left once at most: a deployment."""
    joined = Counter(host for _, moves in storm for host in _hosts(change.joined for change in moves))
    left = Counter(host for _, moves in storm for host in _hosts(change.left for change in moves))
    return max((*joined.values(), *left.values()), default=0) == 1


def _hosts(client_ids: Iterable[Sequence[str]]) -> set[str]:
    return {host(client_id) or client_id for ids in client_ids for client_id in ids}


def storms(moments: Sequence[_Moment], minimum: int, within: int) -> list[Sequence[_Moment]]:
    """The storms: runs of at least `minimum` moments within `within` microseconds; runs that overlap are one."""
    runs: list[tuple[int, int]] = []
    for first in range(len(moments) - minimum + 1):
        last = first + minimum - 1
        if moments[last][0] - moments[first][0] < within:
            begin = runs.pop()[0] if runs and runs[-1][1] >= first else first
            runs.append((begin, last))
    return [moments[first : last + 1] for first, last in runs]


RULE = Rule(
    name="REBALANCE_STORM",
    headline="{groups} {groups:rebalances|rebalance} again and again",
    meaning="The group rebalances again and again. Each time queues get new owners, pause for up to 20 s, and "
    "deliver messages in flight again.",
    decided_by="At least `storm_rebalances` (5) rebalances in less than `storm_seconds` (600), in the step and its "
    "look-back. INFO if each host joined and left once at most, as in a rolling deployment. `client_ids`: who "
    "joined or left in at least half of them.",
    causes={
        MEMBER_CHANGES: Cause(
            "mostly, members joined or left",
            "Check for restarts (FLAPPING_MEMBER names the consumer), out-of-memory kills and failing probes. In a "
            "rolling deployment, restart several consumers at once.",
        ),
        ROUTE_CHANGES: Cause(
            "mostly, queues or brokers were added or removed",
            "Check the brokers for restarts, and their connections to the name servers.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
)
