"""The many samples of a group, from Arrow lists of numbers to matrices of snapshots × queues: NumPy all the way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from expectations.rows import distinct
from spark_jobs.domain.model.history import UNKNOWN, ClientSamples, ConsumeStatus, OffsetSamples, Place, TopicSamples
from spark_jobs.pipeline.exchange import CLIENT, MEASURED, OFFSETS, TOPIC, Kind
from spark_jobs.store.arrow import offsets_of, one_array, ranges, sizes_of

Numbers = NDArray[np.int64]
#: The queues of a snapshot, as it lists them, and the places of the samples that list the same.
Layout = tuple[Sequence[tuple[str | None, int | None]], Numbers]


#: The index of no number.
NOWHERE = -1


class _SampleLists(NamedTuple):
    """The numbers of all samples of a kind: where those of each sample begin, how many it has, and by name the numbers
    of all, one after the other; one that is null is `UNKNOWN`.
    """

    starts: Numbers
    sizes: Numbers
    numbers: dict[str, Numbers]

    @classmethod
    def of(cls, kind: Kind, samples: pa.StructArray) -> _SampleLists:
        """The lists of samples, which have as many entries in each of the kind's numbers."""
        sizes = sizes_of(samples.field(kind.numbers[0]))
        numbers = {name: pc.fill_null(samples.field(name).flatten(), UNKNOWN).to_numpy() for name in kind.numbers}
        return cls(offsets_of(sizes)[:-1], sizes, numbers)


class Samples:
    """The samples of one shuffled group (`exchange.SAMPLES`), by the fingerprint of the state that each belongs to."""

    def __init__(self, samples: pa.Table) -> None:
        samples = samples.combine_chunks()
        self.times: Numbers = samples["at"].to_numpy()
        self._lists = {kind: _SampleLists.of(kind, one_array(samples[kind.name])) for kind in MEASURED}
        clients = one_array(samples[CLIENT.name])
        self._statuses = _statuses(clients.field("consume_status"))
        self._started_at: Numbers = pc.fill_null(clients.field("started_at").cast(pa.int64()), UNKNOWN).to_numpy()
        states, of_sample = distinct(samples["fingerprint"].to_numpy())
        # A stable sort of 16 bits is by radix, ten times as fast.
        order = np.argsort(of_sample.astype(np.min_scalar_type(len(states))), kind="stable")
        first = offsets_of(np.bincount(of_sample, minlength=len(states)))[:-1]
        self._places: dict[int | None, Numbers] = dict(zip(states.tolist(), np.split(order, first)[1:], strict=True))

    def of(self, fingerprint: int | None) -> Numbers:
        """Places of the samples of a state, in any order."""
        return self._places.get(fingerprint, np.empty(0, np.int64))

    def in_order(self, places: Numbers) -> Numbers:
        """Which of the samples at these places comes first, second, … in time; the gate let one through of each."""
        return np.unique(self.times[places], return_index=True)[1]

    def offsets(self, layouts: Sequence[Layout]) -> OffsetSamples:
        """One topic's samples of a group, from those of each of its lists of queues."""
        times, queues, numbers, present = self._matrices(OFFSETS, layouts)
        end, consumer, pull, last = (numbers[name] for name in OFFSETS.numbers)
        return OffsetSamples(times, queues, end, consumer, pull, last, present)

    def topics(self, layouts: Sequence[Layout]) -> TopicSamples:
        """The samples of one topic's own offsets, in the same way."""
        times, queues, numbers, present = self._matrices(TOPIC, layouts)
        return TopicSamples(times, queues, numbers["min_offset"], numbers["max_offset"], present)

    def clients(self, places: Numbers) -> ClientSamples:
        """Measures of a client in the samples at these places, in their order."""
        starts, sizes, numbers = self._lists[CLIENT]
        flat = ranges(starts[places], sizes[places])
        taken = {name: of_name[flat] for name, of_name in numbers.items() if name in ClientSamples.__annotations__}
        statuses = [self._statuses.get(place) for place in places.tolist()]
        started_at = self._started_at[places].tolist()
        return ClientSamples(offsets_of(sizes[places]), statuses=statuses, started_at=started_at, **taken)

    def _matrices(
        self, kind: Kind, layouts: Sequence[Layout]
    ) -> tuple[Numbers, list[Place], dict[str, Numbers], NDArray[np.bool_]]:
        """The samples in the order of time and the queues of all layouts; each of the kind's numbers and whether the
        sample has the queue at all, as matrices.
        """
        starts, _, numbers = self._lists[kind]
        known = [_first_columns(listed) for listed, _ in layouts]
        queues = sorted({queue for columns in known for queue in columns})
        column_of = {queue: column for column, queue in enumerate(queues)}
        places = np.concatenate([at for _, at in layouts])
        index = np.full((len(places), len(queues)), NOWHERE)
        row = 0
        for columns, (_, at) in zip(known, layouts, strict=True):
            rows, to = slice(row, row := row + len(at)), [column_of[queue] for queue in columns]
            index[rows, to] = starts[at, np.newaxis] + np.fromiter(columns.values(), np.int64, len(columns))
        order = self.in_order(places)
        index = index[order]
        present = index != NOWHERE
        matrices = {name: of_name.take(index, mode="clip") for name, of_name in numbers.items()}
        for matrix in matrices.values():
            matrix[~present] = UNKNOWN
        return self.times[places[order]], queues, matrices, present


def _first_columns(listed: Sequence[tuple[str | None, int | None]]) -> dict[Place, int]:
    """The index at which each queue stands first in the list; what is no queue is left out."""
    columns: dict[Place, int] = {}
    for column, (broker_name, queue_id) in enumerate(listed):
        if broker_name is not None and queue_id is not None:
            columns.setdefault((broker_name, queue_id), column)
    return columns


def _statuses(lists: pa.ListArray) -> dict[int, tuple[ConsumeStatus, ...]]:
    """By the place of its sample what a client measured, of those that did, from `client_snapshots.consume_status`."""
    flat, known = lists.flatten(), np.flatnonzero(lists.is_valid())
    statuses = map(ConsumeStatus, *(flat.field(name).to_pylist() for name in ConsumeStatus._fields))
    sizes = sizes_of(lists)[known]
    return {place: tuple(islice(statuses, size)) for place, size in zip(known.tolist(), sizes.tolist(), strict=True)}
