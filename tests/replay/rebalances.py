"""Why every interval of a fleet began and what that moved, in one form for plain Python and Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from pyspark.sql import DataFrame

from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.domain.members import strategy_named
from spark_jobs.domain.message_queue import RouteEntry, RouteQueue
from spark_jobs.domain.moves import Situation, has_expired, moves, triggers
from spark_jobs.domain.ownership import Member, ownership
from spark_jobs.domain.snapshots import GroupHistory
from spark_jobs.domain.timeline import RebalanceInterval, Status
from spark_jobs.domain.views import AGREED
from tests.replay.configured import CADENCE
from tests.replay.histories import Case, Key
from tests.replay.timelines import utc_rows

_UNREADABLE = UnassignedCause.BROKER_NOT_READABLE
Place = tuple[str, int]


class Rebalance(NamedTuple):
    """One interval; unknown is None."""

    start: datetime
    view: str
    triggers: tuple[tuple[str, str | None], ...] | None
    moved: int | None
    preserved: int | None
    least: int | None


Rebalances = dict[Key, list[Rebalance]]


def by_domain(cases: Iterable[Case]) -> Rebalances:
    """What plain Python says of every interval, with the warm-up."""
    return {case.key: sorted(_rebalance(case, one) for one in case.intervals) for case in cases if case.intervals}


def _rebalance(case: Case, interval: RebalanceInterval) -> Rebalance:
    head = interval.start, interval.view
    before = compared_with(case, interval)
    if interval.status != Status.REPLAYED:
        return Rebalance(*head, None, None, None, None)
    if before is None:
        is_first = interval.start > case.window.replayed.start
        return Rebalance(*head, (("FIRST_OBSERVATION", None),) if is_first else None, None, None, None)
    was, now = situation(case.history, before), situation(case.history, interval)
    found = triggers(was, now, _brokers_before(case, interval), _expired(case, interval.start))
    return Rebalance(*head, tuple((trigger.value, subject) for trigger, subject in found), *moves(was, now))


def compared_with(case: Case, interval: RebalanceInterval) -> RebalanceInterval | None:
    """The last replayed interval before it on the same time line: that of all hosts, or its own list's."""
    earlier = (one for one in case.intervals if one.start < interval.start and one.view in (AGREED, interval.view))
    return max((one for one in earlier if one.status == Status.REPLAYED), key=lambda one: one.start, default=None)


def _brokers_before(case: Case, interval: RebalanceInterval) -> set[str]:
    earlier = (one for one in case.intervals if one.start < interval.start)
    return {queue.broker_name for one in earlier for queue, unreadable in one.queues if not unreadable}


def _expired(case: Case, left_at: datetime) -> set[str]:
    """The ids of the clients that were silent so long before."""
    read = case.window.read
    looks = sorted({(one.client_id, one.captured_at, one.answered) for one in case.history.clients})
    inside = (one for one in looks if read.start <= one[1] < read.end)
    return {
        client_id
        for client_id, of_client in groupby(inside, key=lambda one: one[0])
        for last, first, following in _silences([look[1:] for look in of_client])
        if has_expired(left_at, last, first, following, CADENCE)
    }


def _silences(looks: list[tuple[datetime, bool]]) -> Iterator[tuple[datetime, datetime, datetime | None]]:
    """Last answer, first silence after it, and the next answer."""
    answers = [at for at, answered in looks if answered]
    for last, following in zip(answers, [*answers[1:], None], strict=False):
        silent = [at for at, answered in looks if not answered and last < at and (following is None or at < following)]
        if silent:
            yield last, silent[0], following


def situation(history: GroupHistory, interval: RebalanceInterval) -> Situation:
    """The allocation of a replayed interval."""
    owned = {place: frozenset(ids) for place, ids in owners(history, interval).items()}
    readable = [(queue.broker_name, queue.queue_id) for queue, unreadable in interval.queues if not unreadable]
    counts = Counter(broker for broker, _ in readable)
    return Situation(interval.members, counts, {place: owned[place] for place in readable})


def owners(history: GroupHistory, interval: RebalanceInterval) -> dict[Place, list[str]]:
    """The connections that own each queue, those too that nobody may read, by their sorted client ids."""
    members = [
        Member(one.client_id, None, strategy_named(one.strategy, history.configured), one.subscribes)
        for one in interval.members
    ]
    return {
        (one.queue.broker_name, one.queue.queue_id): sorted(members[owner].client_id for owner in one.owners)
        for one in ownership(history.topic, members, _route(interval.queues))
    }


def _route(queues: Iterable[RouteQueue]) -> list[RouteEntry]:
    """The route that has these queues."""
    per_broker = defaultdict(list)
    for queue, unreadable in queues:
        per_broker[queue.broker_name].append(unreadable)
    return [
        RouteEntry(broker, 2 if _UNREADABLE in causes else 6, causes.count(None), len(causes))
        for broker, causes in per_broker.items()
    ]


def by_spark(moved: DataFrame) -> Rebalances:
    """The same of what Spark found."""
    found: Rebalances = defaultdict(list)
    for row in utc_rows(moved, "step_start", "start"):
        said = row["triggers"]
        rebalance = Rebalance(
            row["start"],
            row["membership_view"],
            None if said is None else tuple((one.trigger, one.subject) for one in said),
            row["queues_moved"],
            row["queues_preserved"],
            row["least_moves"],
        )
        found[Key(row["cluster"], row["consumer_group"], row["topic"], row["step_start"])].append(rebalance)
    return {key: sorted(lines) for key, lines in found.items()}
