"""The snapshots of a group, or of a topic, checked before they are evaluated: those that break a rule are left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations import BY_TABLE
from expectations.rows import CheckSettings, Flags, Numbers, Rows, codes, distinct, first_places
from expectations.suite import KEYS_ARE_UNIQUE, Expectation
from schemas import ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.exchange import KEY, KINDS, ROUTE, Kind, source_columns
from spark_jobs.pipeline.quality.facts import STEP, CheckCounts, Fact, any_of, broken_by, repeats, unknown_in
from spark_jobs.pipeline.quality.quarantine import quarantined
from spark_jobs.store.arrow import one_array, ranges

_TIME = pa.timestamp("us", "UTC")
#: By cluster, consumer group and table.
RejectedAt = Mapping[tuple[str, str | None, str], Numbers]


@dataclass(frozen=True)
class Checked:
    """`STATES` and `SAMPLES` without the times and samples of snapshots that cannot be used, what was counted, the
    rows of `quarantine` for those, and their times by cluster, group (None: of a topic) and source, microseconds.
    """

    states: pa.Table
    samples: pa.Table
    facts: Sequence[Fact]
    rejected: Sequence[Mapping[str, Any]]
    rejected_at: RejectedAt


def checked(states: pa.Table, samples: pa.Table, settings: CheckSettings) -> Checked:
    """Checks the snapshots of the read window of the groups and topics that were gathered in one part.

    Copies of topics' states and of proxies' members are checked here, too, but counted in a part of their own.
    """
    states, samples = states.combine_chunks(), samples.combine_chunks()
    kinds = set(states["kind"].to_pylist()) | {ROUTE.name}
    sources = [_Source(states, samples, settings, kind) for kind in KINDS if kind.name in kinds]
    (routes,) = (source.folded[0] for source in sources if source.kind is ROUTE)
    for source in sources:
        source.check({ROUTE_SNAPSHOTS: routes})
    facts = [fact for source in sources for fact in source.facts()]
    rejected = [row for source in sources for row in source.rejected()]
    rejected_at = {key: times for source in sources for key, times in source.rejected_at()}
    return Checked(*_without_left_out(states, samples, sources), facts, rejected, rejected_at)


class _Source:
    """The snapshots of one source, an entry each in `state` (a place among the kind's states), `at` and `position` (in
    the samples, or in all the states' times). Samples outside the read window are left alone.
    """

    def __init__(self, states: pa.Table, samples: pa.Table, settings: CheckSettings, kind: Kind) -> None:
        self.kind, self._suite, self._samples, self._settings = kind, BY_TABLE[kind.table], samples, settings
        places = np.flatnonzero(pc.equal(states["kind"], kind.name).to_numpy())
        self._states = states.select([*KEY, "counted", "fingerprint", kind.name]).take(pa.array(places))
        if kind.is_measured:
            times, fingerprints = samples["at"].to_numpy(), samples["fingerprint"].to_numpy()
            state = first_places(fingerprints, self._states["fingerprint"].to_numpy())
            inside = (times >= to_micros(settings.read_start)) & (times < to_micros(settings.read_end))
            self.position = np.flatnonzero(inside & (state >= 0))
            self.state = state[self.position]
        else:
            lists = one_array(states["times"])
            times, offsets = lists.values.to_numpy(), lists.offsets.to_numpy().astype(np.int64)
            sizes = np.diff(offsets)[places]
            self.position, self.state = ranges(offsets[places], sizes), np.repeat(np.arange(len(places)), sizes)
        self.at = times[self.position]
        self._step = settings.step_of(self.at)
        self._is_counted: Flags = self._states["counted"].to_numpy()[self.state]

    @cached_property
    def folded(self) -> tuple[Rows, Numbers]:
        """A row per state with what it holds of its table's columns, without samples one per (state, step), which other
        tables ask for; and the row of each snapshot.
        """
        if self.kind.is_measured:
            state, of_snapshot, columns = np.arange(len(self._states)), self.state, {}
        else:
            steps, of_step = distinct(self._step)
            pairs, of_snapshot = distinct(self.state * len(steps) + of_step)
            state, of_step = np.divmod(pairs, max(len(steps), 1))
            columns = {STEP: pa.array(steps[of_step]).cast(_TIME)}
        return Rows(columns | self._columns(state), len(state), self._settings), of_snapshot

    def _broken_measures(self, expectations: Sequence[Expectation]) -> dict[str, Flags]:
        """By expectation that is broken at all, which snapshots break it, by the times and numbers that each has of its
        own. All are asked, as they are: what is chosen of them would be copied.
        """
        if not self.kind.is_measured:
            return {}
        columns = source_columns(self.kind, samples=one_array(self._samples[self.kind.name]))
        columns["captured_at"] = one_array(self._samples["at"]).cast(_TIME)
        rows = Rows(columns, len(self._samples), self._settings)
        return {name: flags[self.position] for name, flags in broken_by(rows, expectations).items()}

    def _columns(self, state: Numbers, samples: pa.StructArray | None = None) -> dict[str, pa.Array]:
        """The source's columns alongside the time, an entry per state, as far as states and these samples show them."""
        taken = self._states.take(pa.array(state)).combine_chunks()
        keys = dict(zip((*KEY[:-1], self.kind.named_by), taken.select(KEY).columns, strict=True))
        named = {name: one_array(column) for name, column in keys.items() if name in self.kind.table.key}
        return named | source_columns(self.kind, one_array(taken[self.kind.name]), samples)

    def check(self, tables: Mapping[Table, Rows]) -> None:
        """Asks every expectation, and finds what is to be left out."""
        rows, of_snapshot = self.folded
        of_samples = [expectation for expectation in self._suite.expectations if expectation.of_samples]
        of_states = [expectation for expectation in self._suite.expectations if not expectation.of_samples]
        broken = broken_by(self._suite.prepare(rows, tables), of_states)
        self.broken = {name: flags[of_snapshot] for name, flags in broken.items()} | self._broken_measures(of_samples)
        self.breaking = any_of(self.broken, self._suite.rejecting, len(self.at))
        self.left_out = self.breaking | self._repeated()

    def _repeated(self) -> Flags:
        """Snapshots of one key: where they say the same, all but the first of them, else all: nobody knows which is
        true. Counted are all but the first.
        """
        (series,) = codes(KEY, Rows.of(self._states.select(KEY), self._settings))
        self._series = series[self.state]
        start, end = to_micros(self._settings.read_start), to_micros(self._settings.read_end)
        # Of a day, 64 bits hold the keys of 100 million series.
        keys = self._series * (end - start) + (self.at - start)
        repeated = repeats(keys, ~self.breaking)
        if not repeated.any():
            return repeated
        self.broken[KEYS_ARE_UNIQUE.name] = repeated
        left_out = repeated.copy()
        places = np.flatnonzero(np.isin(keys, keys[repeated]) & ~self.breaking)
        places = places[np.argsort(keys[places], kind="stable")]
        for same in np.split(places, np.flatnonzero(np.diff(keys[places])) + 1):
            if len(set(map(repr, self._rows(same).to_pylist()))) > 1:
                left_out[same] = True
        return left_out

    def facts(self) -> Iterator[Fact]:
        """The facts that were counted."""
        rows, of_snapshot = self.folded
        places = np.flatnonzero(self._is_counted)
        clusters = one_array(self._states["cluster"]).dictionary_encode()
        yield from CheckCounts(
            self._suite,
            self._step[places],
            clusters.take(pa.array(self.state[places])),
            {name: flags[places] for name, flags in self.broken.items()},
            {name: flags[of_snapshot[places]] for name, flags in unknown_in(rows, self._suite.nullable).items()},
            lambda place: self._key(places[place]),
            self.breaking[places],
            self.left_out[places],
            self._series[places],
            self.at[places],
        ).facts()

    def rejected(self) -> Iterable[Mapping[str, Any]]:
        """The rows of `quarantine` for what is left out."""
        places = np.flatnonzero(self.left_out & self._is_counted)
        if not len(places):
            return ()
        rejecting = [expectation.name for expectation in self._suite.rejecting if expectation.name in self.broken]
        reasons = (
            [name.upper() for name in rejecting if self.broken[name][place]] or [KEYS_ARE_UNIQUE.name.upper()]
            for place in places
        )
        return quarantined(self.kind.table, self._rows(places).to_pylist(), reasons)

    def rejected_at(self) -> Iterator[tuple[tuple[str, str | None, str], Numbers]]:
        """By cluster, group and source, when what is left out was taken."""
        owners = self._states.select(["cluster", "consumer_group"]).to_pylist() if self.left_out.any() else ()
        for owner in {tuple(owner.values()) for owner in owners}:
            is_own = np.array([tuple(each.values()) == owner for each in owners])
            yield (*owner, self.kind.table.name), self.at[self.left_out & is_own[self.state]]

    def _rows(self, places: Numbers) -> pa.Table:
        """The rows of the source for some of the snapshots."""
        samples = None
        if self.kind.is_measured:
            samples = one_array(self._samples[self.kind.name]).take(pa.array(self.position[places]))
        columns = self._columns(self.state[places], samples)
        columns["captured_at"] = pa.array(self.at[places]).cast(_TIME)
        return pa.table({name: columns[name] for name in self.kind.table.columns})

    def _key(self, place: int) -> Mapping[str, Any]:
        (row,) = self._rows(np.array([place])).select(self.kind.table.key).to_pylist()
        return dict(row)


def _without_left_out(states: pa.Table, samples: pa.Table, sources: Sequence[_Source]) -> tuple[pa.Table, pa.Table]:
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
