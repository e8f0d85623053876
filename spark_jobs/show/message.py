"""The outcome of a message: reads samples of its queue, and what is published of the groups that read its topic."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from schemas import OFFSET_SNAPSHOTS, REBALANCE_INTERVALS, TOPIC_SNAPSHOTS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.history import UNKNOWN, Place
from spark_jobs.domain.model.intervals import EPOCH, EVER, Interval, format_utc
from spark_jobs.domain.model.message_queue import queue_ranges
from spark_jobs.domain.model.window import from_micros, second_text, to_micros
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import NothingPublishedError, UnknownNameError
from spark_jobs.show.measured import offset_samples
from spark_jobs.show.message_facts import PublishedQueue, deleted_before, life, retries
from spark_jobs.show.message_outcome import (
    CommitSample,
    EndSample,
    MessageFacts,
    MessageOutcome,
    Passage,
    outcome_of,
    passage,
)
from spark_jobs.show.rows import by_topic
from spark_jobs.store.arrow import arrow_schema, micros_of, one_array
from spark_jobs.store.read.kept import check_recorded
from spark_jobs.store.read.published import PublishedTables, Scope, newest_configuration, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

#: How long a message is followed unless another time is named.
_FOLLOWED = timedelta(days=1)
_AT = attrgetter("at")


class MessagePlace(NamedTuple):
    """The queue of messages, and their offsets or when they were stored."""

    topic: str
    queue: Place
    offsets: Sequence[int] = ()
    stored_at: datetime | None = None

    def __str__(self) -> str:
        return "{}:{} of {}".format(*self.queue, self.topic)


class GroupMessage(NamedTuple):
    """One message in one group: its outcome, the reason, the facts. `retry_messages`, `dead_letters`: messages that the
    group's topics of these got while a member may have had it; None: unknown.
    """

    consumer_group: str
    offset: int
    outcome: MessageOutcome
    reason: str
    facts: MessageFacts
    retry_messages: int | None
    dead_letters: int | None


class MessageAnswer(NamedTuple):
    """The outcome in every group, of each message or of the first and last one that may be meant."""

    cluster: str
    place: MessagePlace
    interval: Interval
    messages: Sequence[GroupMessage]


def message_answer(
    stored: StoredTables, names: Scope, place: MessagePlace, say: Callable[[str], None]
) -> MessageAnswer:
    """The answer of the named group, or of all. Without an interval the message is followed for a day from when it was
    stored, or looked for in the newest day. Raises `UnknownNameError`, and `NothingPublishedError` for a time.
    """
    check_recorded(stored, names.cluster, names.consumer_group, place.topic)
    tables, configuration = published_tables(stored), Configuration.model_validate(newest_configuration(stored))
    interval = names.interval or tables.last(_FOLLOWED, names.cluster)
    if names.interval is None and place.stored_at is not None:
        interval = Interval(place.stored_at - configuration.max_gap, place.stored_at + _FOLLOWED)
    say("reading the samples of its queue")
    scope, groups = _groups(tables, replace(names, interval=interval), place.topic)
    commits, ends = _samples(stored, scope, interval, place)
    offsets = _offsets(place, ends)
    passages = {
        (group, offset): passage(offset, commits.get(group, ()), ends)
        for group in sorted({*groups, *commits})
        for offset in offsets
    }
    say("reading the published tables")
    return MessageAnswer(str(scope.cluster), place, interval, _messages(tables, scope, place, passages, configuration))


def _messages(
    tables: PublishedTables,
    scope: Scope,
    place: MessagePlace,
    passages: Mapping[tuple[str, int], Passage],
    configuration: Configuration,
) -> list[GroupMessage]:
    lives = _lives(passages.values(), configuration.max_gap)
    published = PublishedQueue(tables, replace(scope, interval=lives), place.topic, place.queue)
    cluster, kept = str(scope.cluster), deleted_before(tables.stored, scope.interval or EVER)
    facts = {
        (group, offset): replace(published.facts(group, times, configuration, cluster), kept_since=kept)
        for (group, offset), times in passages.items()
    }
    retried = retries(tables.stored, cluster, facts)
    unknown = None, None
    return [GroupMessage(*key, *outcome_of(each), each, *retried.get(key, unknown)) for key, each in facts.items()]


def _lives(passages: Iterable[Passage], max_gap: timedelta) -> Interval:
    """The time in which messages were there."""
    starts, ends = zip(*(life(each, to_micros(EPOCH + max_gap)) for each in passages), strict=True)
    return Interval(from_micros(min(starts)), from_micros(max(ends)))


def _groups(tables: PublishedTables, scope: Scope, topic: str) -> tuple[Scope, set[str]]:
    """The scope with the one cluster that has the topic, and the groups that read it there."""
    columns = ("cluster", "consumer_group")
    pairs = set(tuples(tables.read(REBALANCE_INTERVALS, scope, columns, [Filter("topic", "=", topic)])))
    clusters = sorted({cluster for cluster, _ in pairs})
    if not clusters:
        reads = f"{scope.consumer_group} did not read" if scope.consumer_group else "no group read"
        raise NothingPublishedError(f"{reads} {topic} in {scope.interval}, as audited: name another --interval")
    if clusters[1:]:
        raise NothingPublishedError(f"{topic} is in several clusters ({', '.join(clusters)}): name one with --cluster")
    return replace(scope, cluster=clusters[0]), {group for _, group in pairs}


def _samples(
    stored: StoredTables, scope: Scope, interval: Interval, place: MessagePlace
) -> tuple[Mapping[str, Sequence[CommitSample]], Sequence[EndSample]]:
    """By group the samples of its offsets in the queue, and those of the queue's ends, in the order of time; raises
    `UnknownNameError` if they show other queues only.
    """
    own = _snapshots(stored, TOPIC_SNAPSHOTS, scope, interval, place.topic)
    ends, queues = [*_topic_ends(own, place.queue)], _queues(own)
    commits: dict[str, Sequence[CommitSample]] = {}
    of_groups = _snapshots(stored, OFFSET_SNAPSHOTS, scope, interval, place.topic)
    for (_, group, _), of_group in by_topic(of_groups, "captured_at"):
        samples = offset_samples(of_group)
        queues |= {*samples.queues}
        if (column := samples.columns.get(place.queue)) is not None:
            consumed, pulled, end = (
                [None if number == UNKNOWN else number for number in matrix[:, column].tolist()]
                for matrix in (samples.consumed_to, samples.pull_offset, samples.end_offset)
            )
            times = samples.times.tolist()
            commits[group] = [*map(CommitSample, times, consumed, pulled)]
            ends += [EndSample(at, None, to) for at, to in zip(times, end, strict=True) if to is not None]
    if queues and place.queue not in queues:
        of_broker = queue_ranges(queue for queue in queues if queue[0] == place.queue[0])
        brokers = sorted({broker_name for broker_name, _ in queues})
        near = did_you_mean(place.queue[0], brokers) or f"its brokers are {', '.join(brokers)}"
        raise UnknownNameError(f"there is no queue {place}: {f'the broker has {of_broker}' if of_broker else near}")
    return commits, sorted(ends, key=_AT)


def _snapshots(stored: StoredTables, table: Table, scope: Scope, interval: Interval, topic: str) -> pa.Table:
    """The snapshots of the topic in the interval, if the table has groups of the scope's ones."""
    if not stored.exists(table):
        return arrow_schema(table).empty_table()
    names = {"topic": topic, **scope.names}
    conditions = [Filter(column, "=", name) for column, name in names.items() if column in table.columns]
    during = (Filter("captured_at", ">=", interval.start), Filter("captured_at", "<", interval.end))
    return stored.read(table, table.columns, [*conditions, *during])


