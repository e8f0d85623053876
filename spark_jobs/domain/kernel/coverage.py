"""How much of a group's step was observed: of what there are snapshots, of what none, and why not.

Every answer about what was seen, and the rule `UNOBSERVED`, goes by these values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Matrix, OffsetSamples
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import SECOND, StepWindow, Time, common, covered, joined, without

MEMBERSHIPS, ROUTES, OFFSETS = "membership_snapshots", "route_snapshots", "offset_snapshots"


class Lack(StrEnum):
    """Why something of a group was not observed."""

    NO_SNAPSHOTS = "NO_SNAPSHOTS"  # nobody recorded the cluster, or no broker listed the group
    NOT_ANSWERED = "NOT_ANSWERED"  # brokers did not answer who the members are
    REJECTED = "REJECTED"  # snapshots were recorded, and broke a rule of the source


class Missing(NamedTuple):
    """A time of a step without snapshots, in microseconds; `source`: the table."""

    started_at: int
    ended_at: int
    source: str
    reason: Lack

    @property
    def time(self) -> Time:
        """From its start to its end."""
        return self.started_at, self.ended_at


class CoverageRow(NamedTuple):
    """A row of the table `coverage`; `schemas/coverage.py` says what each of the fields is. Times are microseconds."""

    step_start: int
    cluster: str
    consumer_group: str | None
    expected_seconds: float
    observed_seconds: float
    members_seconds: float
    routes_seconds: float
    offsets_seconds: float
    clients_seconds: float
    first_snapshot_at: int | None
    last_snapshot_at: int | None
    missing: Sequence[Missing]


class SnapshotGap(NamedTuple):
    """A time without snapshots; `source`: table and topic; `queues`: of a single broker, while others answered."""

    start: int
    end: int
    source: str
    queues: tuple[MessageQueue, ...] = ()


@cached_with_value
def snapshot_gaps(step: AuditedStep) -> Sequence[SnapshotGap]:
    """One per (source, gap), sorted: members, routes and offsets of ordinary topics with intervals, and offsets of a
    single broker. What is deleted lacks nothing, and a topic that is back has `max_gap` to have snapshots.
    """
    return sorted(_snapshot_gaps(step))


def _snapshot_gaps(step: AuditedStep) -> Iterator[SnapshotGap]:
    until = step.window.end
    known = [*_captured_before(step), *(span.time for span in step.membership_spans)]
    yield from _gaps_of(MEMBERSHIPS, gaps([*known, *_called_before(step, known)], until), step.deleted)
    for topic in dict.fromkeys(interval.topic for interval in step.intervals if interval.is_ordinary):
        routes = (span.time for span in step.routes.get(topic, ()))
        absent = (*step.deleted, *step.deleted_topics.get(topic, ()), *step.gone_topics.get(topic, ()))
        deleted = joined((since, end + step.settings.max_gap) for since, end in absent)
        yield from _gaps_of(f"{ROUTES}: {topic}", gaps(routes, until), deleted)
        samples = step.history.offsets.get(topic)
        if samples is not None:
            inside = samples.inside(step.window.read_from, until)
            missing = gaps_behind(samples.times[inside], until, step.settings.max_gap)
            yield from _gaps_of(f"{OFFSETS}: {topic}", missing, deleted)
            if not samples.present[inside].all():
                yield from _broker_gaps(step, topic, samples, inside, missing)


def group_coverage(step: AuditedStep) -> CoverageRow:
    """The coverage of the step. Missing is what `snapshot_gaps` lacks inside it, but for what a single broker lacks
    while others answer: members and owners are known without it. Routes are those of the step's topics.
    """
    window, history, own = step.window, step.history, (step.window.start, step.window.end)
    topics = {interval.topic for interval in step.intervals}
    taken: list[Timed] = [*history.memberships.values(), *history.offsets.values()]
    taken += (series for topic, series in history.routes.items() if topic in topics)
    seen = [times for each in taken if len(times := each.times[each.inside(*own)])]
    members = [span.time for span in step.membership_spans]
    routes = [span.time for topic in topics for span in step.routes.get(topic, ())]
    offsets = _sampled(history.offsets.values(), window, step.settings.max_gap)
    clients = _sampled((client.answers for client in history.clients.values()), window, step.settings.max_gap)
    begins = [start for start, _ in (*members, *offsets, *_captured_before(step), *_called_before(step, members))]
    expected = min(max(min(begins, default=window.end), window.start), window.end), window.end
    gaps = {
        (*inside, gap.source.partition(":")[0])
        for gap in snapshot_gaps(step)
        if not gap.queues and (inside := common((gap.start, gap.end), own))
    }
    return CoverageRow(
        window.start,
        history.cluster,
        history.consumer_group,
        _seconds([expected], own),
        _seconds(without(expected, joined((start, end) for start, end, _ in gaps)), own),
        _seconds(members, own),
        _seconds(routes, own),
        _seconds(offsets, own),
        _seconds(clients, own),
        min((int(times[0]) for times in seen), default=None),
        max((int(times[-1]) for times in seen), default=None),
        [Missing(*gap, _why(step, *gap)) for gap in sorted(gaps)],
    )


def cluster_coverage(groups: Iterable[CoverageRow], step: int) -> list[CoverageRow]:
    """The rows of clusters, by those of all their groups in steps of that length (microseconds). Missing are the times
    in which the members of every group are missing, or there was no group yet; seconds are the most of any group.
    """
    of_clusters = by_key(groups, lambda row: (row.step_start, row.cluster))
    return [_of_cluster(rows, (start, start + step)) for (start, _), rows in sorted(of_clusters.items())]


def _of_cluster(groups: Sequence[CoverageRow], own: Time) -> CoverageRow:
    expected = own[1] - round(SECOND * max(row.expected_seconds for row in groups)), own[1]
    seen: list[Time] = []
    for row in groups:
        lacking = joined(each.time for each in row.missing if each.source == MEMBERSHIPS)
        seen += without((own[1] - round(SECOND * row.expected_seconds), own[1]), lacking)
    missing = [Missing(*time, MEMBERSHIPS, Lack.NO_SNAPSHOTS) for time in without(expected, joined(seen))]
    return CoverageRow(
        own[0],
        groups[0].cluster,
        None,
        _seconds([expected], own),
        _seconds(seen, own),
        max(row.members_seconds for row in groups),
        max(row.routes_seconds for row in groups),
        max(row.offsets_seconds for row in groups),
        max(row.clients_seconds for row in groups),
        min((row.first_snapshot_at for row in groups if row.first_snapshot_at is not None), default=None),
        max((row.last_snapshot_at for row in groups if row.last_snapshot_at is not None), default=None),
        missing,
    )


def _seconds(times: Iterable[Time], own: Time) -> float:
    """How long they are inside the step."""
    return covered(inside for time in times if (inside := common(time, own))) / SECOND


def _sampled(sampled: Iterable[Timed], window: StepWindow, max_gap: int) -> list[Time]:
    """The times of the step's window in which samples apply."""
    known: list[Time] = []
    for samples in sampled:
        times = samples.times[samples.inside(window.read_from, window.end)]
        if len(times):
            known += without((int(times[0]), window.end), gaps_behind(times, window.end, max_gap))
    return known


def _why(step: AuditedStep, start: int, end: int, source: str) -> Lack:
    rejected = step.history.rejected.get(source)
    if rejected is not None and np.any((rejected >= start - step.settings.max_gap) & (rejected < end)):
        return Lack.REJECTED
    is_unanswered = source == MEMBERSHIPS and step.unanswered(start - step.settings.max_gap, end)
    return Lack.NOT_ANSWERED if is_unanswered else Lack.NO_SNAPSHOTS


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
            span.time for span in step.routes.get(topic, ()) if any(entry.broker_name == broker for entry in span.state)
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


def _gaps_of(source: str, times: Iterable[Time], deleted: Sequence[Time]) -> Iterator[SnapshotGap]:
    return (SnapshotGap(*part, source) for time in times for part in without(time, deleted))
