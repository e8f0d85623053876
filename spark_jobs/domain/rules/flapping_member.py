"""FLAPPING_MEMBER: one member keeps coming and going, and its group rebalances every time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, Rebalance
from spark_jobs.domain.kernel.triggers import host
from spark_jobs.domain.model.finding import Party, RuleHit
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "FLAPPING_MEMBER"


class FlappingCause(StrEnum):
    """How a member that comes and goes is recognised."""

    SAME_ID = "SAME_ID"
    NEW_ID_EACH_TIME = "NEW_ID_EACH_TIME"


class MembershipChange(NamedTuple):
    """A client id that came (or went) in one rebalance of a topic."""

    rebalance: Rebalance
    client_id: str
    came: bool


class Flapping(NamedTuple):
    """Who flaps, an id or a host, with its comings and goings; `passages`, one per topic."""

    cause: FlappingCause
    subject: str
    comings: int
    goings: int
    passages: Sequence[MembershipChange]


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per id or host that flaps, from when it first came or went to the last time."""
    if not step.rebalances:
        return []
    return [_hit(one) for one in flapping(step.rebalances, step.settings.thresholds.flapping_times)]


def flapping(rebalances: Iterable[Rebalance], times: int) -> list[Flapping]:
    """Who came at least so many times, and went so many times.

    An id counts by its rebalances. A host counts by the ids that came and went, as a Java client ≥ 4.9 has a new one
    every time; with several members at once it must be so many times each, so that restarting all of them in turn,
    as a deploy does, is no flapping.
    """
    found = []
    peers: dict[tuple[str, int], Counter[str | None]] = {}
    for (cause, subject), passages in _by_subject(rebalances).items():
        comings, goings = (_count(cause, passages, came) for came in (True, False))
        fewest = min(comings, goings)
        if fewest >= times and fewest >= times * _at_once(cause, subject, passages, peers):
            found.append(Flapping(cause, subject, comings, goings, passages))
    return found


def _by_subject(rebalances: Iterable[Rebalance]) -> Mapping[tuple[FlappingCause, str], Sequence[MembershipChange]]:
    found: dict[tuple[FlappingCause, str], list[MembershipChange]] = defaultdict(list)
    for rebalance in rebalances:
        for ids, came in ((rebalance.moves.joined, True), (rebalance.moves.left, False)):
            for client_id in ids:
                passage = MembershipChange(rebalance, client_id, came)
                found[FlappingCause.SAME_ID, client_id].append(passage)
                if (address := host(client_id)) is not None:
                    found[FlappingCause.NEW_ID_EACH_TIME, address].append(passage)
    return found


def _count(cause: FlappingCause, passages: Iterable[MembershipChange], came: bool) -> int:
    same = [change for change in passages if change.came == came]
    by_id = cause is FlappingCause.SAME_ID
    return len({change.rebalance.moment for change in same} if by_id else {change.client_id for change in same})


def _at_once(
    cause: FlappingCause,
    subject: str,
    passages: Iterable[MembershipChange],
    peers: dict[tuple[str, int], Counter[str | None]],
) -> int:
    """Most members that the host had after one of the rebalances; `peers` keeps them per host for each of these."""
    if cause is FlappingCause.SAME_ID:
        return 1
    most = 1
    for interval in (change.rebalance.interval for change in passages):
        key = (interval.topic, interval.start)
        if key not in peers:
            peers[key] = Counter(host(member.client_id) for member in interval.members or ())
        most = max(most, peers[key][subject])
    return most


def _hit(found: Flapping) -> RuleHit:
    moments = [change.rebalance.moment for change in found.passages]
    # An id that came may belong with one that left: what a rebalance of a topic moved counts once.
    moves = {
        (change.rebalance.interval.topic, change.rebalance.interval.start): change.rebalance.moves
        for change in found.passages
    }
    moved = sum(one.moved or 0 for one in moves.values())
    least = sum(one.least or 0 for one in moves.values())
    return RuleHit(
        min(moments),
        max(moments),
        cause=found.cause,
        client_id=found.subject,
        view=ALL_HOSTS,
        minimum_seconds=0.0,
        severity=WARN,
        measures={
            "comings": found.comings,
            "goings": found.goings,
            "least_moves": least,
            "moved_per_least_move": moved / least if least > 0 else None,
            "queues_moved": moved,
        },
        parties=(Party(found.subject, tuple(sorted({change.client_id for change in found.passages}))),),
    )


RULE = Rule(
    name=NAME,
    headline="{subjects} keeps joining and leaving {groups}",
    meaning="One member keeps joining and leaving, and the group's queues change owners every time. `measures`: "
    "`comings` (how often it joined), `goings` (how often it left), `queues_moved` in those rebalances over "
    "all topics, `least_moves` (the fewest queues that had to move for the same shares) and their ratio. "
    "`parties` lists the client ids.",
    decided_by="a client id that joined and left at least `flapping_times` (3) times in the step and its look-back; or "
    "a machine (the text before `@` in the id) from which that many new ids joined and left, as a Java "
    "client ≥ 4.9 has a new id after each restart. If a machine runs several members at once, each must do "
    "so that often: restarting them in turn is a deployment.",
    causes={
        FlappingCause.SAME_ID: Cause(
            "the client id stays the same",
            "The consumer loses its connection, or restarts with a fixed instanceName. Check its log, its network and "
            "its garbage collection pauses.",
        ),
        FlappingCause.NEW_ID_EACH_TIME: Cause(
            "the client id is a new one each time: the process restarts",
            "The process restarts again and again. Check its exit code, and look for out-of-memory kills and failing "
            "liveness probes.",
        ),
    },
    example="`flapper`: `10.31.92.2` leaves and joins again every 25 s, six times from 02:12:19 to 02:16:56; each time "
    "the other member takes all 16 queues and gives half of them back.",
    hits=hits,
)
