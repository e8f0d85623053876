"""Recordings → source tables, and what cannot be read → quarantine; what became of every line."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import CAPTURE_CALLS, CLIENT_STACKS, QUARANTINE, SIGHTINGS, SOURCES
from spark_jobs.ingest.batches import PLACE, arrow_table, chunks, insert, known, quarantine_row
from spark_jobs.ingest.files import check_readable, read_lines
from spark_jobs.ingest.recording import Blank, Meta, NoObservation, Outcome, Quarantined, Row, conflicting, outcomes
from spark_jobs.ingest.sightings import merge_sightings, sightings
from spark_jobs.ingest.silent_brokers import without_silent_brokers
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)


def ingest(
    spark: SparkSession,
    warehouse: Warehouse,
    files: Iterable[Path | str],
    cluster_name: str | None = None,
    progress: Callable[[str], None] = lambda _message: None,
    report: IngestReport | None = None,
) -> IngestReport:
    """Load recordings into the source tables, creating missing ones; return the outcome of every line.

    All files are loaded together, in chunks of bounded size. Rows are inserted by key and never changed: loading twice,
    again after an interruption, or in parallel gives the same. `cluster_name` is for lines without a `meta` line.
    `report` is that of an earlier call, to which the counts are added. Raises `InputFileError`,
    before anything is loaded, and `PublishConflictError` if other writers leave no gap.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        check_readable(path)
    warehouse.create(spark, (*SOURCES, SIGHTINGS, CAPTURE_CALLS, CLIENT_STACKS, QUARANTINE))
    report = report or IngestReport()
    of_files = (without_silent_brokers(outcomes(read_lines(path), cluster_name)) for path in paths)
    for chunk in chunks(chain.from_iterable(of_files)):
        first = chunk[0].line
        progress(f"loading {first.source} from line {first.number:,}")
        _load(spark, warehouse, chunk, report)
    _LOG.info("%s", report)
    return report


def _load(spark: SparkSession, warehouse: Warehouse, chunk: Sequence[Outcome], report: IngestReport) -> None:
    """Brings one chunk into the tables and the report."""
    rows: dict[str, list[Row]] = defaultdict(list)
    rejected: list[Quarantined] = []
    report.lines += len(chunk)
    for outcome in chunk:
        match outcome:
            case Row():
                rows[outcome.table.name].append(outcome)
            case Quarantined():
                rejected.append(outcome)
            case NoObservation(kind=kind):
                report.no_observation[kind] += 1
            case Meta():
                report.meta += 1
            case Blank():
                report.blank += 1
    taken: list[Row] = []
    for same_table in rows.values():
        conflicts = _load_rows(spark, warehouse, same_table, report)
        rejected += map(conflicting, conflicts)
        lines = {id(row.line) for row in conflicts}
        taken += (row for row in same_table if id(row.line) not in lines)
    _load_sightings(spark, warehouse, sightings((row.table, row.values) for row in taken))
    _load_rejected(spark, warehouse, rejected)
    report.quarantined.update(line.reason.value for line in rejected)
    if report.accounted_for != report.lines:
        raise AssertionError(f"{report.lines} lines read, {report.accounted_for} accounted for")


def _load_rows(spark: SparkSession, warehouse: Warehouse, rows: Sequence[Row], report: IngestReport) -> list[Row]:
    """Brings rows of one table in; those whose key stands with another content come back."""
    table = rows[0].table
    source = arrow_table(table, [row.values for row in rows])
    span = pc.min_max(source["captured_at"]).as_py()
    report.widen(span["min"], span["max"])
    within = F.col("t.captured_at").between(F.lit(span["min"]), F.lit(span["max"]))
    in_table = known(spark, warehouse, table, source, within)
    conflicts = [rows[place] for place, same in in_table.items() if not same]
    first: dict[tuple[object, ...], int] = {}
    for place, row in enumerate(rows):
        if place not in in_table and rows[first.setdefault(row.key, place)].values != row.values:
            conflicts.append(row)
    inserted = insert(spark, warehouse, table, _only(source, first.values()), within)
    report.new[table.name] += inserted
    report.already_there[table.name] += len(rows) - inserted - len(conflicts)
    return conflicts


def _load_sightings(spark: SparkSession, warehouse: Warehouse, rows: Sequence[Mapping[str, object]]) -> None:
    """Brings them in after the rows that they are of: an ingest that was cut off is completed by the next one."""
    if not rows:
        return
    source = arrow_table(SIGHTINGS, rows).drop_columns([PLACE])
    hours = pc.min_max(source["hour"]).as_py()
    within = F.col("t.hour").between(F.lit(hours["min"]), F.lit(hours["max"]))
    merge_sightings(spark, warehouse, spark.createDataFrame(source), within)


def _load_rejected(spark: SparkSession, warehouse: Warehouse, rejected: Sequence[Quarantined]) -> None:
    """Insert lines into quarantine, each once. Two files of one name may have the same line."""
    if not rejected:
        return
    now = datetime.now(UTC)
    rows = {row["quarantine_id"]: row for row in (quarantine_row(line, now) for line in rejected)}
    source = arrow_table(QUARANTINE, [*rows.values()])
    within = F.col("t.source_file").isin(sorted({line.line.source for line in rejected}))
    in_table = known(spark, warehouse, QUARANTINE, source, within)
    insert(spark, warehouse, QUARANTINE, _only(source, set(range(len(rows))) - in_table.keys()), within)


def _only(source: pa.Table, places: Iterable[int]) -> pa.Table:
    return source.filter(pc.is_in(source[PLACE], pa.array(sorted(places), pa.int64())))


@dataclass
class IngestReport:
    """Counts of lines: every line read is in exactly one of the others.
    `new` and `already_there`: rows by table; `no_observation`: by kind of line; `quarantined`: by reason, also by an
    earlier ingest; `span`: first and last time of the rows, None: there is nothing to audit.
    """

    lines: int = 0
    meta: int = 0
    blank: int = 0
    no_observation: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    already_there: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    span: tuple[datetime, datetime] | None = None

    @property
    def accounted_for(self) -> int:
        """The lines that have been counted; equals `lines` whenever a chunk is done."""
        by_name = (self.no_observation, self.new, self.already_there, self.quarantined)
        return self.meta + self.blank + sum(counts.total() for counts in by_name)

    def widen(self, first: datetime, last: datetime) -> None:
        """There are rows of these times, too."""
        start, end = self.span or (first, last)
        self.span = min(start, first), max(end, last)

    def __str__(self) -> str:
        rows = sorted(self.new.keys() | self.already_there.keys())
        counts = [
            f"{self.lines:,} lines read",
            *(f"{name}: {self.new[name]:,} new, {self.already_there[name]:,} known" for name in rows),
            f"no observation: {self.no_observation.total():,}{_detail(self.no_observation)}",
            f"quarantined: {self.quarantined.total():,}{_detail(self.quarantined)}",
            f"meta: {self.meta:,}, blank: {self.blank:,}",
        ]
        return "\n  ".join(counts)


def _detail(counts: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))})" if counts else ""
