"""The sums of a group over one step: who was there at its end, what lay in its queues, and what made that grow."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from typing import NamedTuple

from spark_jobs.domain.model.statuses import Status
from tests.support.oracle.moves import Place
from tests.support.oracle.ownership import QueueOwnership
from tests.support.oracle.progress import Progress, known_sum
from tests.support.oracle.snapshots import OffsetSnapshot, StepWindow
from tests.support.oracle.timeline import RebalanceInterval


class Counts(NamedTuple):
    """At the end of the step."""

    member_count: int | None
    distinct_members: int | None
    idle_members: int | None
    queue_count: int | None
    queues_with_one_owner: int | None
    double_owned_queues: int | None
    unassigned_queues: int | None


class Backlog(NamedTuple):
    """Over the step."""

    backlog_start: int | None
    backlog_end: int | None
    unknown_queues: int
    oldest_message_ms: int | None
    produced_messages_per_second: float | None
    consumed_messages_per_second: float | None


class TopicEnd(NamedTuple):
    """The last replayed interval of a topic in the step."""

    topic: str
    interval: RebalanceInterval
    owned: Sequence[QueueOwnership]

    @property
    def client_ids(self) -> list[str]:
        return [member.client_id for member in self.interval.members]


class QueueRow(NamedTuple):
    """One queue in one interval inside the step. `replayed`: its owners are known; `handed_over`: its owner was another
    until the interval began.
    """

    topic: str
    place: Place
    start: int
    end: int
    owners: int
    replayed: bool
    handed_over: bool
    measured: Progress

    @property
    def queue(self) -> tuple[str, Place]:
        return self.topic, self.place


def last_replayed(clipped: Iterable[RebalanceInterval]) -> RebalanceInterval | None:
    """Of views that disagree at the end, the one with the most client ids, of equals the first by name."""
    replayed = [interval for interval in clipped if interval.status == Status.REPLAYED]
    last = max((interval.end for interval in replayed), default=None)
    return min(
        (interval for interval in replayed if interval.end == last),
        key=lambda interval: (-len({member.client_id for member in interval.members}), interval.view),
        default=None,
    )


def counts(ends: Sequence[TopicEnd], clipped: Iterable[RebalanceInterval]) -> Counts:
    """Members of the topic that was replayed last; the queues of all topics, retry topics aside. Of a group that was
    not replayed, or broadcast later, the members that brokers listed last, by the one with the most connections, then
    ids; proxies alone know those that they connect.
    """
    every = list(clipped)
    broadcasting = [interval for interval in every if interval.reason == "BROADCASTING"]
    ends = [each for each in ends if all(each.interval.end >= interval.end for interval in broadcasting)]
    if not ends:
        listing = [each for each in every if each.members and each.reason != "CONSUMED_THROUGH_PROXY"]
        if not listing:
            return Counts(*[None] * 7)
        last = max(interval.end for interval in listing)
        lists = [[one.client_id for one in each.members] for each in listing if each.end == last]
        listed = max(lists, key=lambda ids: (len(ids), len(set(ids)), ids))
        return Counts(len(listed), len(set(listed)), *[None] * 5)
    _, members, distinct, connected = max(
        (topic_end.interval.end, len(topic_end.client_ids), len(set(topic_end.client_ids)), list(topic_end.client_ids))
        for topic_end in ends
    )
    ordinary = [topic_end for topic_end in ends if not topic_end.topic.startswith("%RETRY%")]
    if not ordinary:
        return Counts(members, distinct, *[None] * 5)
    owned = Counter(min(len(queue.owners), 2) for topic_end in ordinary for queue in topic_end.owned if queue.readable)
    return Counts(members, distinct, _idle(ordinary, connected), owned.total(), owned[1], owned[2], owned[0])


def _idle(ends: Sequence[TopicEnd], connected: Sequence[str]) -> int:
    """Those of the connected that own nothing in any topic; each goes by its number among those of its id."""
    still_there = {(client_id, connected[:position].count(client_id)) for position, client_id in enumerate(connected)}
    connections, busy = set(), set()
    for topic_end in ends:
        owning = {position for queue in topic_end.owned for position in queue.owners}
        for position, client_id in enumerate(topic_end.client_ids):
            connection = client_id, topic_end.client_ids[:position].count(client_id)
            connections.add(connection)
            if position in owning:
                busy.add(connection)
    return len(connections & still_there - busy)


def backlog(rows: Iterable[QueueRow]) -> Backlog:
    """Of all queues of the group."""
    every = list(rows)
    queues = [of_queue for _, of_queue in rows_by_queue(every)]
    filled = [of_queue for of_queue in queues if not _is_empty(of_queue)] or queues
    ends = [both for of_queue in filled if (both := _start_and_end(of_queue))[1] is not None]
    starts = [start for start, _ in ends]
    return Backlog(
        None if None in starts else known_sum(starts),
        known_sum(end for _, end in ends),
        sum(_start_and_end(of_queue)[1] is None for of_queue in queues),
        max((row.measured.age_ms for row in every if row.measured.age_ms is not None), default=None),
        _rates([[(row, row.measured.produced) for row in of_queue] for of_queue in filled]),
        _rates([[(row, row.measured.consumed) for row in of_queue] for of_queue in filled]),
    )


def rows_by_queue(rows: Iterable[QueueRow]) -> list[tuple[tuple[str, Place], list[QueueRow]]]:
    """The rows of each queue in the order of time."""
    in_order = sorted(rows, key=lambda row: (row.queue, row.start))
    return [(queue, list(of_queue)) for queue, of_queue in groupby(in_order, key=lambda row: row.queue)]


def _start_and_end(of_queue: Sequence[QueueRow]) -> tuple[int | None, int | None]:
    """The lag of one queue at its first sample of the step, and at its last; None: that is unknown."""
    read = [row.measured for row in of_queue if row.measured.readings]
    return (read[0].lag_first, read[-1].lag_last) if read else (None, None)


def _is_empty(of_queue: Sequence[QueueRow]) -> bool:
    """True if nothing was ever sent to the queue, by its last sample."""
    read = [row.measured for row in of_queue if row.measured.readings]
    return bool(read) and (read[-1].consumer_offset, read[-1].lag_last) == (0, 0)


def _rates(queues: Iterable[Sequence[tuple[QueueRow, int | None]]]) -> float | None:
    """Messages a second from the first interval in which they are known to the last sample of the last one, to six
    decimals a queue; None: in no interval.
    """
    found = []
    for of_queue in queues:
        known = sorted(
            (row.start, row.end, row.measured.last_reading_at, count) for row, count in of_queue if count is not None
        )
        if known:
            (began, *_), (_, ended, read_at, _) = known[0], known[-1]
            messages = sum(count for *_, count in known)
            micros = (read_at if read_at is not None and read_at > began else ended) - began
            found.append((Decimal(messages) * 10**6 / Decimal(micros)).quantize(Decimal("0.000001"), ROUND_HALF_UP))
    return float(sum(found)) if found else None


#: Growth, and its parts: unassigned, stuck owner, hand-over, producer surge, residual.
Growth = tuple[int, int, int, int, int, int]


def growths(
    rows: Iterable[QueueRow], offsets: Mapping[str, Sequence[OffsetSnapshot]], window: StepWindow
) -> dict[str, Growth]:
    """What made the backlog of every topic grow; queues whose lag is not known in the end are left out, and so are
    empty ones beside others.
    """
    found: dict[str, Counter[int]] = {}
    queues = rows_by_queue(rows)
    filled = [queue for queue in queues if not _is_empty(queue[1])] or queues
    for (topic, place), of_queue in filled:
        (lag, end), rate = _start_and_end(of_queue), _rate_before(offsets.get(topic, ()), window, place)
        for row in of_queue:
            if end is None or row.measured.lag_last is None:
                continue
            before, lag = row.measured.lag_first if lag is None else lag, row.measured.lag_last
            parts = found.setdefault(topic, Counter())
            if before is not None:
                parts.update(_parts(row, lag - before, rate))
    return {topic: (sum(parts.values()), *(parts[part] for part in range(5))) for topic, parts in found.items()}  # type: ignore[misc]


def _parts(row: QueueRow, growth: int, rate_before: float | None) -> dict[int, int]:
    """Nobody's queue has one part. Else a stuck owner has what grew while it was stuck, and of the rest, unless the
    queue has changed hands, what came in above the pace of before is a surge.
    """
    if not row.owners:
        return {0: growth}
    stuck, rest = row.measured.stuck_growth, growth - row.measured.stuck_growth
    if row.handed_over:
        return {1: stuck, 2: rest}
    surge, produced = 0, row.measured.produced
    if rate_before is not None and produced is not None:
        free = (row.end - row.start - row.measured.stuck_time) / 10**6
        above = produced - row.measured.stuck_produced - round(rate_before * free)
        surge = max(0, min(rest, above))
    return {1: stuck, 3: surge, 4: rest - surge}


def _rate_before(snapshots: Iterable[OffsetSnapshot], window: StepWindow, place: Place) -> float | None:
    """Messages a second that came in during the look-back; None where its first and last sample do not tell."""
    found = [
        (snapshot.captured_at, entry.end_offset)
        for snapshot in sorted(snapshots)
        if window.read_from <= snapshot.captured_at < window.start
        for entry in snapshot.offsets
        if entry[:2] == place
    ]
    if len(found) < 2 or found[0][1] is None or found[-1][1] is None or found[-1][1] < found[0][1]:
        return None
    return (found[-1][1] - found[0][1]) / ((found[-1][0] - found[0][0]) / 10**6)
