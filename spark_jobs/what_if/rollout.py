"""A group's last rollout in other orders: what each would have moved, paused, and consumed twice."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, Moves, Rebalance, RebalanceInterval
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import java_order
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.rebalancing import consumed_again_max, may_go_to_another
from spark_jobs.domain.rules.rollout import Rollout, ends_of, measures_of, rollouts
from spark_jobs.errors import CaseError
from spark_jobs.what_if.cases import Case, assignment_of
from spark_jobs.what_if.pace import hand_over_pause
from spark_jobs.what_if.recorded import Assignment


class RolloutOutcome(NamedTuple):
    """A rollout in one order. None is unknown. `in_flight`: messages that owners held when queues went to others;
    `consumed_again_max`: the most that may be consumed twice, with those that samples do not show.
    """

    order: str
    rebalances: int
    queues_moved: int
    longest_pause_seconds: float | None
    in_flight: int | None
    consumed_again_max: int | None


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


class RolloutComparison(NamedTuple):
    """A rollout, and what it did or would have done: as it was first, then in other orders. `pause_resolution_seconds`:
    the part of a pause that samples may hide; None: no sample shows any.
    """

    rollout: Rollout
    pause_resolution_seconds: float | None
    outcomes: Sequence[RolloutOutcome]


#: By its name, how many members have left and how many joined after each change of an order, of so many.
ORDERS: Mapping[str, Callable[[int, int], list[tuple[int, int]]]] = {
    "one-wave": lambda left, joined: [(left, 0), (left, joined)],
    "one-by-one": lambda left, joined: [(n + 1, n + more) for n in range(max(left, joined)) for more in (0, 1)],
    "new-first": lambda left, joined: [(0, joined), (left, joined)],
}


def other_orders(
    steps: Sequence[AuditedStep], orders: Iterable[str], configured: StrategySettings
) -> RolloutComparison | None:
    """The last rollout of these steps; None: there was none. Raises `StrategyError` as `assignment_of`, and
    `CaseError` for an unknown order.
    """
    if unknown := set(orders) - ORDERS.keys():
        raise CaseError(f"there is no order '{min(unknown)}': write {', '.join(ORDERS)}")
    all_rollouts = [(step, rollout) for step in steps for rollout in rollouts(step)]
    if not all_rollouts:
        return None
    step, rollout = all_rollouts[-1]
    measures = measures_of(step, rollout)
    in_flight, again = (_whole(measures[name]) for name in ("in_flight_total", "consumed_again_max"))
    rebalances, moved = (int(measures[name] or 0) for name in ("rebalances", "queues_moved"))
    was = RolloutOutcome("as it was", rebalances, moved, measures["longest_pause_seconds"], in_flight, again)
    prices, replays = _prices(steps, step, rollout, was), (step.replays or Replays(configured)).under(configured)
    outcomes = [was, *(_outcome(step, rollout, order, prices, replays) for order in orders)]
    return RolloutComparison(rollout, measures["pause_resolution_seconds"], outcomes)


class _Prices(NamedTuple):
    """Seconds for which a queue pauses that goes from one owner to another, and while the group has no member; of each
    queue that is handed over the messages in flight, and the most that may be consumed twice; messages a second that it
    gets. None is unknown.
    """

    pause: float | None
    without_members: float | None
    in_flight: float | None
    consumed_again_max: float | None
    consumed: float | None


def _prices(steps: Sequence[AuditedStep], step: AuditedStep, rollout: Rollout, was: RolloutOutcome) -> _Prices:
    """The prices that the rollout shows as it was."""
    one_by_one = [each for each in rollout.rebalances if len(each.moves.joined) <= 1]
    of_queue = (
        _per(was.in_flight, _handed_over(rollout.rebalances)),
        _per(consumed_again_max(step, one_by_one), _handed_over(one_by_one)),
        _consumed_per_second(step, rollout),
    )
    pause, restart = was.longest_pause_seconds, _restart_seconds(rollout)
    if not all(each.interval.client_ids for each in rollout.rebalances):
        return _Prices(hand_over_pause(steps) / SECOND or None, pause, *of_queue)
    return _Prices(pause, None if pause is None or restart is None else pause + restart, *of_queue)


def _handed_over(rebalances: Iterable[Rebalance]) -> int:
    return sum(len(each.moves.handed_over) for each in rebalances)


def _per(number: float | None, queues: int) -> float | None:
    return None if number is None or not queues else number / queues


def _consumed_per_second(step: AuditedStep, rollout: Rollout) -> float | None:
    """Messages of one of its queues in its time, on average; None: no two samples."""
    rates: list[float] = []
    for topic in {each.interval.topic for each in rollout.rebalances} & step.history.offsets.keys():
        samples = step.history.offsets[topic]
        seen = samples.inside(rollout.start, rollout.end)
        if seen.stop - seen.start > 1:
            first, last = samples.times[seen][0], samples.times[seen][-1]
            rates += (samples.forward[seen][1:].sum(axis=0) / ((last - first) / SECOND)).tolist()
    return float(np.mean(rates)) if rates else None


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
    left, joined = _in_order(rollout.left), _in_order(rollout.joined)
    changes = [(0, 0), *ORDERS[order](len(left), len(joined))]
    stages = [frozenset({*rollout.before} - {*left[:leaving]} | {*joined[:joining]}) for leaving, joining in changes]
    stages = [stage for stage, _ in groupby(stages)]
    moves: list[Moves] = []
    exposed = waiting = 0
    for before, _ in ends_of(step, rollout):
        assert before.allocation is not None  # it is replayed
        everyone = replace(before, members=_everyone(rollout, before))
        span = Assignment(before.start, before.end, everyone, before.allocation, everyone.client_ids)
        cases = (Case(order, without=frozenset(everyone.client_ids) - stage) for stage in stages)
        played = (assignment_of(case, span, replays).allocation for case in cases)
        for (members, after), pair in zip(pairwise(stages), pairwise(played), strict=True):
            moves.append(moved_between(*pair))
            handed_over, queues = len(moves[-1].handed_over), len(before.allocation.queues)
            taken_in_turn = (queues - handed_over) * may_go_to_another(False, len(after - members))
            exposed += handed_over + taken_in_turn
            waiting += 0 if members else taken_in_turn
    handed_over = sum(len(each.handed_over) for each in moves)
    return RolloutOutcome(
        order,
        len(stages) - 1,
        sum(each.moved or 0 for each in moves),
        prices.pause if all(stages) else prices.without_members,
        None if prices.in_flight is None else round(prices.in_flight * handed_over),
        _consumed_again_max(prices, exposed, waiting),
    )


def _consumed_again_max(prices: _Prices, exposed: int, waiting: int) -> int | None:
    """By how many queues members take from each other, and how many of these several take when messages wait."""
    if prices.consumed_again_max is None or (waiting and None in (prices.consumed, prices.without_members)):
        return None
    waits = waiting * (prices.consumed or 0) * (prices.without_members or 0)
    return round(prices.consumed_again_max * exposed + waits)


def _everyone(rollout: Rollout, before: RebalanceInterval) -> tuple[Member, ...]:
    """All members that a topic had before and in a rollout, in allocation order."""
    of_topic = (each.interval for each in rollout.rebalances if each.interval.topic == before.topic)
    known: dict[str, Sequence[Member]] = {}
    for interval in (before, *of_topic):
        known = by_key(interval.members or (), lambda member: member.client_id) | known
    return tuple(member for client_id in _in_order(known) for member in known[client_id])
