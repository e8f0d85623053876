"""The many readings of a group, from Arrow lists of numbers to matrices of snapshots × queues: NumPy all the way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spark_jobs.domain.model.history import UNKNOWN, ClientReadings, ConsumeStatus, OffsetReadings, Place, TopicReadings
from spark_jobs.pipeline.gather.arrow_values import offsets_of, sizes_of
from spark_jobs.pipeline.gather.kinds import VALUES

Numbers = NDArray[np.int64]
#: The queues of a snapshot, as it lists them, and the places of the readings that list the same.
Layout = tuple[Sequence[tuple[str | None, int | None]], Numbers]


class Readings:
    """The readings of one shuffled group, by the fingerprint of the state that each belongs to."""

    def __init__(self, table: pa.Table) -> None:
        self.times: Numbers = table["at"].to_numpy()
        self._statuses = table["statuses"].combine_chunks()
        self._numbers = [table[name].combine_chunks() for name in VALUES]
        fingerprints = table["fingerprint"].to_numpy()
        self._by_state = np.argsort(fingerprints, kind="stable")
        self._fingerprints = fingerprints[self._by_state]

    def of(self, fingerprint: int) -> Numbers:
        """Places of the readings of a state, in any order."""
        first = np.searchsorted(self._fingerprints, fingerprint, side="left")
        end = np.searchsorted(self._fingerprints, fingerprint, side="right")
        return self._by_state[first:end]

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
        """Return what a client measured in the readings at these places, in their order."""
        lists = [numbers.take(pa.array(places)) for numbers in self._numbers]
        statuses = _statuses(self._statuses.take(pa.array(places)))
        count, mib, smallest, largest, pulled, consumed, locked = map(_flat, lists)
        starts = offsets_of(sizes_of(lists[0]))
        return ClientReadings(starts, count, mib, smallest, largest, pulled, consumed, locked, statuses)

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
        matrices = [np.full((len(places), len(queues)), UNKNOWN) for _ in range(count)]
        present = np.zeros((len(places), len(queues)), dtype=bool)
        row = 0
        for columns, (listed, at) in zip(known, layouts, strict=True):
            rows, to = slice(row, row := row + len(at)), [column_of[queue] for queue in columns]
            present[rows, to] = True
            for matrix, lists in zip(matrices, self._numbers[:count], strict=True):
                as_listed = _flat(lists.take(pa.array(at))).reshape(len(at), len(listed))
                matrix[rows, to] = as_listed[:, [*columns.values()]]
        order = self.in_order(places)
        return self.times[places[order]], queues, [matrix[order] for matrix in matrices], present[order]


def _first_columns(listed: Sequence[tuple[str | None, int | None]]) -> dict[Place, int]:
    """Return where each queue stands first in the list; what is no queue is left out."""
    columns: dict[Place, int] = {}
    for column, (broker_name, queue_id) in enumerate(listed):
        if broker_name is not None and queue_id is not None:
            columns.setdefault((broker_name, queue_id), column)
    return columns


def _flat(lists: pa.ListArray) -> Numbers:
    """The numbers of all lists, one after the other; one that is null is `UNKNOWN`."""
    numbers: Numbers = pc.fill_null(lists.flatten(), UNKNOWN).to_numpy()
    return numbers


def _statuses(lists: pa.ListArray) -> list[tuple[ConsumeStatus, ...] | None]:
    """Return what clients measured, an entry per snapshot, from `client_snapshots.consume_status`."""
    flat = lists.flatten()
    statuses = map(ConsumeStatus, *(flat.field(name).to_pylist() for name in ConsumeStatus._fields))
    sizes = pc.list_value_length(lists).to_pylist()
    return [None if size is None else tuple(islice(statuses, size)) for size in sizes]
