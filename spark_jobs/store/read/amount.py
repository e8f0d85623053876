"""How much the tables of a warehouse hold, as Delta's log tells: in milliseconds, and without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import pyarrow as pa

from schemas import Table
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.store.read.delta import DeltaTables


def bytes_in(tables: DeltaTables, wanted: Iterable[Table], interval: Interval = EVER) -> int:
    """Bytes of the data files of these tables, as far as they are there; of each file the part of its time that is in
    the interval: of snapshots their `captured_at`, of outputs the step. All of one whose time the log does not tell.
    """
    return sum(_bytes(tables, table, interval) for table in wanted if tables.exists(table))


def _bytes(tables: DeltaTables, table: Table, interval: Interval) -> int:
    files = pa.table(tables.open(table).get_add_actions(flatten=True))
    columns = [("min.captured_at", "max.captured_at"), ("partition.step_start", "partition.step_start")]
    times = next((pair for pair in columns if set(pair) <= set(files.column_names)), None)
    sizes: list[int] = files["size_bytes"].to_pylist()
    if times is None:
        return sum(sizes)
    spans = zip(*(files[name].to_pylist() for name in times), strict=True)
    return round(sum(size * _share(first, last, interval) for size, (first, last) in zip(sizes, spans, strict=True)))


def _share(first: datetime | None, last: datetime | None, interval: Interval) -> float:
    """The part of the time from first to last that is in the interval."""
    if first is None or last is None:
        return 1.0
    if first == last:
        return float(interval.start <= first < interval.end)
    within: timedelta = min(last, interval.end) - max(first, interval.start)
    return max(0.0, within / (last - first))
