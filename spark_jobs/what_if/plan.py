"""A group with more or fewer members than now: the queues and load of each, and whether its pace is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.members import connections_of
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.what_if.cases import Case, Change, assignments_in
from spark_jobs.what_if.pace import KnownRates, Members, members_of
from spark_jobs.what_if.recorded import Recorded, recorded


class PlannedMember(NamedTuple):
    """One connection: its queues, and messages a second produced to them; None: unknown. `pace`: messages a second
    that it can consume; not `reached`: at least. `keeps_up`: None where more is produced and its limit is not known.
    """

    client_id: str
    queues: int
    produced_messages_per_second: float | None
    pace: float | None
    reached: bool
    keeps_up: bool | None


class PlannedSize(NamedTuple):
    """The group with so many more connections; `unassigned_queues` and `double_owned_queues` queues."""

    change: int
    members: Sequence[PlannedMember]
    unassigned_queues: int
    double_owned_queues: int

    @property
    def idle(self) -> int:
        """Connections without a queue."""
        return sum(member.queues == 0 for member in self.members)


@dataclass(frozen=True)
class Plan:
    """The group with fewer and more members than at `at` (microseconds), when it was last replayed."""

    at: int
    sizes: Sequence[PlannedSize]


def plan(steps: Sequence[AuditedStep], most: int, configured: StrategySettings) -> Plan | None:
    """With up to `most` connections less and more; None: no topic was replayed. Raises `StrategyError`."""
    history = recorded(steps)
    if history is None:
        return None
    end = max(spans[-1].end for spans in history.replayed.values())
    newest = {topic: spans[-1:] for topic, spans in history.replayed.items() if spans[-1].end == end}
    last = replace(history, replayed=newest)
    present = max(len(spans[0].interval.members or ()) for spans in newest.values())
    members, replays = members_of(history), Replays(configured)
    return Plan(end, [_size(change, end, last, members, replays) for change in range(-min(most, present), most + 1)])


def _size(change: int, end: int, last: Recorded, members: Members, replays: Replays) -> PlannedSize:
    case = Case(f"{change:+}", members=Change("+" if change >= 0 else "-", abs(change)))
    course = last.course
    # NaN where a queue is not known or was never recorded.
    rate_of_queue = dict(zip(course.queues, course.rates(course.produced).tolist(), strict=True))
    rates: dict[tuple[str, int], list[float]] = {}
    assignments = [of_topic[0] for of_topic in assignments_in(case, last, replays).values()]
    for assignment in assignments:
        connections = connections_of(assignment.client_ids)
        for connection in connections:
            rates.setdefault(connection, [])
        for place, owners in zip(assignment.allocation.queues, assignment.allocation.owners, strict=True):
            for owner in owners:
                rates[connections[owner]].append(rate_of_queue.get(MessageQueue(assignment.topic, *place), nan))
    return PlannedSize(
        change,
        [
            _member(client_id, of_queues, members.rates_of(client_id, case, np.array([end])))
            for (client_id, _), of_queues in rates.items()
        ],
        sum(assignment.allocation.counts.unassigned_queues for assignment in assignments),
        sum(assignment.allocation.counts.double_owned_queues for assignment in assignments),
    )


def _member(client_id: str, in_rates: Sequence[float], limits: KnownRates | None) -> PlannedMember:
    """`in_rates`: messages a second that come into each of its queues; NaN: unknown."""
    queues, known = len(in_rates), [rate for rate in in_rates if not isnan(rate)]
    produced_messages_per_second = sum(known) if len(known) == queues else None
    if limits is None:
        return PlannedMember(client_id, queues, produced_messages_per_second, None, False, None)
    listener, of_queue = (float(rate[0]) for rate in limits.rates)
    pace = min(listener, queues * of_queue) if queues else listener
    keeps_up = None
    if produced_messages_per_second is not None:
        manages = produced_messages_per_second <= listener and max(known, default=0) <= of_queue
        keeps_up = manages if manages or limits.known else None
    return PlannedMember(
        client_id, queues, produced_messages_per_second, pace if isfinite(pace) else None, limits.known, keeps_up
    )
