"""The rows of `rebalance_intervals`, as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from schemas import REBALANCE_INTERVALS
from spark_jobs.domain.audited_step import REPLAYED, Allocation, RebalanceInterval
from spark_jobs.gather.arrow_values import Shared, from_values
from spark_jobs.gather.packed import TABLES_ARROW, own_columns

UNOBSERVED, MIXED = "UNOBSERVED", "MIXED"
#: An interval with its start and end inside its step.
Placed = tuple[RebalanceInterval, int, int]
_SCHEMA = TABLES_ARROW[REBALANCE_INTERVALS.name]


def interval_columns(placed: Sequence[Placed]) -> dict[str, pa.Array]:
    """One row per (interval, start, end). Members and queues, which many intervals share, are converted once."""
    observed = [one if one.status != UNOBSERVED else None for one, _, _ in placed]
    rows = [_row(*one) for one in placed]
    shared = {"members": Shared(), "queues": Shared()}
    for one in observed:
        shared["members"].use(one and one.members)
        shared["queues"].use(one and one.queues)
    found = {name: column.column(_SCHEMA.field(name).type) for name, column in shared.items()}
    for name in own_columns(REBALANCE_INTERVALS):
        if name not in found:
            found[name] = from_values([row.get(name) for row in rows], _SCHEMA.field(name).type)
    return found


def _row(interval: RebalanceInterval, start: int, end: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": interval.topic,
        "membership_view": interval.view,
        "interval_start": start,
        "interval_end": end,
        "status": interval.status,
        "reason": interval.reason,
    }
    if interval.status != UNOBSERVED:
        row |= _known_inputs(interval)
    if interval.status == REPLAYED:
        row |= {"strategy": _strategy(interval), "strategy_source": interval.strategy_source}
    if interval.allocation is not None:
        row |= _totals(interval.allocation)
    return row | _moves(interval)


def _known_inputs(interval: RebalanceInterval) -> dict[str, Any]:
    members, queues = interval.members, interval.queues
    return {
        "members_seen_at": interval.seen_at,
        "member_count": None if members is None else len(members),
        "distinct_members": None if members is None else len({member.client_id for member in members}),
        "queue_count": None if queues is None else len(queues),
    }


def _strategy(interval: RebalanceInterval) -> str | None:
    """What all members run; None without members."""
    names = {member.strategy for member in interval.members or ()}
    return MIXED if len(names) > 1 else next(iter(names), None)


def _totals(allocation: Allocation) -> dict[str, Any]:
    shares = allocation.queues_per_member
    return {
        "unassigned_queues": allocation.counts.unassigned_queues,
        "double_owned_queues": allocation.counts.double_owned_queues,
        "idle_members": sum(share == 0 for share in shares),
        "min_queues_per_member": min(shares, default=None),
        "max_queues_per_member": max(shares, default=None),
    }


def _moves(interval: RebalanceInterval) -> dict[str, Any]:
    moves = interval.moves
    if moves is None:
        return {}
    trigger, subject = moves.triggers[0] if moves.triggers else (None, None)
    return {
        "trigger": trigger,
        "trigger_subject": subject,
        "triggers": moves.triggers,
        "queues_moved": moves.moved,
        "queues_preserved": moves.preserved,
        "least_moves": moves.least,
    }
