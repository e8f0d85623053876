"""Who would have owned what in a case: the rules of the audit over other members, queues or strategies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import Allocation
from spark_jobs.domain.kernel.ownership import Inputs
from spark_jobs.domain.kernel.replays import Replays
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import KeepsWhatItHad, by_room
from spark_jobs.domain.rocketmq.strategies import MACHINE_ROOM_NEARBY
from spark_jobs.domain.what_if.cases import Case
from spark_jobs.domain.what_if.recorded import Held, Recorded
from spark_jobs.errors import StrategyError


class Owned(NamedTuple):
    """A topic's allocation over a span of time, in microseconds."""

    start: int
    end: int
    topic: str
    allocation: Allocation
    client_ids: Sequence[str]


def owned_in(case: Case, recorded: Recorded, replays: Replays) -> dict[str, list[Owned]]:
    """By topic, in order of time. Raises `StrategyError` where the settings of the case's strategy are missing."""
    return {topic: [owned_by(case, one, replays) for one in held] for topic, held in recorded.held.items()}


def owned_by(case: Case, held: Held, replays: Replays) -> Owned:
    """Of one interval; raises as `owned_in`."""
    inputs = case.inputs(held.interval)
    ids = [one.client_id for one in inputs.members]
    _check_rooms(case, inputs, replays)
    return Owned(held.start, held.end, inputs.topic, replays.allocation(inputs), ids)


def _check_rooms(case: Case, inputs: Inputs, replays: Replays) -> None:
    """Raises `StrategyError` where a member or a broker is in no room: then every client keeps what it had."""
    for name in {one.strategy for one in inputs.members}:
        strategy = replays.settings.named(name)
        if strategy.base == MACHINE_ROOM_NEARBY and not strategy.settings_missing:
            try:
                queues = [MessageQueue(inputs.topic, *place) for place in inputs.queues]
                by_room(strategy, queues, [one.client_id for one in inputs.members])
            except KeepsWhatItHad as kept:
                raise StrategyError(f"{case.label}: {name} cannot be played: {kept}") from None


def rebalances(of_topic: Sequence[Owned]) -> Iterator[tuple[Owned, Owned]]:
    """Neighbours in time with different allocations."""
    for before, after in pairwise(of_topic):
        if before.end == after.start and before.allocation is not after.allocation:
            yield before, after
