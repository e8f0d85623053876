"""Every queue that stands in a step, with its facts and the line of the table that they lead to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from spark_jobs.domain.diagnosis.facts import Extent, Facts
from spark_jobs.domain.diagnosis.measure import facts_of, finished
from spark_jobs.domain.diagnosis.standing import Standing, standing_queues
from spark_jobs.domain.diagnosis.table import StandingCause, TableLine, line_of
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND, Time


class Diagnosis(NamedTuple):
    """Why a queue stands under one of its owners; `client_id` None: the owner is not known."""

    standing: Standing
    client_id: str | None
    facts: Facts
    line: TableLine

    @property
    def cause(self) -> StandingCause:
        """The cause, which is that of the line."""
        return self.line.cause


@cached_with_value
def diagnoses(step: AuditedStep) -> Sequence[Diagnosis]:
    """One per (queue that stands, time with the same facts, owner), in the order of `standing_queues`."""
    measured = [
        (part, client_id, facts)
        for standing in standing_queues(step)
        for client_id in standing.owners or (None,)
        for part, facts in _parts(step, standing, client_id)
    ]
    by_topic = by_key((part for part, _, _ in measured), lambda part: part.queue.topic)
    together: dict[tuple[str, Time, int], Set[Place]] = {}
    diagnosed = []
    for part, client_id, facts in measured:
        key = part.queue.topic, (part.start, part.end), id(part.interval)
        if key not in together:  # queues mostly share it
            together[key] = _standing_together(part, by_topic[part.queue.topic])
        complete = replace(facts, extent=_extent(part, client_id, together[key]))
        diagnosed.append(Diagnosis(part, client_id, complete, line_of(complete)))
    return diagnosed


@cached_with_value
def by_queue(step: AuditedStep) -> Mapping[MessageQueue, Sequence[Diagnosis]]:
    """The diagnoses of each queue that stands, in the order of time."""
    return by_key(diagnoses(step), lambda each: each.standing.queue)


@cached_with_value
def times_of(step: AuditedStep, cause: StandingCause) -> Mapping[MessageQueue, Sequence[Time]]:
    """The times of one cause by queue, in order."""
    return {
        queue: [(each.standing.start, each.standing.end) for each in of_queue if each.cause is cause]
        for queue, of_queue in by_queue(step).items()
    }


def _parts(step: AuditedStep, standing: Standing, client_id: str | None) -> Iterator[tuple[Standing, Facts]]:
    """The time in which the owner finishes messages, and the rest, if that is long: other facts hold in it."""
    last, parts = finished(step, standing, client_id), [standing]
    if last and standing.end - last[0] > step.settings.thresholds.verdict_window_seconds * SECOND:
        parts = [standing._replace(seen_at=last[0], end=last[0]), standing._replace(start=last[0])]
    for part in parts:
        yield part, facts_of(step, part, client_id)


def _standing_together(standing: Standing, of_topic: Iterable[Standing]) -> Set[Place]:
    """The readable queues of the topic that stand for most of this time."""
    shared: dict[Place, int] = defaultdict(int)
    for each in of_topic:
        shared[each.queue[1:]] += max(min(each.end, standing.end) - max(each.start, standing.start), 0)
    lasting = standing.end - standing.start
    return {queue for queue in standing.interval.queues or () if 2 * shared.get(queue, 0) >= lasting}


def _extent(standing: Standing, client_id: str | None, together: Set[Place]) -> Extent:
    """The widest set of readable queues that stand together with this one."""
    if len(together) == len(standing.interval.queues or ()) > 1:
        return "ALL_OF_TOPIC"
    allocation = standing.interval.allocation
    owned = allocation.queues_of_client.get(client_id or "", frozenset()) if allocation else frozenset()
    if not owned or not owned <= together:
        return "SOME"
    return "ALL_OF_OWNER" if len(owned) > 1 else "ONLY_OF_OWNER"
