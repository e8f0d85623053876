"""The snapshots of a group, or of a topic, checked before they are evaluated: those that break a rule are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations import BY_TABLE
from expectations.rows import CheckSettings, Flags, Numbers, Rows, codes, first_places
from expectations.suite import KEYS_ARE_UNIQUE, Expectation
from schemas import ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.exchange import (
    KEY,
    KINDS,
    ROUTE,
    Kind,
    source_columns,
)
from spark_jobs.pipeline.quality.facts import CheckCounts, Fact, any_of, broken_by, repeats, unknown_in
from spark_jobs.pipeline.quality.quarantine import quarantined
from spark_jobs.store.arrow_values import one_array, ranges

_TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Checked:
    """`STATES` and `SAMPLES` without the times and samples of snapshots that cannot be used, what was counted, and the
    rows of `quarantine` for those.
    """

    states: pa.Table
    samples: pa.Table
    facts: Sequence[Fact]
    rejected: Sequence[Mapping[str, Any]]


def checked(states: pa.Table, samples: pa.Table, settings: CheckSettings) -> Checked:
    """Checks the snapshots of the read window of the groups and topics that were gathered in one part.

    Copies of topics' states and of proxies' members are checked here, too, but counted in a part of their own.
    """
    states, samples = states.combine_chunks(), samples.combine_chunks()
    sources = [
        _SourceSnapshots(states, samples, settings, kind, is_counted, places)
        for kind in KINDS
        for is_counted in (True, False)
        if len(places := _places(states, kind, is_counted)) or (kind is ROUTE and is_counted)
    ]
    routes = _routes([source for source in sources if source.kind is ROUTE], settings)
    facts, rejected = list[Fact](), list[Mapping[str, Any]]()
    for source in sources:
        source.check({ROUTE_SNAPSHOTS: routes})
        if source.is_counted:
            facts += source.facts()
            rejected += source.rejected()
    return Checked(*_without_left_out(states, samples, sources), facts, rejected)


def _places(states: pa.Table, kind: Kind, is_counted: bool) -> Numbers:
    """The places of a kind's states."""
    is_wanted = pc.and_(pc.equal(states["kind"], kind.name), pc.equal(states["counted"], is_counted))
    return np.flatnonzero(is_wanted.to_numpy())


