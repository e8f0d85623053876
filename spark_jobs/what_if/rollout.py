"""A group's last rollout in other orders: what each would have moved, paused, and consumed twice."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Allocation, Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import java_order
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.rollout import Rollout, ends_of, measures_of, rollouts
from spark_jobs.errors import CaseError
from spark_jobs.what_if.cases import Case, assignment_of
from spark_jobs.what_if.pace import hand_over_pause
from spark_jobs.what_if.recorded import Assignment


class RolloutOutcome(NamedTuple):
    """A rollout in one order. None is unknown. `in_flight`: messages that may be consumed twice, at most."""

    order: str
    rebalances: int
    queues_moved: int
    longest_pause_seconds: float | None
    in_flight: int | None


@dataclass(frozen=True)
class RolloutComparison:
    """A rollout from `start` to `end` (microseconds) as `recorded`, and the outcomes of other orders."""

    start: int
    end: int
    replaced: int
    recorded: RolloutOutcome
    orders: Sequence[RolloutOutcome]


def _one_wave(before: frozenset[str], left: Sequence[str], joined: Sequence[str]) -> Iterator[frozenset[str]]:
    """All leave, and then the others join."""
    yield before.difference(left)
    yield before.difference(left).union(joined)


def _one_by_one(before: frozenset[str], left: Sequence[str], joined: Sequence[str]) -> Iterator[frozenset[str]]:
    """One leaves, and one joins; then the next."""
    for number in range(max(len(left), len(joined))):
        for come in (number, number + 1):
            present = before.difference(left[: number + 1]).union(joined[:come])
            yield present


def _new_first(before: frozenset[str], left: Sequence[str], joined: Sequence[str]) -> Iterator[frozenset[str]]:
    """All join, and then the others leave."""
    yield before.union(joined)
    yield before.union(joined).difference(left)


#: By the name of an order, who is a member after each of its rebalances.
ORDERS = {"one-wave": _one_wave, "one-by-one": _one_by_one, "new-first": _new_first}


def known_orders(names: Sequence[str]) -> Sequence[str]:
    """The names, or without any those of all orders. Raises `CaseError` for another one."""
    for name in names:
        if name not in ORDERS:
            raise CaseError(f"there is no order '{name}': {did_you_mean(name, ORDERS) or ', '.join(ORDERS)}")
    return names or [*ORDERS]


def other_orders(
    steps: Sequence[AuditedStep], orders: Sequence[str], configured: StrategySettings
) -> RolloutComparison | None:
    """The last rollout of these steps in other orders; None: there was none. Raises `StrategyError` as
    `assignment_of`.
    """
    all_rollouts = [(step, rollout) for step in steps for rollout in rollouts(step)]
    if not all_rollouts:
        return None
    step, rollout = all_rollouts[-1]
    measures = measures_of(step, rollout)
    recorded = RolloutOutcome(
        "as it was",
        int(measures["rebalances"] or 0),
        int(measures["queues_moved"] or 0),
        measures["longest_pause_seconds"],
        None if measures["in_flight_total"] is None else int(measures["in_flight_total"]),
    )
    replays = (step.replays or Replays(configured)).under(configured)
    prices = _prices(steps, step, rollout, recorded)
    outcomes = [_outcome(step, rollout, order, prices, replays) for order in orders]
    return RolloutComparison(rollout.start, rollout.end, rollout.replaced, recorded, outcomes)


class _Prices(NamedTuple):
    """Seconds for which a queue pauses that goes from one owner to another, and of one without an owner meanwhile;
    messages in flight of each queue that is handed over. None is unknown.
    """

    pause: float | None
    unowned_pause: float | None
    in_flight: float | None


def _prices(steps: Sequence[AuditedStep], step: AuditedStep, rollout: Rollout, recorded: RolloutOutcome) -> _Prices:
    """The prices that the recorded rollout shows."""
    handed_over = sum(len(each.moves.handed_over) for each in rollout.rebalances)
    in_flight = None if recorded.in_flight is None or not handed_over else recorded.in_flight / handed_over
    pause, restart = recorded.longest_pause_seconds, _restart_seconds(rollout)
    during = [each.interval.allocation for each in rollout.rebalances if each.interval.allocation]
    if any(_is_unowned(before.allocation, during) for before, _ in ends_of(step, rollout)):
        return _Prices(hand_over_pause(steps) / SECOND or None, pause, in_flight)
    return _Prices(pause, None if pause is None or restart is None else pause + restart, in_flight)


def _is_unowned(before: Allocation | None, later: Iterable[Allocation]) -> bool:
    """Return whether queues without an owner are more at any time than before."""
    had = before.counts.unassigned_queues if before else 0
    return any(each.counts.unassigned_queues > had for each in later)


def _restart_seconds(rollout: Rollout) -> float | None:
    """The median time from a member's end until another one takes its place; None: others joined before."""
    left, joined = (
        {client_id: each.moment for each in rollout.rebalances for client_id in getattr(each.moves, name)}
        for name in ("left", "joined")
    )
    pairs = zip(_in_order(rollout.left & left.keys()), _in_order(rollout.joined & joined.keys()), strict=False)
    seconds = [(joined[new] - left[old]) / SECOND for old, new in pairs]
    return median(seconds) if seconds and median(seconds) > 0 else None


def _in_order(client_ids: Iterable[str]) -> list[str]:
    return sorted(client_ids, key=java_order)


def _outcome(step: AuditedStep, rollout: Rollout, order: str, prices: _Prices, replays: Replays) -> RolloutOutcome:
    at_first = frozenset(rollout.before)
    present = ORDERS[order](at_first, _in_order(rollout.left), _in_order(rollout.joined))
    stages = [stage for stage, _ in groupby([at_first, *present])]
    moved, handed_over, is_unowned = 0, 0, False
    for before, _ in ends_of(step, rollout):
        assert before.allocation
        everyone = replace(before, members=_everyone(rollout, before))
        span = Assignment(before.start, before.end, everyone, before.allocation, everyone.client_ids)
        cases = (Case(order, without=frozenset(everyone.client_ids).difference(stage)) for stage in stages)
        played = [assignment_of(case, span, replays).allocation for case in cases]
        movements = [moved_between(*pair) for pair in pairwise(played)]
        moved += sum(movement.moved for movement in movements)
        handed_over += sum(len(movement.handed_over) for movement in movements)
        is_unowned |= _is_unowned(before.allocation, played)
    return RolloutOutcome(
        order,
        len(stages) - 1,
        moved,
        prices.unowned_pause if is_unowned else prices.pause,
        None if prices.in_flight is None else round(prices.in_flight * handed_over),
    )


def _everyone(rollout: Rollout, before: RebalanceInterval) -> tuple[Member, ...]:
    """All members that a topic had before and in a rollout, in allocation order."""
    of_topic = (each.interval for each in rollout.rebalances if each.interval.topic == before.topic)
    known: dict[str, Sequence[Member]] = {}
    for interval in (before, *of_topic):
        known = by_key(interval.members or (), lambda member: member.client_id) | known
    return tuple(member for client_id in _in_order(known) for member in known[client_id])
