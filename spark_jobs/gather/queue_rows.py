"""The rows of `allocations` and `queue_progress`, as Arrow columns: one per queue of an interval, so they are many."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import ALLOCATIONS, QUEUE_PROGRESS
from spark_jobs.domain.audited_step import Allocation, IntervalProgress, Member
from spark_jobs.domain.history import Place
from spark_jobs.domain.progress import lag_qualities
from spark_jobs.gather.arrow_values import Shared, from_numbers, from_values, offsets_of, ranges
from spark_jobs.gather.interval_rows import Placed
from spark_jobs.gather.packed import TABLES_ARROW

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


def allocation_columns(placed: Sequence[Placed]) -> dict[str, pa.Array]:
    """One row per (interval with an allocation, queue)."""
    owned = Shared()
    replayed = [one for one in placed if one[0].allocation is not None]
    for interval, _, _ in replayed:
        allocation, members = interval.allocation, interval.members or ()
        owned.use((allocation, members), key=(id(allocation), id(members)))
    queues = [allocation.queues for allocation, _ in owned.values]
    return _of_intervals(replayed, _sizes(owned, queues)) | _per_use(owned, queues, _owners(owned.values))


def progress_columns(progress: Sequence[IntervalProgress]) -> dict[str, pa.Array]:
    """One row per (interval with progress, queue that is measured)."""
    measured = Shared()
    for one in progress:
        measured.use(one.queues, key=id(one.queues))
    queues = measured.values
    placed = [(one.interval, one.start, one.end) for one in progress]
    return (
        _of_intervals(placed, _sizes(measured, queues))
        | _per_use(measured, queues, _places(queues))
        | {name: _numbers(progress, name) for name in _NUMBERS}
        | {"lag_quality": _quality(progress), "verdict": _verdicts(progress)}
    )


def _sizes(shared: Shared, queues: Sequence[_Queues]) -> NDArray[np.int64]:
    """Number of queues of each use; `queues`: those of each distinct value."""
    sizes = np.array([len(one) for one in queues], dtype=np.int64)
    return sizes[np.array(shared.uses, dtype=np.int64)]


def _of_intervals(placed: Sequence[Placed], sizes: NDArray[np.int64]) -> dict[str, pa.Array]:
    """What all queues of an interval share."""
    rows = pa.array(np.repeat(np.arange(len(placed)), sizes))
    shared: dict[str, list[str | int]] = {
        "topic": [one.topic for one, _, _ in placed],
        "membership_view": [one.view for one, _, _ in placed],
        "interval_start": [start for _, start, _ in placed],
        "interval_end": [end for _, _, end in placed],
    }
    return {name: from_values(values, _ALLOCATIONS.field(name).type).take(rows) for name, values in shared.items()}


def _per_use(shared: Shared, queues: Sequence[_Queues], columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The queues' columns of each use, from those of the distinct values."""
    starts = offsets_of([len(one) for one in queues])
    uses = np.array(shared.uses, dtype=np.int64)
    rows = pa.array(ranges(starts[uses], _sizes(shared, queues)))
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
    ids, addresses = (pa.array([getattr(one, name) for one in holders], type=pa.string()) for name in _CONNECTION)
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
