"""Who holds which queue while members and queues stay the same, where no strategy explains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from spark_jobs.domain.kernel.holdings import Unchanged, reports_in
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.window import AuditSettings
from spark_jobs.domain.rocketmq.strategies import Holders

#: A topic with its members and queues, as every client sorts them.
State = tuple[str, tuple[str, ...], tuple[Place, ...]]


def holders_of_states(
    times: Iterable[Unchanged], clients: Mapping[str, ClientHistory], settings: AuditSettings
) -> Mapping[State, Holders]:
    """By state, who holds which queue, if all members report.

    Empty if, when clients had followed, a queue was in two lists or is not in the route, a client changed its list, or
    two times of one state differ. A queue without a holder must have none with other members either: otherwise a client
    may be stuck.
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
    """Return what the members list in the end; None: it is not known; empty: it is no allocation."""
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