class _SourceSnapshots:
    """The snapshots of one source, an entry each in `state` (a place in `places`, which are those of the states), `at`
    and `position` (in the samples, or in all the states' times). Those outside the read window are left alone.
    """

    def __init__(
        self,
        states: pa.Table,
        samples: pa.Table,
        settings: CheckSettings,
        kind: Kind,
        is_counted: bool,
        places: Numbers,
    ) -> None:
        self.kind, self.suite, self.is_counted, self.places = kind, BY_TABLE[kind.table], is_counted, places
        self._states = states.select([*KEY, "fingerprint", kind.name]).take(pa.array(places))
        self._samples, self._settings = samples, settings
        state, position = self._of_samples() if kind.is_measured else _of_times(states, places)
        times = samples["at"] if kind.is_measured else one_array(states["times"]).values
        self._at = times.to_numpy()
        at = self._at[position]
        inside = (at >= to_micros(settings.read_start)) & (at < to_micros(settings.read_end))
        self.state, self.at, self.position = state[inside], at[inside], position[inside]

    def _of_samples(self) -> tuple[Numbers, Numbers]:
        """State and position of every sample of these states."""
        fingerprints, wanted = self._states["fingerprint"].to_numpy(), self._samples["fingerprint"].to_numpy()
        places = first_places(wanted, fingerprints)
        samples = np.flatnonzero(places >= 0)
        return places[samples], samples

    @cached_property
    def _step(self) -> Numbers:
        return self._settings.step_of(self.at)

    @cached_property
    def _folded(self) -> tuple[Rows, Numbers]:
        """A row per (state, step), with what a state holds of its table's columns; and the row of each snapshot."""
        steps, of_step = np.unique(self._step, return_inverse=True)
        pairs, of_snapshot = np.unique(self.state * max(len(steps), 1) + of_step, return_inverse=True)
        state, begins = pairs // max(len(steps), 1), steps[pairs % max(len(steps), 1)]
        columns = self._keys(state) | source_columns(self.kind, self._values(state))
        start = pa.array(begins).cast(_TIME)
        return Rows({**columns, "step_start": start}, len(pairs), self._settings), of_snapshot

    def _broken_measures(self, expectations: Sequence[Expectation]) -> dict[str, Flags]:
        """By expectation that is broken at all, which snapshots break it, by the times and numbers that each has of its
        own. All are asked, as they are: what is chosen of them would be copied.
        """
        samples = one_array(self._samples[self.kind.name]) if self.kind.is_measured else None
        columns = {} if samples is None else source_columns(self.kind, samples=samples)
        rows = Rows(columns | {"captured_at": pa.array(self._at).cast(_TIME)}, len(self._at), self._settings)
        of_snapshots = {name: flags[self.position] for name, flags in broken_by(rows, expectations).items()}
        return {name: flags for name, flags in of_snapshots.items() if flags.any()}

    def _keys(self, state: Numbers) -> dict[str, pa.Array]:
        """The columns of the source's key alongside the time, an entry per state."""
        taken = self._states.select(KEY).take(pa.array(state)).combine_chunks()
        named = dict(zip((*KEY[:-1], self.kind.named_by), taken.columns, strict=True))
        return {name: one_array(column) for name, column in named.items() if name in self.kind.table.key}

    def _values(self, state: Numbers) -> pa.StructArray:
        return one_array(self._states[self.kind.name]).take(pa.array(state))

    def _measurements(self, position: Numbers) -> pa.StructArray:
        return one_array(self._samples[self.kind.name]).take(pa.array(position))

    def check(self, tables: Mapping[Table, Rows]) -> None:
        """Asks every expectation, or of a copy those that a snapshot must keep, and finds what is to be left out."""
        rows, of_snapshot = self._folded
        suite = self.suite
        expectations: Sequence[Expectation] = suite.expectations if self.is_counted else suite.rejecting
        if self.is_counted:
            rows = suite.prepare(rows, tables)
        of_states = broken_by(rows, [expectation for expectation in expectations if not expectation.of_readings])
        self.broken = {name: flags[of_snapshot] for name, flags in of_states.items()}
        self.broken |= self._broken_measures([expectation for expectation in expectations if expectation.of_readings])
        self.breaking = any_of(self.broken, suite.rejecting, len(self.at))
        self.left_out = self.breaking | self._repeated()

    def _repeated(self) -> Flags:
        """Snapshots of one key: where they say the same, all but the first of them, else all: nobody knows which is
        true. Counted are all but the first.
        """
        (series,) = codes(KEY, Rows.of(self._states.select(KEY), self._settings))
        self._series = series[self.state]
        times, at = np.unique(self.at, return_inverse=True)
        keys = self._series * (len(times) + 1) + at
        repeated = repeats(keys, ~self.breaking)
        if not repeated.any():
            return repeated
        self.broken[KEYS_ARE_UNIQUE.name] = repeated
        left_out = repeated.copy()
        places = np.flatnonzero(np.isin(keys, keys[repeated]) & ~self.breaking)
        places = places[np.argsort(keys[places], kind="stable")]
        for same in np.split(places, np.flatnonzero(np.diff(keys[places])) + 1):
            if len({self._content(place) for place in same.tolist()}) > 1:
                left_out[same] = True
        return left_out

    def _content(self, place: int) -> str:
        """All that a snapshot says, as a text."""
        sample = self._measurements(self.position[place : place + 1]) if self.kind.is_measured else pa.nulls(1)
        return repr((int(self.state[place]), sample.to_pylist()))

    def facts(self) -> Iterator[Fact]:
        """Return what was counted."""
        rows, of_snapshot = self._folded
        unknown = {name: flags[of_snapshot] for name, flags in unknown_in(rows, self.suite.nullable).items()}
        yield from CheckCounts(
            self.suite, self._step, self.broken, unknown, self._key, self.breaking, self.left_out, self._series, self.at
        ).facts()

    def rejected(self) -> Iterable[Mapping[str, Any]]:
        """The rows of `quarantine` for what is left out."""
        places = np.flatnonzero(self.left_out)
        if not len(places):
            return ()
        rejecting = [expectation.name for expectation in self.suite.rejecting if expectation.name in self.broken]
        reasons = (
            [name.upper() for name in rejecting if self.broken[name][place]] or [KEYS_ARE_UNIQUE.name.upper()]
            for place in places
        )
        return quarantined(self.kind.table, self._rows(places).to_pylist(), reasons)

    def _rows(self, places: Numbers) -> pa.Table:
        """The rows of the source for some of the snapshots."""
        state = self.state[places]
        samples = self._measurements(self.position[places]) if self.kind.is_measured else None
        columns = self._keys(state) | source_columns(self.kind, self._values(state), samples)
        columns["captured_at"] = pa.array(self.at[places]).cast(_TIME)
        return pa.table({name: columns[name] for name in self.kind.table.columns})

    def _key(self, place: int) -> Mapping[str, Any]:
        (row,) = self._rows(np.array([place])).select(self.kind.table.key).to_pylist()
        return dict(row)


def _routes(sources: Sequence[_SourceSnapshots], settings: CheckSettings) -> Rows:
    """The routes of all that were gathered, by step."""
    wanted = ("step_start", "cluster", "topic", "queues")
    parts = [{name: source._folded[0][name].array for name in wanted} for source in sources]
    return Rows.of(pa.concat_tables([pa.table(part) for part in parts]), settings)


def _of_times(states: pa.Table, places: Numbers) -> tuple[Numbers, Numbers]:
    """State and position of every time of the states at these places."""
    offsets = one_array(states["times"]).offsets.to_numpy().astype(np.int64)
    sizes = np.diff(offsets)[places]
    return np.repeat(np.arange(len(places)), sizes), ranges(offsets[places], sizes)


def _without_left_out(
    states: pa.Table, samples: pa.Table, sources: Sequence[_SourceSnapshots]
) -> tuple[pa.Table, pa.Table]:
    """The states with the times, and the samples, of what is not left out."""
    if not any(source.left_out.any() for source in sources):
        return states, samples
    times = one_array(states["times"])
    of_times, of_samples = np.ones(len(times.values), bool), np.ones(len(samples), bool)
    for source in sources:
        is_used = of_samples if source.kind.is_measured else of_times
        is_used[source.position[source.left_out]] = False
    offsets = np.concatenate([[0], np.cumsum(of_times)])[times.offsets.to_numpy()]
    used_times = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), times.values.filter(pa.array(of_times)))
    place = states.column_names.index("times")
    return states.set_column(place, "times", used_times), samples.filter(pa.array(of_samples))
