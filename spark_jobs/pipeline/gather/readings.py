"""The many readings of a group, from Arrow lists of numbers to matrices of snapshots × queues: NumPy all the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spark_jobs.domain.model.history import UNKNOWN, ClientReadings, ConsumeStatus, OffsetReadings, Place, TopicReadings
from spark_jobs.pipeline.gather.arrow_values import offsets_of, ranges
from spark_jobs.pipeline.gather.kinds import VALUES

Numbers = NDArray[np.int64]
#: `client_snapshots.consume_status` as Arrow has it.
STATUSES = pa.list_(pa.struct([("topic", pa.string()), *((name, pa.float64()) for name in ConsumeStatus._fields[1:])]))
#: The queues of a snapshot, as it lists them, and the places of the readings that list the same.
Layout = tuple[Sequence[tuple[str | None, int | None]], Numbers]


class _Lists(NamedTuple):
    """Lists of numbers in one flat array; a list that is null is empty, a number that is null `UNKNOWN`."""

    starts: Numbers
    sizes: Numbers
    flat: Numbers

    def matrix(self, lists: Numbers, columns: Numbers) -> Numbers:
        """These columns of lists that are all as long."""
        found: Numbers = self.flat[self.starts[lists][:, None] + columns]
        return found

    def joined(self, lists: Numbers) -> Numbers:
        """These lists, one after the other."""
        found: Numbers = self.flat[ranges(self.starts[lists], self.sizes[lists])]
        return found


class Readings:
    """The readings of one shuffled group, by the fingerprint of the state that each belongs to."""

    def __init__(self, table: pa.Table) -> None:
        self.times: Numbers = table["at"].to_numpy()
        self._statuses = table["statuses"].combine_chunks()
        self._lists = [_lists(table[name].combine_chunks()) for name in VALUES]
        fingerprints = table["fingerprint"].to_numpy()
        self._by_state = np.argsort(fingerprints, kind="stable")
        self._fingerprints = fingerprints[self._by_state]

    def of(self, fingerprint: int) -> Numbers:
        """Places of the readings of a state, in any order."""
        first = np.searchsorted(self._fingerprints, fingerprint, side="left")
        behind = np.searchsorted(self._fingerprints, fingerprint, side="right")
        return self._by_state[first:behind]

    def in_order(self, places: Numbers) -> Numbers:
        """Which of the readings at these places comes first, second, … in time; the gate let one through of each."""
        return np.unique(self.times[places], return_index=True)[1]

    def offsets(self, layouts: Sequence[Layout]) -> OffsetReadings:
        """One topic's readings of a group, from those of each of its lists of queues."""
        times, queues, (end, consumer, pull, last), present = self._matrices(layouts, 4)
        return OffsetReadings(times, queues, end, consumer, pull, last, present)

    def topics(self, layouts: Sequence[Layout]) -> TopicReadings:
        """The readings of one topic's own offsets, in the same way."""
        times, queues, (smallest, following), present = self._matrices(layouts, 2)
        return TopicReadings(times, queues, smallest, following, present)

    def clients(self, places: Numbers) -> ClientReadings:
        """What a client measured in the readings at these places, in their order."""
        offsets = offsets_of(self._lists[0].sizes[places])
        count, mib, smallest, largest, last_pull = (lists.joined(places) for lists in self._lists[:5])
        told = statuses(self._statuses.take(pa.array(places)))
        return ClientReadings(offsets, count, mib, smallest, largest, last_pull, told)

    def _matrices(
        self, layouts: Sequence[Layout], count: int
    ) -> tuple[Numbers, list[Place], list[Numbers], NDArray[np.bool_]]:
        """The readings in the order of time and the queues of all layouts; the first `count` of `VALUES` and whether
        the reading has the queue at all, as matrices.
        """
        known = [_first_columns(listed) for listed, _ in layouts]
        queues = sorted({queue for columns in known for queue in columns})
        column_of = {queue: column for column, queue in enumerate(queues)}
        places = np.concatenate([at for _, at in layouts])
        found = [np.full((len(places), len(queues)), UNKNOWN) for _ in range(count)]
        present = np.zeros((len(places), len(queues)), dtype=bool)
        for columns, (_, at), behind in zip(
            known, layouts, offsets_of([len(at) for _, at in layouts])[1:], strict=True
        ):
            rows, to = slice(behind - len(at), behind), [column_of[queue] for queue in columns]
            present[rows, to] = True
            for matrix, lists in zip(found, self._lists[:count], strict=True):
                matrix[rows, to] = lists.matrix(at, np.array([*columns.values()], dtype=np.int64))
        order = self.in_order(places)
        return self.times[places[order]], queues, [matrix[order] for matrix in found], present[order]


def _first_columns(listed: Sequence[tuple[str | None, int | None]]) -> dict[Place, int]:
    """Where each queue stands first in the list; what is no queue is left out."""
    found: dict[Place, int] = {}
    for column, (broker_name, queue_id) in enumerate(listed):
        if broker_name is not None and queue_id is not None:
            found.setdefault((broker_name, queue_id), column)
    return found


def _lists(column: pa.ListArray) -> _Lists:
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    flat = pc.fill_null(column.flatten(), UNKNOWN).to_numpy()
    return _Lists(np.cumsum(sizes) - sizes, sizes, flat)


def statuses(column: pa.ListArray) -> list[tuple[ConsumeStatus, ...] | None]:
    """What clients measured, an entry per snapshot; `column`: as `STATUSES`."""
    flat = column.flatten()
    found = [
        ConsumeStatus(*one)
        for one in zip(*(flat.field(name).to_pylist() for name in ConsumeStatus._fields), strict=True)
    ]
    sizes = pc.list_value_length(column).to_pylist()
    behind = offsets_of([size or 0 for size in sizes]).tolist()
    return [
        None if size is None else tuple(found[first : first + size]) for size, first in zip(sizes, behind, strict=False)
    ]
