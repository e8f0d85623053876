"""Which intervals one change of a group began: all its topics show it, each when its own brokers were asked."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, Moves, Rebalance, RebalanceInterval
from spark_jobs.domain.model.statuses import Trigger
from spark_jobs.domain.model.window import AuditSettings


@dataclass
class _Change:
    """One rebalance of a group, the `last` interval that brought a part of it, and the topics that have shown it."""

    moment: int
    last: int
    changed: set[Hashable] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)


def rebalances(intervals: Iterable[RebalanceInterval], settings: AuditSettings) -> list[Rebalance]:
    """The replayed intervals that a known change began, by moment, which is the first one's time, and start.

    Starts less than half a collection interval apart are one rebalance, with what another topic has shown already.
    Only views of all hosts count: a broker that came back lists the members one by one.
    """
    changes: list[_Change] = []
    begun = []
    for interval, moves in sorted(_begun(intervals), key=lambda interval_moves: interval_moves[0].start):
        changed = _changed(moves)
        shown = _shown(changes, interval, changed, settings.max_gap)
        if not shown:
            if not changes or interval.start - changes[-1].last >= settings.cadence / 2:
                changes.append(_Change(interval.start, interval.start))
            shown = changes[-1:]
            shown[0].last = interval.start
            shown[0].changed |= changed
        for change in shown:
            change.topics.add(interval.topic)
        begun.append(Rebalance(shown[0].moment, interval, moves))
    return sorted(begun, key=lambda rebalance: rebalance.moment)


def _begun(intervals: Iterable[RebalanceInterval]) -> Iterator[tuple[RebalanceInterval, Moves]]:
    for interval in intervals:
        moves = interval.moves if interval.view == ALL_HOSTS and interval.allocation else None
        if moves and moves.triggers and moves.triggers[0][0] != Trigger.FIRST_OBSERVATION:
            yield interval, moves


def _changed(moves: Moves) -> set[Hashable]:
    """Members that joined (True) or left (False), and other triggers: "left" or "expired" may differ between topics."""
    changed = {change for change in moves.triggers if not change[0].startswith(("MEMBER_", Trigger.BROKER_SWITCHED))}
    members = (*((True, client_id) for client_id in moves.joined), *((False, client_id) for client_id in moves.left))
    return {*changed, *members}


def _shown(
    changes: Sequence[_Change], interval: RebalanceInterval, changed: set[Hashable], holds: int
) -> list[_Change]:
    """The recent changes of other topics, latest first, if together they explain all that changed here; else none."""
    recent = takewhile(lambda change: interval.start - change.moment < holds, reversed(changes))
    shared = [change for change in recent if interval.topic not in change.topics and change.changed & changed]
    return shared if changed <= set().union(*(change.changed for change in shared)) else []
