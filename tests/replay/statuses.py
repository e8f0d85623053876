"""How every group of a fleet fared, in one form for plain Python and Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from typing import NamedTuple

from pyspark.sql import DataFrame

from spark_jobs.domain import capacity
from spark_jobs.domain.attribution import Part
from spark_jobs.domain.timeline import RebalanceInterval, Status
from tests.replay.fleets_by_hand import FOUND, Found
from tests.replay.histories import Case, Key
from tests.replay.progresses import Growth, QueueRow, QueueRows
from tests.replay.random_fleets import START
from tests.replay.rebalances import Place, owners
from tests.replay.timelines import utc_rows


class Counts(NamedTuple):
    """At the end of the step."""

    members: int | None
    distinct_members: int | None
    idle_members: int | None
    queues: int | None
    owned_once: int | None
    owned_twice: int | None
    owned_never: int | None


class Backlog(NamedTuple):
    """Over the step."""

    backlog_start: int | None
    backlog_end: int | None
    unknown_queues: int
    oldest_message_ms: int | None
    in_rate: float | None
    out_rate: float | None


class Judged(NamedTuple):
    """What was found, and whether more members would help."""

    worst_severity: str | None
    finding_count: int

    limit: str
    more_members_help: bool | None
    busiest_share: int | None
    share_after: int | None


class GroupRow(NamedTuple):
    """A row of `group_status`."""

    counts: Counts
    backlog: Backlog
    attribution: dict[str, Growth]
    judged: Judged


GroupRows = dict[Key, GroupRow]


def by_domain(cases: Iterable[Case], rows: QueueRows, growths: dict[Key, Growth]) -> GroupRows:
    """What plain Python says of every group and step with an interval."""
    groups = defaultdict(list)
    for case in cases:
        if case.clipped:
            groups[case.key._replace(topic="")].append(case)
    return {key: _group(of_group, rows, growths) for key, of_group in groups.items()}


def _group(cases: list[Case], rows: QueueRows, growths: dict[Key, Growth]) -> GroupRow:
    counts, widest = _counts([(case, last) for case in cases if (last := _last_replayed(case))])
    backlog = _backlog([rows.get(case.key, []) for case in cases])
    attribution = {case.key.topic: growths[case.key] for case in cases if case.key in growths}
    key = cases[0].key
    found = FOUND.get(key.cluster, ()) if key.step == START else ()
    return GroupRow(counts, backlog, attribution, _judged(found, counts.members, widest, backlog))


def _judged(found: Sequence[Found], members: int | None, widest: int, backlog: Backlog) -> Judged:
    signs = {f"{one.rule}/{one.cause}" if one.rule == "UNASSIGNED_QUEUE" else one.rule for one in found}
    backlogs = backlog.backlog_start, backlog.backlog_end
    limit = capacity.limit(capacity.GroupAtEnd(members or 0, widest, *backlogs, backlog.out_rate, frozenset(signs)))
    return Judged(
        max((one.severity for one in found), key=("INFO", "WARN", "ERROR").index, default=None),
        len(found),
        limit,
        capacity.more_members_help(limit),
        capacity.busiest_share(widest, members or 0),
        None if members is None else capacity.busiest_share(widest, members + 1),
    )


def _last_replayed(case: Case) -> RebalanceInterval | None:
    """Of views that disagree at the end, the first by name."""
    replayed = [one for one in case.clipped if one.status == Status.REPLAYED]
    last = max((one.end for one in replayed), default=None)
    return min((one for one in replayed if one.end == last), key=lambda one: one.view, default=None)


def _counts(lasts: list[tuple[Case, RebalanceInterval]]) -> tuple[Counts, int]:
    """Members of the topic that was replayed last; retry topics aside, the queues; the most queues of one topic."""
    if not lasts:
        return Counts(*[None] * 7), 0
    _, members, distinct = max((one.end, len(one.members), len({m.client_id for m in one.members})) for _, one in lasts)
    lasts = [(case, one) for case, one in lasts if not case.key.topic.startswith("%RETRY%")]
    places = [owners(case.history, one) for case, one in lasts]
    readable = [[(q.broker_name, q.queue_id) for q, unreadable in one.queues if not unreadable] for _, one in lasts]
    owned = Counter(min(len(of_topic[place]), 2) for of_topic, of in zip(places, readable, strict=True) for place in of)
    counts = Counts(members, distinct, _idle(lasts, places), owned.total(), owned[1], owned[2], owned[0])
    return counts, max(map(len, readable))


def _idle(lasts: list[tuple[Case, RebalanceInterval]], places: list[dict[Place, list[str]]]) -> int:
    """Connections that own nothing in any topic; each goes by its number among those of its id."""
    connections, busy = set(), set()
    for (_, one), of_topic in zip(lasts, places, strict=True):
        owning = {client_id for ids in of_topic.values() for client_id in ids}
        for client_id, count in Counter(member.client_id for member in one.members).items():
            numbered = {(client_id, number) for number in range(count)}
            connections |= numbered
            busy |= numbered if client_id in owning else set()
    return len(connections - busy)


def _backlog(topics: list[list[QueueRow]]) -> Backlog:
    queues = [list(found) for rows in topics for _, found in groupby(rows, key=lambda row: row.place)]
    known = [[row.measured for row in of_queue if row.measured.lag_last is not None] for of_queue in queues]
    return Backlog(
        _sum(of_queue[0].lag_first for of_queue in known if of_queue),
        _sum(of_queue[-1].lag_last for of_queue in known if of_queue),
        known.count([]),
        max((one.age_ms for of_queue in known for one in of_queue if one.age_ms is not None), default=None),
        _sum_of_rates([[(row, row.measured.produced) for row in of_queue] for of_queue in queues]),
        _sum_of_rates([[(row, row.measured.consumed) for row in of_queue] for of_queue in queues]),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def _sum_of_rates(queues: list[list[tuple[QueueRow, int | None]]]) -> float | None:
    rates = [rate for of_queue in queues for rate in _rate(of_queue)]
    return float(sum(rates)) if rates else None


def _rate(measured: list[tuple[QueueRow, int | None]]) -> list[Decimal]:
    """Messages a second over the intervals in which they are known, to six decimals; none: in no interval."""
    known = [(messages, (row.end - row.start).total_seconds()) for row, messages in measured if messages is not None]
    if not known:
        return []
    rate = sum(messages for messages, _ in known) / sum(seconds for _, seconds in known)
    return [Decimal(repr(rate)).quantize(Decimal("0.000001"), ROUND_HALF_UP)]


def by_spark(status: DataFrame) -> GroupRows:
    """The same of what Spark found."""
    found = {}
    for row in utc_rows(status, "step_start"):
        attribution = {
            one.topic: (one.growth, {part.value: one[part.value] for part in Part}) for one in row["attribution"] or ()
        }
        found[Key(row["cluster"], row["consumer_group"], "", row["step_start"])] = GroupRow(
            Counts(*(row[name] for name in Counts._fields)),
            Backlog(*(row[name] for name in Backlog._fields)),
            attribution,
            Judged(*(row[name] for name in Judged._fields)),
        )
    return found
