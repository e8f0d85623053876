"""The queues that clients report while members and queues of a topic stay the same, and who holds which of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from math import comb, log2
from typing import NamedTuple

from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.views import Moment
from spark_jobs.domain.model.clients import reported_series
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.message_queue import java_order
from spark_jobs.domain.model.window import SECOND, AuditSettings
from spark_jobs.domain.rocketmq.strategies import Holders


class Holding(NamedTuple):
    """Queues of a topic that a client lists while members and queues are the same. `client_ids` and `queues` as every
    client sorts them; `state`: the number of the time in which they are so; `lasted`: snapshots show it for as long as
    clients may take to follow a change; `orderly`: it needs locks for its queues.
    """

    topic: str
    client_ids: tuple[str, ...]
    queues: tuple[Place, ...]
    client_id: str
    held_queues: frozenset[Place]
    state: int
    lasted: bool
    orderly: bool

    @property
    def bits(self) -> float:
        """How unlikely it is to hold these of the queues by chance."""
        return log2(comb(len(self.queues), len(self.held_queues)))


class Unchanged(NamedTuple):
    """A time with the same members and queues of a topic; clients must have followed from `settled_at` on."""

    topic: str
    start: int
    end: int
    settled_at: int
    client_ids: tuple[str, ...]
    queues: tuple[Place, ...]


def settled_at(members_since: int, queues_since: int, settings: AuditSettings) -> int:
    """When clients must have followed a change of the members, and of the route."""
    thresholds = settings.thresholds
    poll, agree = thresholds.route_poll_seconds * SECOND, thresholds.convergence_seconds * SECOND
    return max(members_since, queues_since + poll) + agree


def unchanged_times(
    topic: str, in_order: Iterable[Moment], replays: Replays, settings: AuditSettings
) -> Iterator[Unchanged]:
    """The times in which all brokers agree on the members, by the moments of a topic."""
    queues_before: tuple[Place, ...] | None = None
    queues_since = 0
    for (queues, client_ids), run in groupby(in_order, key=lambda moment: _inputs(moment, replays)):
        moments = list(run)
        start = moments[0].start
        if queues != queues_before:
            queues_before, queues_since = queues, start
        if queues and client_ids:
            end = min(moments[-1].end, max(moment.views[0].seen_at for moment in moments))
            yield Unchanged(topic, start, end, settled_at(start, queues_since, settings), client_ids, queues)


def _inputs(moment: Moment, replays: Replays) -> tuple[tuple[Place, ...] | None, tuple[str, ...] | None]:
    queues = replays.queues_of(moment.route).readable if moment.route else None
    if len(moment.views) != 1:
        return queues, None
    return queues, tuple(sorted(moment.views[0].membership.client_ids, key=java_order))


def reports_in(
    unchanged: Unchanged, number: int, clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Iterator[Holding]:
    """One, with the time's number, per client and list that it reports from `settled_at` on."""
    agree = settings.thresholds.convergence_seconds * SECOND
    for client_id in dict.fromkeys(unchanged.client_ids):
        if client_id not in clients:
            continue
        series = reported_series(clients[client_id])
        for first_seen, _, last_seen, state in series.runs(unchanged.settled_at, unchanged.end + 1):
            held_queues = state.holdings.get(unchanged.topic)
            if held_queues is not None:
                lasted = last_seen - first_seen >= agree
                names = unchanged.topic, unchanged.client_ids, unchanged.queues, client_id
                yield Holding(*names, held_queues, number, lasted, state.orderly)


#: A topic with its members and queues, as every client sorts them.
State = tuple[str, tuple[str, ...], tuple[Place, ...]]


def holders_of_states(
    times: Iterable[Unchanged], clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Mapping[State, Holders]:
    """By state, who holds which queue, if all members report; empty if that is no allocation.

    A queue without a holder must have none with other members either: otherwise a client may be stuck.
    """
    holders_of: dict[State, Holders] = {}
    left_out: dict[tuple[str, Place], bool] = {}
    for unchanged in times:
        holders = _holders(unchanged, clients, settings)
        if holders is None:
            continue
        state = unchanged.topic, unchanged.client_ids, unchanged.queues
        listed = {(broker, number) for _, broker, number in holders}
        missing = {(unchanged.topic, place): place not in listed for place in unchanged.queues}
        is_other = not holders or any(
            left_out.get(queue, is_missing) != is_missing for queue, is_missing in missing.items()
        )
        if is_other or holders_of.setdefault(state, holders) != holders:
            return {}
        left_out |= missing
    with_holes = {topic for (topic, _), is_missing in left_out.items() if is_missing}
    lists = {topic: {ids for of_topic, ids, _ in holders_of if of_topic == topic} for topic in with_holes}
    return {} if any(len(of_topic) < 2 for of_topic in lists.values()) else holders_of


def _holders(unchanged: Unchanged, clients: Mapping[str, ClientHistory], settings: AuditSettings) -> Holders | None:
    """The queues that the members list in the end; None: unknown; empty: they are no allocation."""
    settled = {(report.client_id, report.held_queues) for report in reports_in(unchanged, 0, clients, settings)}
    if not clients.keys() >= {*unchanged.client_ids}:
        return None
    if len(dict(settled)) < len(settled):
        return frozenset()
    every = reports_in(unchanged._replace(settled_at=unchanged.start), 0, clients, settings)
    last = {report.client_id: report.held_queues for report in every}
    counts = Counter(place for held_queues in last.values() for place in held_queues)
    if max(counts.values(), default=0) != 1 or not counts.keys() <= {*unchanged.queues}:
        return frozenset() if last.keys() == dict(settled).keys() == {*unchanged.client_ids} else None
    return frozenset((client_id, *place) for client_id, held_queues in last.items() for place in held_queues)
