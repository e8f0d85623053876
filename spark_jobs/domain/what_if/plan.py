"""What becomes of a group as it is when members come or go: who would own how much, and whether that pace is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.members import connections_of
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.what_if.assignments import assignments_in
from spark_jobs.domain.what_if.cases import Case, Change
from spark_jobs.domain.what_if.pace import members_of
from spark_jobs.domain.what_if.recorded import Recorded, recorded
from spark_jobs.domain.what_if.simulation import KnownMembers, KnownRates


class PlannedMember(NamedTuple):
    """One connection: its queues, and messages a second that come into them; None: unknown. `pace`: messages a second
    that it can consume; not `reached`: at least. `keeps_up`: None where its limit is not known, and more comes in.
    """

    client_id: str
    queues: int
    in_rate: float | None
    pace: float | None
    reached: bool
    keeps_up: bool | None


class PlannedSize(NamedTuple):
    """The group with so many more connections; `unowned` and `owned_twice` queues."""

    change: int
    members: Sequence[PlannedMember]
    unowned: int
    owned_twice: int

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
    found = recorded(steps)
    if found is None:
        return None
    end = max(of_topic[-1].end for of_topic in found.replayed.values())
    newest = {topic: of_topic[-1:] for topic, of_topic in found.replayed.items() if of_topic[-1].end == end}
    last = replace(found, replayed=newest)
    present = max(len(replayed[0].interval.members or ()) for replayed in newest.values())
    rates, known = _in_rates(found), KnownMembers(members_of(found))
    changes = range(-min(most, present), most + 1)
    return Plan(end, [_size(change, end, last, rates, known, configured) for change in changes])


def _size(
    change: int,
    end: int,
    last: Recorded,
    rates: Mapping[MessageQueue, float],
    known: KnownMembers,
    configured: StrategySettings,
) -> PlannedSize:
    case = Case(f"{change:+}", members=Change("+" if change >= 0 else "-", abs(change)))
    owned = [of_topic[0] for of_topic in assignments_in(case, last, Replays(configured)).values()]
    queues: dict[tuple[str, int], list[MessageQueue]] = {}
    for assignment in owned:
        connections = connections_of(assignment.client_ids)
        for connection in connections:
            queues.setdefault(connection, [])
        for queue, owners in zip(assignment.allocation.queues, assignment.allocation.owners, strict=True):
            for owner in owners:
                queues[connections[owner]].append(MessageQueue(assignment.topic, *queue))
    counts = [assignment.allocation.counts for assignment in owned]
    return PlannedSize(
        change,
        [
            _member(client_id, own, rates, known.rates_of(client_id, case, np.array([end])))
            for (client_id, _), own in queues.items()
        ],
        sum(one.unassigned_queues for one in counts),
        sum(one.double_owned_queues for one in counts),
    )


def _member(
    client_id: str, queues: Sequence[MessageQueue], rates: Mapping[MessageQueue, float], known: KnownRates | None
) -> PlannedMember:
    every = [rates.get(queue) for queue in queues]
    reported = [one for one in every if one is not None]
    in_rate = sum(reported) if len(reported) == len(every) else None
    if known is None:
        return PlannedMember(client_id, len(queues), in_rate, None, False, None)
    listener, of_queue = (float(one[0]) for one in known.rates)
    pace = min(listener, len(queues) * of_queue) if queues else listener
    keeps_up = None
    if in_rate is not None:
        manages = in_rate <= listener and max(reported, default=0) <= of_queue
        keeps_up = manages if manages or known.known else None
    return PlannedMember(client_id, len(queues), in_rate, pace if np.isfinite(pace) else None, known.known, keeps_up)


def _in_rates(found: Recorded) -> dict[MessageQueue, float]:
    """Messages a second that were produced to each queue, over the time in which it was known."""
    rates = found.course.rates(found.course.produced).tolist()
    return {queue: rate for queue, rate in zip(found.course.queues, rates, strict=True) if not isnan(rate)}
