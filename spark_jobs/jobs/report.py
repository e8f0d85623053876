"""The report: the published tables of an interval → one HTML page."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import ALLOCATIONS, AUDIT_RUNS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.columns import severity_rank
from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.errors import NothingPublishedError, ReportFileError
from spark_jobs.jobs.record import code_version
from spark_jobs.publish.published import PublishedTables, check_cluster, check_group, published_tables
from spark_jobs.publish.runs import runs_of
from spark_jobs.report.fleet import fleet
from spark_jobs.report.groups import GroupRows
from spark_jobs.report.history import backlog, states
from spark_jobs.report.keys import ROWS_OF_GROUP, at_most
from spark_jobs.report.ownership import members, ownership
from spark_jobs.report.page import PageContent, page
from spark_jobs.warehouse import Warehouse

#: Groups that the page lists, at most.
GROUPS = 10_000
#: Rows of a section, at most: of one group, and of all that have a page of their own.
ROWS_OF_ONE, ROWS_OF_ALL = 20_000, 200_000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ReportRequest:
    """The time to report on, of all groups or of those named; how many of the worst groups get a page of their own."""

    interval: Interval
    cluster: str | None = None
    consumer_group: str | None = None
    detailed: int = 20


def report(spark: SparkSession, warehouse: Warehouse, request: ReportRequest, progress: Callable[[str], None]) -> str:
    """The page, as HTML.

    Raises `NothingPublishedError` where no group of the request was audited in its interval.
    """
    progress("reading what was published")
    tables = published_tables(spark, warehouse)
    interval = tables.steps(request.interval)
    found = {table: tables.read(table, interval, request.cluster, request.consumer_group) for table in _READ}
    groups = _fleet(found, interval)
    if not groups:
        raise _nothing(tables, request)
    listed, chosen = groups[:GROUPS], groups[: request.detailed]
    of_chosen = {table: _of_groups(frame, chosen) for table, frame in found.items()}
    sections = _sections(of_chosen, interval, min(ROWS_OF_ONE, ROWS_OF_ALL // len(chosen)), progress)
    progress("drawing")
    return page(
        PageContent(
            asked=request.interval,
            interval=interval,
            fleet=listed,
            groups=[_group(row, sections) for row in chosen],
            notes=_left_out(groups, chosen),
            runs=_runs(tables, interval),
            warehouse=warehouse.location,
            versions=tables.versions,
            code_version=code_version(),
        )
    )


def write_page(page: str, file: Path) -> None:
    """Writes the page whole or not at all; raises `ReportFileError` where it cannot."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ReportFileError(f"the report cannot be written to {file}: {error.strerror}") from error


_READ = (REBALANCE_INTERVALS, ALLOCATIONS, QUEUE_PROGRESS, GROUP_STATUS, FINDINGS)


def _of_groups(frame: DataFrame, groups: Sequence[Row]) -> DataFrame:
    def is_group(row: Row) -> Column:
        return (F.col("cluster") == F.lit(row["cluster"])) & (F.col("consumer_group") == F.lit(row["consumer_group"]))

    return frame.where(reduce(or_, map(is_group, groups), F.lit(False)))


def _fleet(found: Mapping[Table, DataFrame], interval: Interval) -> list[Row]:
    rows = fleet(found[GROUP_STATUS], found[FINDINGS], found[QUEUE_PROGRESS], interval)
    return [row.asDict(recursive=True) for row in rows.collect()]


def _sections(
    found: Mapping[Table, DataFrame], interval: Interval, rows: int, progress: Callable[[str], None]
) -> dict[str, dict[tuple[str, str], list[Row]]]:
    """The rows of each section, by (cluster, group), so many of each group: one query each, already folded to what the
    page shows.
    """
    by_time, queue = "start", ("topic", "broker_name", "queue_id")
    queries: dict[str, tuple[DataFrame, Sequence[str | Column]]] = {
        "members": (members(found[REBALANCE_INTERVALS]), (by_time, "client_id", "client_addr")),
        "ownership": (ownership(found[ALLOCATIONS], found[QUEUE_PROGRESS]), (by_time, *queue)),
        "states": (states(found[REBALANCE_INTERVALS]), (by_time, "topic", "membership_view")),
        "backlog": (backlog(found[QUEUE_PROGRESS], interval), (by_time, *queue)),
        "findings": (found[FINDINGS], (F.desc(severity_rank()), by_time, "finding_id")),
        "status": (found[GROUP_STATUS], ("step_start",)),
    }
    sections = {}
    for name, (frame, order) in queries.items():
        progress(f"reading {name}")
        by_group: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in frame.transform(at_most(rows, order)).collect():
            by_group[row.cluster, row.consumer_group].append(row.asDict(recursive=True))
        sections[name] = by_group
    return sections


def _group(row: Row, sections: Mapping[str, Mapping[tuple[str, str], list[Row]]]) -> GroupRows:
    of_group = {name: section.get((row["cluster"], row["consumer_group"]), []) for name, section in sections.items()}
    notes = [
        f"Shown are the first {len(rows):,} of {rows[0][ROWS_OF_GROUP]:,} rows of {name}: ask for a shorter interval."
        for name, rows in of_group.items()
        if rows and rows[0][ROWS_OF_GROUP] > len(rows)
    ]
    return GroupRows(fleet=row, notes=notes, **of_group)


def _left_out(groups: Sequence[Row], chosen: Sequence[Row]) -> list[str]:
    notes = []
    if len(groups) > len(chosen):
        notes.append(
            f"The {len(chosen)} groups that need attention most have a page of their own; the other "
            f"{len(groups) - len(chosen):,} have none: ask for one with --group, or for more with --details."
        )
    if len(groups) > GROUPS:
        notes.append(f"{len(groups) - GROUPS:,} more groups, which need attention least, are not listed.")
    return notes


def _runs(tables: PublishedTables, interval: Interval) -> list[Row]:
    runs = runs_of(tables.warehouse.read(tables.spark, AUDIT_RUNS), interval)
    return [row.asDict(recursive=True) for row in runs.collect()]


def _nothing(tables: PublishedTables, request: ReportRequest) -> Exception:
    if request.consumer_group is not None:
        check_group(tables, request.interval, request.cluster, request.consumer_group)
    elif request.cluster is not None:
        check_cluster(tables, request.cluster)
    bounds = tables.groups().agg(F.min("first_step"), F.max("last_step")).head()
    if bounds is None or bounds[0] is None:
        return NothingPublishedError(f"no run has found a consumer group in the warehouse {tables.warehouse.location}")
    return NothingPublishedError(
        f"nothing was audited in {tables.steps(request.interval)}: the first audited step began at "
        f"{format_utc(bounds[0])}, the last at {format_utc(bounds[1])}"
    )
