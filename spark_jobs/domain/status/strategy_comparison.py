"""The allocations that every strategy would have made with the members and queues of a step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, Moves, RebalanceInterval
from spark_jobs.domain.kernel.ownership import Inputs, allocated
from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.rocketmq.allocation import unresolvable_room
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    StrategySettings,
)


class StrategyComparison(NamedTuple):
    """One strategy over one topic of a step; `schemas/strategy_comparison.py` says what each of the fields is."""

    topic: str
    strategy: str
    states: int
    queue_count: int
    unassigned_queues: int
    double_owned_queues: int
    largest_share: float
    queues_moved: int
    minimum_moves: int


@dataclass
class OtherStrategies:
    """The allocations of one group under every strategy, each distinct state once over all steps of a run.

    States and moves go by the allocation that was replayed: `AuditedStep` has one object for each of them.
    """

    settings: StrategySettings
    allocations: dict[tuple[int, str], tuple[RebalanceInterval, Allocation | None]] = field(default_factory=dict)
    moves: dict[tuple[int, int, str], Moves] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The strategies that need no settings, and those whose settings are configured."""
        nearby = self.settings.strategy or ""
        configured = [MACHINE_ROOM, CONFIG, *([nearby] if nearby.startswith(MACHINE_ROOM_NEARBY) else [])]
        return [
            *(AVG, AVG_BY_CIRCLE, CONSISTENT_HASH),
            *(name for name in configured if not self.settings.named(name).settings_missing),
        ]

    def allocation(self, interval: RebalanceInterval, strategy: str) -> Allocation | None:
        """The allocation of a replayed interval; None: a member or broker is in no room, so nothing is reallocated."""
        key = id(interval.allocation), strategy
        if key not in self.allocations:
            # The interval is kept with it: so nothing else can get the identity of its allocation.
            self.allocations[key] = interval, _allocation(interval, strategy, self.settings)
        return self.allocations[key][1]

    def moved(self, before: RebalanceInterval, after: RebalanceInterval, strategy: str) -> Moves | None:
        """The queues that a rebalance moves under a strategy; None: unknown."""
        was, now = self.allocation(before, strategy), self.allocation(after, strategy)
        if was is None or now is None:
            return None
        key = id(before.allocation), id(after.allocation), strategy
        if key not in self.moves:
            self.moves[key] = moved_between(was, now)
        return self.moves[key]


def _allocation(interval: RebalanceInterval, strategy: str, settings: StrategySettings) -> Allocation | None:
    members = tuple(member.under(strategy) for member in interval.members or ())
    inputs = Inputs(interval.topic, members, interval.queues or (), ())
    client_ids = [member.client_id for member in members]
    if unresolvable_room(settings.named(strategy), inputs.topic, inputs.queues, client_ids):
        return None
    return allocated(inputs, settings)


def strategy_comparison(step: AuditedStep, other_strategies: OtherStrategies) -> list[StrategyComparison]:
    """One per (topic, strategy), by topic; without strategies that have no allocation in some state of the topic."""
    with_members = (interval for interval in step.replayed if interval.members)
    replayed = [interval for interval in with_members if interval.view == ALL_HOSTS and interval.is_ordinary]
    return [
        comparison
        for topic, topic_intervals in groupby(replayed, key=lambda interval: interval.topic)
        for comparison in _topic_comparisons(topic, list(topic_intervals), step.window.start, other_strategies)
    ]


def _topic_comparisons(
    topic: str, intervals: Sequence[RebalanceInterval], start: int, other_strategies: OtherStrategies
) -> Iterator[StrategyComparison]:
    states = list({id(interval.shares): interval for interval in intervals if interval.end > start}.values())
    changes = [(before, after) for before, after in pairwise(intervals) if after.start >= start]
    for strategy in other_strategies.names if states else ():
        allocations = [other_strategies.allocation(interval, strategy) for interval in states]
        moves = [other_strategies.moved(before, after, strategy) for before, after in changes]
        known_allocations = [allocation for allocation in allocations if allocation is not None]
        known_moves = [each for each in moves if each is not None]
        if len(known_allocations) == len(allocations) and len(known_moves) == len(moves):
            yield StrategyComparison(
                topic,
                strategy,
                states=len(states),
                queue_count=max(allocation.readable_count for allocation in known_allocations),
                unassigned_queues=max(allocation.counts.unassigned_queues for allocation in known_allocations),
                double_owned_queues=max(allocation.counts.double_owned_queues for allocation in known_allocations),
                largest_share=max(
                    max(of.queues_per_member) * len(of.queues_per_member) / of.readable_count
                    for of in known_allocations
                ),
                queues_moved=sum(each.moved or 0 for each in known_moves),
                minimum_moves=sum(each.least or 0 for each in known_moves),
            )
