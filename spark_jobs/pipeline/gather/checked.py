"""The snapshots of a group, or of a topic, checked before they are judged: those that break a rule are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expectations import BY_TABLE
from expectations.rows import CheckSettings, Flags, Numbers, Rows, Values, codes, first_places
from expectations.suite import KEYS_ARE_UNIQUE, Expectation
from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SOURCES, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.pipeline.gather.arrow_values import list_offsets, ranges, sizes_of, structs_of
from spark_jobs.pipeline.gather.kinds import KIND_OF, MEASURED, MEMBERSHIP, NAME_OF, PROXY, ROUTE, TOPIC_QUEUES, VALUES
from spark_jobs.pipeline.quality.facts import CheckCounts, Fact, any_of, broken_by, repeats, unknown_in

_KEY = ("cluster", "consumer_group", "name")


class Rejected(NamedTuple):
    """The key of snapshots that are not used, all or all but one; `name` is what was seen beside cluster and group."""

    table_name: str
    cluster: str | None
    consumer_group: str | None
    name: str | None
    captured_at: int


@dataclass(frozen=True)
class Checked:
    """States and readings that can be used, what was counted, and the keys of what was left out."""

    states: pa.Table
    readings: pa.Table
    facts: Sequence[Fact]
    rejected: Sequence[Rejected]


def checked(states: pa.Table, readings: pa.Table, settings: CheckSettings) -> Checked:
    """Checks the snapshots of the read window of the groups and topics that Spark gathered in one part.

    A group is handed copies of its topics' states and of its proxies: they are checked here, too, but counted where
    they are by themselves. Those of a topic by itself have no group: nothing of them is left to be judged.
    """
    sources = [_SourceSnapshots(states, readings, settings, *part) for part in _parts(states)]
    routes = _routes([source for source in sources if source.table is ROUTE_SNAPSHOTS], settings)
    facts, rejected = list[Fact](), list[Rejected]()
    for source in sources:
        source.check({ROUTE_SNAPSHOTS: routes})
        if source.is_counted:
            facts += source.facts()
            rejected += source.rejected()
    return Checked(*_without_left_out(states, readings, sources), facts, rejected)


def _parts(states: pa.Table) -> Iterator[tuple[Table, str, bool, Numbers]]:
    """Source, kind, whether they are counted, and the places of the states.

    The copies of a topic's queues have the same readings: one of them is looked at, where the topic itself is not here.
    """
    kinds, fingerprints = states["kind"].combine_chunks(), states["fingerprint"].to_numpy()
    alone = states["consumer_group"].is_null().combine_chunks()
    for table in SOURCES:
        kind = KIND_OF[table]
        of_kind = pc.equal(kinds, kind)
        if kind not in (ROUTE, TOPIC_QUEUES):
            yield table, kind, True, _places(of_kind)
            continue
        own, copies = _places(pc.and_(of_kind, alone)), _places(pc.and_not(of_kind, alone))
        if kind == TOPIC_QUEUES:
            copies = copies[np.unique(fingerprints[copies], return_index=True)[1]]
            copies = copies[~np.isin(fingerprints[copies], fingerprints[own])]
        yield table, kind, True, own
        yield table, kind, False, copies
    yield MEMBERSHIP_SNAPSHOTS, PROXY, False, _places(pc.equal(kinds, PROXY))


def _places(condition: pa.Array) -> Numbers:
    return np.flatnonzero(Values(condition).flags())


class _SourceSnapshots:
    """The snapshots of one source, an entry each in `state` (a place in `places`, which are those of the states), `at`
    and `position` (in the readings, or in all the states' times). Those outside the read window are left alone.
    """

    def __init__(
        self,
        states: pa.Table,
        readings: pa.Table,
        settings: CheckSettings,
        table: Table,
        kind: str,
        is_counted: bool,
        places: Numbers,
    ) -> None:
        self.table, self.suite, self.is_counted, self.places = table, BY_TABLE[table], is_counted, places
        self.is_measured = table in MEASURED
        self._states, self._readings, self._settings = states.take(pa.array(places)), readings, settings
        self._column = MEMBERSHIP if kind == PROXY else kind
        self.every_state, self.every_position = self._of_readings() if self.is_measured else _of_times(states, places)
        times = readings["at"] if self.is_measured else states["times"].combine_chunks().values
        at = times.to_numpy()[self.every_position]
        inside = (at >= to_micros(settings.read_start)) & (at < to_micros(settings.read_end))
        self.state, self.at, self.position = self.every_state[inside], at[inside], self.every_position[inside]

    def _of_readings(self) -> tuple[Numbers, Numbers]:
        """State and position of every reading of these states."""
        fingerprints, wanted = self._states["fingerprint"].to_numpy(), self._readings["fingerprint"].to_numpy()
        places = first_places(wanted, fingerprints)
        readings = np.flatnonzero(places >= 0)
        return places[readings], readings

    @cached_property
    def _folded(self) -> tuple[Rows, Numbers]:
        """A row per (state, step), with what a state holds of its table's columns; and the row of each snapshot."""
        step = self._settings.step_of(self.at)
        steps, of_step = np.unique(step, return_inverse=True)
        pairs, of_snapshot = np.unique(self.state * max(len(steps), 1) + of_step, return_inverse=True)
        state, begins = pairs // max(len(steps), 1), steps[pairs % max(len(steps), 1)]
        taken = self._states.take(pa.array(state))
        key = {
            "cluster": taken["cluster"],
            "consumer_group": taken["consumer_group"],
            NAME_OF[self.table]: taken["name"],
        }
        columns = {name: column.combine_chunks() for name, column in key.items() if name in self.table.key}
        content = _content(self.table, taken[self._column].combine_chunks())
        start = pa.array(begins).cast(pa.timestamp("us", "UTC"))
        return Rows({**columns, **content, "step_start": start}, len(pairs), self._settings), of_snapshot

    @cached_property
    def _measured(self) -> Rows:
        """A row per snapshot, of the times and numbers that each has of its own."""
        columns = {"captured_at": pa.array(self.at).cast(pa.timestamp("us", "UTC"))}
        if self.is_measured:
            (array, names), places = MEASURED[self.table], pa.array(self.position)
            lists = [self._readings[name].combine_chunks().take(places) for name in VALUES[: len(names)]]
            columns[array] = structs_of(lists, names)
            if self.table is CLIENT_SNAPSHOTS:
                columns["consume_status"] = self._readings["statuses"].combine_chunks().take(places)
        return Rows(columns, len(self.at), self._settings)

    def check(self, tables: Mapping[Table, Rows]) -> None:
        """Asks every expectation, or of a copy those that a snapshot must keep, and finds what is to be left out."""
        rows, of_snapshot = self._folded
        suite = self.suite
        expectations: Sequence[Expectation] = suite.expectations if self.is_counted else suite.rejecting
        if self.is_counted:
            rows = suite.prepare(rows, tables)
        of_states = broken_by(rows, [expectation for expectation in expectations if not expectation.of_readings])
        self.broken = {name: flags[of_snapshot] for name, flags in of_states.items()}
        self.broken |= broken_by(
            self._measured, [expectation for expectation in expectations if expectation.of_readings]
        )
        self.breaking = any_of(self.broken, suite.rejecting, len(self.at))
        self.left_out = self.breaking | self._repeated()

    def _repeated(self) -> Flags:
        """Snapshots of one key: where they say the same, all but the first of them, else all: nobody knows which is
        true. Counted are all but the first.
        """
        # Copies of a topic's queues may be those of several groups.
        names = ("cluster", "name") if self.table is TOPIC_SNAPSHOTS else _KEY
        (series,) = codes(names, Rows.of(self._states.select(names), self._settings))
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
        """All that the audit reads of a snapshot, as a text."""
        if not self.is_measured:
            return str(self.state[place])
        row = self._readings.slice(int(self.position[place]), 1).drop_columns(["at"])
        return repr(row.to_pylist())

    def facts(self) -> Iterator[Fact]:
        """Return what was counted."""
        rows, of_snapshot = self._folded
        unknown = {name: flags[of_snapshot] for name, flags in unknown_in(rows, self.suite.nullable).items()}
        step = self._settings.step_of(self.at)
        yield from CheckCounts(
            self.suite, step, self.broken, unknown, self._key, self.breaking, self.left_out, self._series, self.at
        ).facts()

    def rejected(self) -> Iterator[Rejected]:
        """The keys of what is left out, each once."""
        places = np.flatnonzero(self.left_out)
        names = self._states.select(_KEY).take(pa.array(self.state[places])).to_pylist()
        keys = zip(names, self.at[places].tolist(), strict=True)
        yield from dict.fromkeys(Rejected(self.table.name, **key, captured_at=at) for key, at in keys)

    def _key(self, place: int) -> Mapping[str, Any]:
        state = self._states.slice(int(self.state[place]), 1).select(_KEY).to_pylist()[0]
        key: dict[str, str | datetime | None] = {**state, NAME_OF[self.table]: state["name"]}
        key["captured_at"] = from_micros(int(self.at[place]))
        return {name: key[name] for name in self.table.key}


def _routes(sources: Sequence[_SourceSnapshots], settings: CheckSettings) -> Rows:
    """The routes of all that were gathered, by step."""
    wanted = ("step_start", "cluster", "topic", "queues")
    parts = [{name: source._folded[0][name].array for name in wanted} for source in sources]
    return Rows.of(pa.concat_tables([pa.table(part) for part in parts]), settings)


def _content(table: Table, states: pa.Array) -> dict[str, pa.Array]:
    """Return what a state holds of the columns of its table."""
    fields = dict(zip((field.name for field in states.type), states.flatten(), strict=True))
    if "missing" not in fields:
        return fields
    array, _ = MEASURED[table]
    missing = fields.pop("missing").flatten()
    sizes = sizes_of(fields["broker_name"])
    structs = structs_of([*fields.values()], tuple(fields))
    if len(missing):  # of the lists that have null elements
        is_there = np.ones(sizes.sum(), bool)
        with_missing = Values(pc.is_valid(pc.struct_field(states, "missing"))).flags()
        is_there[np.repeat(with_missing, sizes)] = ~Values(missing).flags()
        values = structs.flatten()
        with_nulls = pa.StructArray.from_arrays(values.flatten(), fields=list(values.type), mask=pa.array(~is_there))
        structs = pa.ListArray.from_arrays(list_offsets(sizes, pc.is_null(structs)), with_nulls)
    return {array: structs}


def _of_times(states: pa.Table, places: Numbers) -> tuple[Numbers, Numbers]:
    """State and position of every time of the states at these places."""
    offsets = states["times"].combine_chunks().offsets.to_numpy().astype(np.int64)
    sizes = np.diff(offsets)[places]
    return np.repeat(np.arange(len(places)), sizes), ranges(offsets[places], sizes)


def _without_left_out(
    states: pa.Table, readings: pa.Table, sources: Sequence[_SourceSnapshots]
) -> tuple[pa.Table, pa.Table]:
    """The states and readings of groups, without what is left out, and without states of which all is."""
    keep = states["consumer_group"].is_valid().to_numpy() & states["cluster"].is_valid().to_numpy()
    if not any(source.left_out.any() for source in sources):
        return states.filter(pa.array(keep)), readings
    times = states["times"].combine_chunks()
    of_times, of_readings = np.ones(len(times.values), bool), np.ones(len(readings), bool)
    for source in sources:
        is_used = of_readings if source.is_measured else of_times
        is_used[source.position[source.left_out]] = False
        if not source.is_measured:
            used_count = np.bincount(source.every_state[is_used[source.every_position]], minlength=len(source.places))
            keep[source.places[used_count == 0]] = False
    used_readings = readings.filter(pa.array(of_readings))
    measured = pc.is_in(states["kind"], value_set=pa.array([KIND_OF[table] for table in MEASURED]))
    is_read = pc.is_in(states["fingerprint"], value_set=used_readings["fingerprint"].combine_chunks())
    keep &= ~measured.to_numpy() | is_read.to_numpy()
    offsets = np.concatenate([[0], np.cumsum(of_times)])[times.offsets.to_numpy()]
    used_times = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), times.values.filter(pa.array(of_times)))
    place = states.column_names.index("times")
    return states.set_column(place, "times", used_times).filter(pa.array(keep)), used_readings
