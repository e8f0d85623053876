"""What went in and out of a fleet's queues, and what made backlogs grow, in one form for plain Python and Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from pyspark.sql import DataFrame

from spark_jobs.domain.attribution import Part, QueueGrowth, attribute
from spark_jobs.domain.progress import Progress, QueueReading, progress
from spark_jobs.domain.timeline import RebalanceInterval, Status
from tests.replay.configured import CONFIGURATION, MAX_GAP
from tests.replay.histories import Case, Key
from tests.replay.rebalances import Place, compared_with, owners, situation
from tests.replay.timelines import utc_rows

ALLOWED_LAG = CONFIGURATION.thresholds.allowed_lag


class QueueRow(NamedTuple):
    """One row of `queue_progress`."""

    broker_name: str
    queue_id: int
    start: datetime
    end: datetime
    view: str
    owners: tuple[str, ...]
    measured: Progress

    @property
    def place(self) -> Place:
        return self.broker_name, self.queue_id


QueueRows = dict[Key, list[QueueRow]]
#: Messages of growth, all and per part.
Growth = tuple[int, dict[str, int]]


def by_domain(cases: Iterable[Case]) -> QueueRows:
    """What plain Python says of every case; those without a replayed interval are left out."""
    found = {case.key: sorted(_rows(case)) for case in cases}
    return {key: rows for key, rows in found.items() if rows}


def _rows(case: Case) -> Iterator[QueueRow]:
    readings = _readings(case)
    for interval, end in _tiles(case.clipped):
        if interval.status != Status.REPLAYED:
            continue
        for place, ids in owners(case.history, interval).items():
            of_queue = readings.get(place, [])
            inside = [one for one in of_queue if interval.start <= one.at < end]
            before = [one for one in of_queue if one.at < interval.start]
            measured = progress(inside, before[-1] if before else None, ALLOWED_LAG)
            yield QueueRow(*place, interval.start, end, interval.view, tuple(ids), measured)


def _tiles(clipped: list[RebalanceInterval]) -> list[tuple[RebalanceInterval, datetime]]:
    """Every moment belongs to the interval that began last, of those to a replayed one, of those to the first view.

    To none, where that one is over.
    """
    in_order = sorted(clipped, key=lambda one: (one.start, one.status != Status.REPLAYED, one.view))
    firsts = [next(together) for _, together in groupby(in_order, key=lambda one: one.start)]
    following = [*(one.start for one in firsts[1:]), datetime.max.replace(tzinfo=UTC)]
    return [(one, min(one.end, start)) for one, start in zip(firsts, following, strict=False)]


def _readings(case: Case) -> dict[Place, list[QueueReading]]:
    """Per queue, in the order of time: those of the step, and of one `max_gap` before."""
    step, found = case.window.step, defaultdict(list)
    for snapshot in sorted(case.offsets):
        if step.start - MAX_GAP <= snapshot.captured_at < step.end:
            for one in snapshot.offsets:
                reading = QueueReading(snapshot.captured_at, one.broker_offset, one.consumer_offset, one.last_timestamp)
                found[one.broker_name, one.queue_id].append(reading)
    return found


def growths(cases: Iterable[Case], rows: QueueRows) -> dict[Key, Growth]:
    """What made the backlog of every case grow; those without a known lag are left out."""
    found = {case.key: list(_growths(case, rows.get(case.key, []))) for case in cases}
    return {key: (sum(one.growth for one in queues), _parts(queues)) for key, queues in found.items() if queues}


def _parts(queues: list[QueueGrowth]) -> dict[str, int]:
    parts = attribute(queues)
    return {part.value: parts[part] for part in Part}


def _growths(case: Case, rows: list[QueueRow]) -> Iterator[QueueGrowth]:
    """One per row with a known lag: how it grew since the queue's row before, or its own first reading."""
    known = [row for row in rows if row.measured.lag_last is not None]
    for place, of_queue in groupby(sorted(known), key=lambda row: row.place):
        lag, rate = None, _rate_before(case, place)
        for row in of_queue:
            before = row.measured.lag_first if lag is None else lag
            lag = row.measured.lag_last
            assert lag is not None
            assert before is not None
            yield QueueGrowth(
                growth=lag - before,
                owners=len(row.owners),
                verdict=row.measured.verdict,
                moved=_changed_hands(case, row),
                produced=row.measured.produced,
                seconds=(row.end - row.start).total_seconds(),
                rate_before=rate,
            )


def _changed_hands(case: Case, row: QueueRow) -> bool:
    """Whether other client ids owned the queue before its interval began, be it in the warm-up."""
    (interval,) = (one for one in case.intervals if one.view == row.view and one.start <= row.start < one.end)
    before = compared_with(case, interval)
    was = situation(case.history, before).owners.get(row.place) if before else None
    return bool(was) and was != frozenset(row.owners)


def _rate_before(case: Case, place: Place) -> float | None:
    """Messages a second that came in during the look-back; None where it holds no two readings that tell."""
    window, found = case.window, []
    for snapshot in sorted(case.offsets):
        if window.read.start <= snapshot.captured_at < window.step.start:
            at = snapshot.captured_at
            found += [(at, one.broker_offset) for one in snapshot.offsets if (one.broker_name, one.queue_id) == place]
    if len(found) < 2 or found[-1][1] < found[0][1]:
        return None
    return (found[-1][1] - found[0][1]) / (found[-1][0] - found[0][0]).total_seconds()


def by_spark(progressed: DataFrame) -> QueueRows:
    """The same of what Spark found."""
    found: QueueRows = defaultdict(list)
    times = ("step_start", "interval_start", "interval_end", "last_reading_at", "rewound_at", "moved_at")
    for row in utc_rows(progressed, *times):
        ids = tuple(sorted(owner.client_id for owner in row["owners"]))
        measured = Progress(*(row[name] for name in Progress._fields))
        time = row["interval_start"], row["interval_end"]
        key = Key(row["cluster"], row["consumer_group"], row["topic"], row["step_start"])
        found[key].append(QueueRow(row["broker_name"], row["queue_id"], *time, row["membership_view"], ids, measured))
    return {key: sorted(rows) for key, rows in found.items()}


def growths_by_spark(attributed: DataFrame) -> dict[Key, Growth]:
    """The same of what Spark found."""
    found = {}
    for row in utc_rows(attributed, "step_start"):
        if row["growth"] is not None:
            key = Key(row["cluster"], row["consumer_group"], row["topic"], row["step_start"])
            found[key] = row["growth"], {part.value: row[part.value] for part in Part}
    return found
