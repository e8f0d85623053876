"""The times of which the sources of a group have no snapshots."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.history import Matrix, OffsetSamples
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import Time, joined, without

MEMBERSHIPS, ROUTES, OFFSETS = "membership_snapshots", "route_snapshots", "offset_snapshots"


class SnapshotGap(NamedTuple):
    """A time without snapshots; `source`: table and topic; `queues`: of a single broker, while others answered."""

    start: int
    end: int
    source: str
    queues: tuple[MessageQueue, ...] = ()


def snapshot_gaps(step: AuditedStep) -> Iterator[SnapshotGap]:
    """One per (source, gap): members, routes and offsets of ordinary topics with intervals, and offsets of a single
    broker. Deleted topics lack nothing, and one that is back has `max_gap` to have snapshots.
    """
    until = step.window.end
    members = ((span.start, span.end) for spans in step.memberships.values() for span in spans)
    known = [*_captured_before(step), *members]
    yield from _gaps_of_source(MEMBERSHIPS, gaps([*known, *_called_before(step, known)], until))
    for topic in dict.fromkeys(interval.topic for interval in step.intervals if interval.is_ordinary):
        routes = ((span.start, span.end) for span in step.routes.get(topic, ()))
        absent = (*step.deleted_topics.get(topic, ()), *step.gone_topics.get(topic, ()))
        deleted = [(since, end + step.settings.max_gap) for since, end in absent]
        yield from _gaps_of_source(f"{ROUTES}: {topic}", _outside(deleted, gaps(routes, until)))
        samples = step.history.offsets.get(topic)
        if samples is not None:
            inside = samples.inside(step.window.read_from, until)
            missing = gaps_behind(samples.times[inside], until, step.settings.max_gap)
            yield from _gaps_of_source(f"{OFFSETS}: {topic}", _outside(deleted, missing))
            if not samples.present[inside].all():
                yield from _broker_gaps(step, topic, samples, inside, missing)


def _broker_gaps(
    step: AuditedStep, topic: str, samples: OffsetSamples, inside: slice, missing: Sequence[Time]
) -> Iterator[SnapshotGap]:
    """The gaps (not those of the whole topic, `missing`) of a broker that the route names and that listed no members:
    one that lists members answers, if without offsets of a topic that its last heartbeat did not name.
    """
    times, present = samples.times[inside], samples.present[inside]
    # Other snapshots than those of the window know more queues.
    seen = [samples.queues[column] for column in np.flatnonzero(present.any(axis=0)).tolist()]
    for broker in sorted({name for name, _ in seen}):
        columns = [samples.columns[place] for place in seen if place[0] == broker]
        routed = [
            (span.start, span.end)
            for span in step.routes.get(topic, ())
            if any(entry.broker_name == broker for entry in span.state)
        ]
        answered_at = np.union1d(times[present[:, columns].any(axis=1)], _answered_at(step, broker))
        of_broker = tuple(MessageQueue(topic, *samples.queues[column]) for column in columns)
        for time in gaps_where_named(answered_at, joined(routed), step.settings.max_gap):
            yield from (
                SnapshotGap(*part, f"{OFFSETS}: {topic} ({broker})", of_broker) for part in without(time, missing)
            )


def _answered_at(step: AuditedStep, broker: str) -> Matrix:
    """When the broker answered with the group's members, in microseconds."""
    members = step.history.memberships.get(broker)
    if members is None:
        return np.empty(0, np.int64)
    return members.times[members.inside(step.window.read_from, step.window.end)]


def gaps_where_named(answered_at: Matrix, named: Iterable[Time], max_gap: int) -> Iterator[Time]:
    """The gaps after a broker's answers while the route names it, `max_gap` after it comes back into the route."""
    for since, until in named:
        first, stop = np.searchsorted(answered_at, (since, until))
        times = answered_at[first:stop]
        yield from gaps_behind(np.append(since, times) if first else times, until, max_gap)


def _captured_before(step: AuditedStep) -> list[Time]:
    """One empty time, at the start of the observed time, if the group was captured shortly before the step's window."""
    begins = step.window.observed_from
    return [(begins, begins)] if step.history.was_there_before(step.window, step.settings) else []


def _called_before(step: AuditedStep, known: Iterable[Time]) -> list[Time]:
    """One empty time, when a broker first gave no members of the group, unless they are known within `max_gap`."""
    called = min((calls.since for calls in step.unanswered()), default=None)
    if called is None or any(start <= called + step.settings.max_gap for start, _ in known):
        return []
    since = max(called, step.window.observed_from)
    return [(since, since)]


def gaps(known: Iterable[Time], until: int) -> list[Time]:
    """The times without a known state from the first span up to `until`; before it, the group or topic may be new."""
    spans = sorted(known)
    return list(without((spans[0][0], until), spans)) if spans else []


def gaps_behind(times: Matrix, until: int, max_gap: int) -> list[Time]:
    """The times without samples: from `max_gap` after one of `times` (ascending) to the next one, or to `until`."""
    following = np.append(times, until)[1:]
    late = following > times + max_gap
    return list(zip((times[late] + max_gap).tolist(), following[late].tolist(), strict=True))


def _outside(deleted: Sequence[Time], times: Iterable[Time]) -> Iterator[Time]:
    return (part for time in times for part in without(time, deleted))


def _gaps_of_source(source: str, times: Iterable[Time]) -> Iterator[SnapshotGap]:
    return (SnapshotGap(start, end, source) for start, end in times)
