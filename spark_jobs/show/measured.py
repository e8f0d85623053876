"""The backlog and rates of topics over time: by sample, as far as the source has them, and by minute of `backlog`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas import BACKLOG, OFFSET_SNAPSHOTS
from spark_jobs.domain.model.history import UNKNOWN, Matrix, OffsetSamples, Place
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.window import MILLISECOND, SECOND, from_micros, to_micros
from spark_jobs.show.rows import GROUP, TOPIC, Key, by_topic
from spark_jobs.store.arrow import arrow_schema, micros_of, one_array, sizes_of
from spark_jobs.store.read.published import PublishedTables, Scope
from spark_jobs.store.read.stored import Filter, StoredTables

Values = NDArray[np.float64]
#: By topic its samples.
Topics = Mapping[str, "SampledTopic"]
_OFFSETS = {"end_offset": "broker_offset"} | {
    name: name for name in ("consumer_offset", "pull_offset", "last_timestamp")
}
#: Samples that are further apart than so many usual distances have a gap between them.
_GAP = 3


@dataclass(frozen=True)
class SampledTopic:
    """The samples of one topic. `times`: ms; `lags`: messages, times × `queues`; `produced`, `consumed`: messages a
    second of all queues since the sample before. NaN is unknown, also after a gap.
    """

    times: Values
    queues: Sequence[Place]
    lags: Values
    produced: Values
    consumed: Values

    @cached_property
    def total(self) -> Values:
        """Messages of the queues with a known backlog; NaN: none is known."""
        known = ~np.isnan(self.lags)
        return np.where(known.any(axis=1), np.where(known, self.lags, 0).sum(axis=1), np.nan)

    @cached_property
    def breaks(self) -> NDArray[np.bool_]:
        """`breaks` of its samples."""
        return breaks(self.times)


def breaks(times: Values) -> NDArray[np.bool_]:
    """By moment of these, in order, True if no line leads to it: it follows a gap."""
    distances = np.diff(times)
    usual = np.median(distances) if len(distances) else 0
    return np.append([True], distances > _GAP * usual)[: len(times)]


def measured(
    stored: StoredTables, groups: Collection[tuple[str, str]], interval: Interval
) -> Mapping[tuple[str, str], Topics]:
    """By (cluster, group) the samples of its topics in the interval, as far as the source still has them."""
    if not groups or not stored.exists(OFFSET_SNAPSHOTS):
        return {}
    clusters, names = (sorted(set(column)) for column in zip(*groups, strict=True))
    conditions = [
        *(Filter("cluster", "IN", clusters), Filter("consumer_group", "IN", names)),
        *(Filter("captured_at", ">=", interval.start), Filter("captured_at", "<", interval.end)),
    ]
    rows = stored.read(OFFSET_SNAPSHOTS, OFFSET_SNAPSHOTS.columns, conditions).combine_chunks()
    topics_of_group: dict[tuple[str, str], dict[str, SampledTopic]] = {group: {} for group in groups}
    for (cluster, group, topic), samples in by_topic(rows, "captured_at"):
        if (cluster, group) in topics_of_group:
            topics_of_group[cluster, group][topic] = _measured(samples)
    return topics_of_group


@dataclass(frozen=True)
class SampledBacklog:
    """Messages that waited in a topic at one sample, in queues with a known backlog; `most`: in one queue, and the
    `queues` with so many, none if nothing waited. `at_least`: by the table `backlog` in that minute, with queues of
    which no offset is known; None: there are none, or they add nothing.
    """

    sampled_at: datetime
    messages: int
    most: int
    queues: str
    at_least: int | None = None


def last_samples(
    stored: StoredTables, group: tuple[str, str], at: datetime, holds: timedelta
) -> Mapping[str, SampledBacklog]:
    """By topic the last sample up to a moment, no older than a sample holds, with any known backlog."""
    topics = measured(stored, [group], Interval(at - holds, at + timedelta(microseconds=1))).get(group, {})
    return {name: last for name, topic in topics.items() if (last := _last(topic)) is not None}


def _last(topic: SampledTopic) -> SampledBacklog | None:
    lags = topic.lags[-1] if len(topic.lags) else np.empty(0)
    if np.isnan(lags).all():
        return None
    most = int(np.nanmax(lags))
    queues = queue_ranges(queue for queue, lag in zip(topic.queues, lags.tolist(), strict=True) if most and lag == most)
    return SampledBacklog(from_micros(int(topic.times[-1] * MILLISECOND)), int(topic.total[-1]), most, queues)


def _measured(rows: pa.Table) -> SampledTopic:
    samples = offset_samples(rows)
    seconds = np.diff(samples.times) / SECOND
    lags = np.where(samples.lag == UNKNOWN, np.nan, samples.lag)
    topic = SampledTopic(samples.times / MILLISECOND, samples.queues, lags, np.empty(0), np.empty(0))
    produced, consumed = (
        np.where(topic.breaks, np.nan, np.append([np.nan], _grown(offsets) / seconds)[: len(samples.times)])
        for offsets in (samples.end_offset, samples.consumed_to)
    )
    return SampledTopic(topic.times, topic.queues, topic.lags, produced, consumed)


def offset_samples(rows: pa.Table) -> OffsetSamples:
    """The rows of one topic as matrices, of each time one."""
    times, places = np.unique(micros_of(rows["captured_at"]), return_index=True)
    lists = one_array(rows["offsets"].take(pa.array(places)))
    flat = lists.flatten()
    row = np.repeat(np.arange(len(times)), sizes_of(lists))
    brokers = flat.field("broker_name").dictionary_encode()
    broker, queue_id = (pc.fill_null(column, -1).to_numpy() for column in (brokers.indices, flat.field("queue_id")))
    is_queue = (broker >= 0) & (queue_id >= 0)
    pairs, column = np.unique(np.stack([broker, queue_id])[:, is_queue], axis=1, return_inverse=True)
    shape = len(times), pairs.shape[1]
    matrices = {}
    for name, stored_name in _OFFSETS.items():
        matrices[name] = np.full(shape, UNKNOWN)
        numbers = pc.fill_null(flat.field(stored_name), UNKNOWN).to_numpy()
        matrices[name][row[is_queue], column.ravel()] = numbers[is_queue]
    present = np.zeros(shape, bool)
    present[row[is_queue], column.ravel()] = True
    names = brokers.dictionary.to_pylist()
    queues = [(names[number], queue_id) for number, queue_id in pairs.T.tolist()]
    return OffsetSamples(times, queues, **matrices, present=present)


def _grown(offsets: Matrix) -> Values:
    """By how much the known ones of all queues went forward from each sample to the next; NaN: none is known."""
    known = (offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN)
    grown = np.where(known, np.maximum(np.where(known, offsets[1:] - offsets[:-1], 0), 0), 0).sum(axis=1)
    return np.where(known.any(axis=1), grown, np.nan)


def thinned(times: Values, values: Values, parts: int) -> NDArray[np.int64]:
    """Places of the values to draw: first, last, lowest and highest of each of so many parts of the time, and a place
    of NaN. All, if there are no more.
    """
    if len(times) <= 4 * parts:
        return np.arange(len(times))
    part = np.minimum(parts * (times - times[0]) // (times[-1] - times[0]), parts - 1)
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    ends = np.append(starts[1:], len(times)) - 1
    is_unknown = np.isnan(values)
    lowest = np.lexsort((np.where(is_unknown, np.inf, values), part))[starts]
    highest = np.lexsort((np.where(is_unknown, -np.inf, values), part))[ends]
    unknown = np.lexsort((~is_unknown, part))[starts]
    return np.unique(np.concatenate([starts, ends, lowest, highest, unknown[is_unknown[unknown]]]))


#: Milliseconds.
MINUTE = 60_000
_ENTRY = ("at", "messages", "messages_max", "unknown_queues")


@dataclass(frozen=True)
class Minutes:
    """An entry per minute of a topic with a sample, in the order of time: its start (ms), messages at its last sample
    and at its highest (NaN: of no queue), and the queues that are not in them.
    """

    starts: Values
    messages: Values
    messages_max: Values
    unknown_queues: NDArray[np.int64]

    @property
    def is_known(self) -> bool:
        """Return whether any backlog is known."""
        return not np.isnan(self.messages).all()

    def at(self, moment: datetime) -> int:
        """The place of the entry whose minute has the moment; -1: none has."""
        start = to_micros(moment) // MILLISECOND // MINUTE * MINUTE
        place = int(self.starts.searchsorted(start))
        return place if place < len(self.starts) and self.starts[place] == start else -1


def topic_minutes(tables: PublishedTables, scope: Scope, *conditions: Filter) -> Mapping[Key, Minutes]:
    """By (cluster, group, topic) the minutes of the steps that overlap the scope's time; none of steps that a version
    before 2.1 audited.
    """
    return {key: _minutes(entries) for key, entries in by_topic(_entries(tables, scope, *conditions), "at")}


def _minutes(entries: pa.Table) -> Minutes:
    messages, most = (pc.cast(entries[name], pa.float64()).to_numpy() for name in _ENTRY[1:3])
    return Minutes(micros_of(entries["at"]) / MILLISECOND, messages, most, entries["unknown_queues"].to_numpy())


def highest_of_parts(
    tables: PublishedTables, scope: Scope, interval: Interval, parts: int
) -> Mapping[Key, Mapping[int, int]]:
    """By (cluster, group), and by index of the equal parts of the interval, the most messages of all topics at the end
    of a minute; parts without a known backlog are left out.
    """
    entries = _entries(tables, scope)
    length = (interval.end - interval.start) // timedelta(microseconds=1)
    index = np.clip(parts * (micros_of(entries["at"]) - to_micros(interval.start)) // length, 0, parts - 1)
    of_minutes = (
        entries.select([*GROUP, "at", "messages"])
        .append_column("part", pa.array(index))
        .group_by([*GROUP, "at", "part"])
        .aggregate([("messages", "sum")])
        .group_by([*GROUP, "part"])
        .aggregate([("messages_sum", "max")])
    )
    highest: dict[Key, dict[int, int]] = {}
    for *group, part, messages in zip(*(column.to_pylist() for column in of_minutes.columns), strict=True):
        if messages is not None:
            highest.setdefault(tuple(group), {})[part] = messages
    return {group: dict(sorted(of_group.items())) for group, of_group in highest.items()}


def _entries(tables: PublishedTables, scope: Scope, *conditions: Filter) -> pa.Table:
    """The minutes one under the other, each with its group and topic."""
    if tables.stored.exists(BACKLOG):
        rows = tables.read(BACKLOG, scope, (*TOPIC, "minutes"), conditions).combine_chunks()
    else:
        rows = arrow_schema(BACKLOG).empty_table()
    minutes = one_array(rows["minutes"])
    flat = minutes.flatten()
    of_row = pa.array(np.repeat(np.arange(len(rows)), sizes_of(minutes)))
    columns = {name: rows[name].take(of_row) for name in TOPIC} | {name: flat.field(name) for name in _ENTRY}
    return pa.table(columns)
