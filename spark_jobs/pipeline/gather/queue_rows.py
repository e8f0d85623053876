"""The rows of `rebalance_intervals`, `allocations` and `queue_progress` as Arrow columns; of the latter two there is
one per queue of an interval, so they are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import ALLOCATIONS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.domain.kernel.audited_step import Allocation, IntervalProgress, Member, RebalanceInterval
from spark_jobs.domain.kernel.progress import lag_qualities
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.series import coded
from spark_jobs.domain.model.statuses import Status
from spark_jobs.pipeline.gather.arrow_values import from_numbers, from_values, offsets_of, ranges
from spark_jobs.pipeline.gather.packed import TABLES_ARROW, own_columns

_ALLOCATIONS, _PROGRESS = TABLES_ARROW[ALLOCATIONS.name], TABLES_ARROW[QUEUE_PROGRESS.name]
_PLACE = ("broker_name", "queue_id")
_CONNECTION = ("client_id", "client_addr")
#: Columns of `queue_progress` that are numbers of `IntervalProgress` by the same name.
_NUMBERS = (
    *("readings", "last_reading_at", "consumer_offset", "produced", "consumed", "rewinds", "rewound", "rewound_max"),
    *("rewound_at", "moved_at", "lag_first", "lag_last", "lag_max", "age_ms"),
)
_Owned = tuple[Allocation, tuple[Member, ...]]
_Queues = Sequence[Place]
_Codes = NDArray[np.int64]


def allocation_columns(placed: Sequence[Placed]) -> dict[str, pa.Array]:
    """One row per (interval with an allocation, queue)."""
    replayed = [one for one in placed if one[0].allocation is not None]
    owned = [
        (interval.allocation, interval.members or ()) for interval, _, _ in replayed if interval.allocation is not None
    ]
    codes, distinct = coded(owned, key=lambda pair: (id(pair[0]), id(pair[1])))
    queues = [allocation.queues for allocation, _ in distinct]
    return _of_intervals(replayed, _sizes(queues, codes)) | _per_interval(queues, codes, _owners(distinct))


def progress_columns(progress: Sequence[IntervalProgress]) -> dict[str, pa.Array]:
    """One row per (interval with progress, queue that is measured)."""
    codes, queues = coded((one.queues for one in progress), key=id)
    placed = [(one.interval, one.start, one.end) for one in progress]
    return (
        _of_intervals(placed, _sizes(queues, codes))
        | _per_interval(queues, codes, _places(queues))
        | {name: _numbers(progress, name) for name in _NUMBERS}
        | {"lag_quality": _quality(progress), "verdict": _verdicts(progress)}
    )


def _sizes(queues: Sequence[_Queues], codes: _Codes) -> NDArray[np.int64]:
    """Number of queues of each interval, which has the queues at the place of its code."""
    return np.array([len(queue) for queue in queues], dtype=np.int64)[codes]


def _of_intervals(placed: Sequence[Placed], sizes: NDArray[np.int64]) -> dict[str, pa.Array]:
    """What all queues of an interval share."""
    rows = pa.array(np.repeat(np.arange(len(placed)), sizes))
    shared: dict[str, list[str | int]] = {
        "topic": [interval.topic for interval, _, _ in placed],
        "membership_view": [interval.view for interval, _, _ in placed],
        "interval_start": [start for _, start, _ in placed],
        "interval_end": [end for _, _, end in placed],
    }
    return {name: from_values(values, _ALLOCATIONS.field(name).type).take(rows) for name, values in shared.items()}


def _per_interval(queues: Sequence[_Queues], codes: _Codes, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The columns of each interval's queues, from those of the distinct lists of queues."""
    starts = offsets_of([len(queue) for queue in queues])
    rows = pa.array(ranges(starts[codes], _sizes(queues, codes)))
    return {name: column.take(rows) for name, column in columns.items()}


def _places(lists: Sequence[_Queues]) -> dict[str, pa.Array]:
    """Broker and id of every queue of the distinct lists."""
    places = [place for queues in lists for place in queues]
    return {
        name: pa.array([place[number] for place in places], type=_ALLOCATIONS.field(name).type)
        for number, name in enumerate(_PLACE)
    }


def _owners(owned: Sequence[_Owned]) -> dict[str, pa.Array]:
    """What `allocations` says of every queue of the distinct allocations."""

    def texts(name: str) -> pa.Array:
        return pa.array(chain.from_iterable(getattr(allocation, name) for allocation, _ in owned), type=pa.string())

    readable = [place < one.readable_count for one, _ in owned for place in range(len(one.queues))]
    holders = [members[place] for one, members in owned for places in one.owners for place in places]
    ids, addresses = (pa.array([getattr(member, name) for member in holders], type=pa.string()) for name in _CONNECTION)
    connections = pa.StructArray.from_arrays([ids, addresses], names=list(_CONNECTION))
    offsets = offsets_of([len(places) for one, _ in owned for places in one.owners])
    return {
        **_places([one.queues for one, _ in owned]),
        "readable": pa.array(readable, type=pa.bool_()),
        "owners": pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), connections),
        "unassigned_cause": texts("unassigned_causes"),
        "unassigned_client_id": texts("unassigned_client_ids"),
        "double_owned_cause": texts("double_owned_causes"),
    }


def _numbers(progress: Sequence[IntervalProgress], name: str) -> pa.Array:
    parts = [getattr(one, name) for one in progress]
    return from_numbers(np.concatenate(parts) if parts else np.empty(0, np.int64), _PROGRESS.field(name).type)


def _quality(progress: Sequence[IntervalProgress]) -> pa.Array:
    qualities = [lag_qualities(one) for one in progress]
    return pa.array(np.concatenate(qualities) if qualities else [], type=pa.string())


def _verdicts(progress: Sequence[IntervalProgress]) -> pa.Array:
    return pa.array(chain.from_iterable(one.verdicts for one in progress), type=pa.string())


MIXED = "MIXED"
#: An interval with its start and end inside its step.
Placed = tuple[RebalanceInterval, int, int]
_SCHEMA = TABLES_ARROW[REBALANCE_INTERVALS.name]


def interval_columns(placed: Sequence[Placed]) -> dict[str, pa.Array]:
    """One row per (interval, start, end). Members and queues, which many intervals share, are converted once."""
    observed = [interval if interval.status != Status.UNOBSERVED else None for interval, _, _ in placed]
    rows = [_row(*one) for one in placed]
    found = {
        "members": _shared([interval and interval.members for interval in observed], _SCHEMA.field("members").type),
        "queues": _shared([interval and interval.queues for interval in observed], _SCHEMA.field("queues").type),
    }
    for name in own_columns(REBALANCE_INTERVALS):
        if name not in found:
            found[name] = from_values([row.get(name) for row in rows], _SCHEMA.field(name).type)
    return found


def _shared(values: Sequence[object], data_type: pa.DataType) -> pa.Array:
    """One entry per value; a value that several intervals share is converted once."""
    codes, distinct = coded(values, key=id)
    return from_values(distinct, data_type).take(pa.array(codes))


def _row(interval: RebalanceInterval, start: int, end: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic": interval.topic,
        "membership_view": interval.view,
        "interval_start": start,
        "interval_end": end,
        "status": interval.status,
        "reason": interval.reason,
    }
    if interval.status != Status.UNOBSERVED:
        row |= _known_inputs(interval)
    if interval.status == Status.REPLAYED:
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
