"""Who would have owned what in a case: the rules of the audit over other members, queues or strategies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import Allocation
from spark_jobs.domain.kernel.ownership import Inputs, Replays
from spark_jobs.domain.rocketmq.allocation import unresolvable_room
from spark_jobs.domain.what_if.cases import Case
from spark_jobs.domain.what_if.recorded import Recorded, ReplayedSpan
from spark_jobs.errors import StrategyError


class Assignment(NamedTuple):
    """A topic's allocation over a span of time, in microseconds."""

    start: int
    end: int
    topic: str
    allocation: Allocation
    client_ids: Sequence[str]


def assignments_in(case: Case, recorded: Recorded, replays: Replays) -> dict[str, list[Assignment]]:
    """By topic, in order of time. Raises `StrategyError` where the settings of the case's strategy are missing."""
    return {topic: [assignment_of(case, span, replays) for span in spans] for topic, spans in recorded.replayed.items()}


def assignment_of(case: Case, replayed: ReplayedSpan, replays: Replays) -> Assignment:
    """Of one interval; raises as `assignments_in`."""
    inputs = case.inputs(replayed.interval)
    ids = [member.client_id for member in inputs.members]
    _check_rooms(case, inputs, replays)
    return Assignment(replayed.start, replayed.end, inputs.topic, replays.allocation(inputs), ids)


def _check_rooms(case: Case, inputs: Inputs, replays: Replays) -> None:
    """Raises `StrategyError` where a member or a broker is in no room: then every client keeps what it had."""
    for name in {one.strategy for one in inputs.members}:
        client_ids = [member.client_id for member in inputs.members]
        if why := unresolvable_room(replays.settings.named(name), inputs.topic, inputs.queues, client_ids):
            raise StrategyError(f"{case.label}: {name} cannot be played: {why}")


def rebalances(of_topic: Sequence[Assignment]) -> Iterator[tuple[Assignment, Assignment]]:
    """Neighbours in time with different allocations."""
    for before, after in pairwise(of_topic):
        if before.end == after.start and before.allocation is not after.allocation:
            yield before, after