def _topic_ends(snapshots: pa.Table, queue: Place) -> Iterator[EndSample]:
    lists = one_array(snapshots["queues"])
    flat, times = lists.flatten(), micros_of(snapshots["captured_at"])
    is_queue = pc.and_(pc.equal(flat.field("broker_name"), queue[0]), pc.equal(flat.field("queue_id"), queue[1]))
    of_queue, rows = flat.filter(is_queue), pc.list_parent_indices(lists).filter(is_queue)
    offsets = (of_queue.field(name).to_pylist() for name in ("min_offset", "max_offset"))
    for row, oldest, end in zip(rows.to_pylist(), *offsets, strict=True):
        if end is not None:
            yield EndSample(int(times[row]), oldest, end)


def _queues(snapshots: pa.Table) -> set[Place]:
    flat = one_array(snapshots["queues"]).flatten()
    return set(zip(flat.field("broker_name").to_pylist(), flat.field("queue_id").to_pylist(), strict=True))


def _offsets(place: MessagePlace, ends: Sequence[EndSample]) -> Sequence[int]:
    """The offsets of the place; without, the first and last that were stored between the samples around its time."""
    if place.stored_at is None:
        return place.offsets
    number = bisect_right(ends, to_micros(place.stored_at), key=_AT)
    around = ends[max(number - 1, 0) : number + 1]
    if len(around) < 2 or not number:
        raise NothingPublishedError(f"no samples around {format_utc(place.stored_at)} show what {place} got then")
    if around[0].end >= around[1].end:
        times = " and ".join(second_text(each.at) for each in around)
        raise NothingPublishedError(f"{place} got no message between {times}")
    return sorted({around[0].end, around[1].end - 1})
