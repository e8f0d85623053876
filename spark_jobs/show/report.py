"""The report: the published tables of an interval → one HTML page. It begins with the incidents of the interval, and
how each group fared in the weeks before its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.incidents.team_routes import TeamRoute, findings_with_teams
from spark_jobs.domain.incidents.trends import GroupTrend
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.errors import NothingPublishedError
from spark_jobs.runtime.version import code_version
from spark_jobs.show import fleet, spans
from spark_jobs.show.files import whole_file
from spark_jobs.show.incidents import IncidentQuery, published_incidents, stood_in
from spark_jobs.show.page.groups import GroupRows
from spark_jobs.show.page.page import PageContent, page
from spark_jobs.show.rows import GROUP, Row, by_key, values_of
from spark_jobs.show.trends import TrendQuery, last_days, published_trends
from spark_jobs.store.read.published import PublishedTables, check_names, published_tables, runs_of
from spark_jobs.store.read.stored import Filter, StoredTables, rows, tuples

#: Groups that the page lists, at most.
GROUPS = 10_000
#: Rows of a section, at most: of one group, and of all that have a page of their own.
ROWS_OF_ONE, ROWS_OF_ALL = 20_000, 200_000
_QUEUE = ("topic", "broker_name", "queue_id")


@dataclass(frozen=True)
class ReportRequest:
    """The time to report on, of all groups or of those named; how many of the worst groups get a page of their own;
    the routes that say whose a group is.
    """

    interval: Interval
    cluster: str | None = None
    consumer_group: str | None = None
    detailed: int = 20
    routes: tuple[TeamRoute, ...] = ()


def report(stored: StoredTables, request: ReportRequest, progress: Callable[[str], None]) -> str:
    """The page, as HTML.

    Raises `NothingPublishedError` where no group of the request was audited in its interval.
    """
    progress("reading what was published")
    tables = published_tables(stored)
    interval = tables.steps(request.interval)
    groups = _fleet(tables, request, interval)
    if not groups:
        raise _nothing(tables, request)
    listed, chosen = groups[:GROUPS], groups[: request.detailed]
    progress("reading the groups that need attention most")
    sections = _sections(tables, chosen, interval, request.routes)
    at_most = min(ROWS_OF_ONE, ROWS_OF_ALL // len(chosen))
    progress("folding the findings to incidents")
    query = IncidentQuery(cluster=request.cluster, consumer_group=request.consumer_group, routes=request.routes)
    told = incidents_and_trends(tables, request.interval, query)
    progress("drawing")
    return page(
        PageContent(
            asked=request.interval,
            interval=interval,
            fleet=listed,
            groups=[_group(row, sections, at_most) for row in chosen],
            notes=_left_out(groups, chosen),
            runs=runs_of(stored, interval),
            warehouse=stored.location.location,
            versions=tables.versions,
            code_version=code_version(),
            incidents=told.incidents,
            trends=told.trends,
        )
    )


def write_page(page: str, file: Path) -> None:
    """Writes the page whole or not at all; raises `ReportFileError` where it cannot."""
    with whole_file(file, "report") as out:
        out.write(page.encode())


def _fleet(tables: PublishedTables, request: ReportRequest, interval: Interval) -> list[Row]:
    def read(table: Table, columns: Sequence[str]) -> Any:
        return tables.read(table, interval, columns, request.cluster, request.consumer_group)

    return fleet.fleet(
        rows(read(GROUP_STATUS, fleet.STATUS_COLUMNS)),
        rows(read(FINDINGS, fleet.FINDING_COLUMNS)),
        tuples(read(QUEUE_PROGRESS, fleet.PROGRESS_COLUMNS)),
        interval,
    )


#: A section's rows of every group.
_Section = Mapping[tuple[Any, ...], Sequence[Row]]


def _sections(
    tables: PublishedTables, groups: Sequence[Row], interval: Interval, routes: Sequence[TeamRoute]
) -> dict[str, _Section]:
    """The rows of each section, in their order, by (cluster, group): already folded to what the page shows."""
    of_groups = [Filter(name, "IN", sorted({row[name] for row in groups})) for name in GROUP]

    def read(table: Table, columns: Sequence[str] | None = None) -> list[Row]:
        return [*rows(tables.read(table, interval, columns, conditions=of_groups))]

    intervals = read(REBALANCE_INTERVALS, spans.INTERVAL_COLUMNS)
    allocations = read(ALLOCATIONS, spans.ALLOCATION_COLUMNS)
    progress = read(QUEUE_PROGRESS, spans.PROGRESS_COLUMNS)
    in_order: dict[str, tuple[Sequence[Row], Callable[[Row], Any]]] = {
        "members": (spans.members(intervals), _by("start", "client_id", "client_addr")),
        "ownership": (spans.ownership(allocations, progress), _by("start", *_QUEUE)),
        "states": (spans.states(intervals), _by("start", "topic", "membership_view")),
        "backlog": (spans.backlog(progress, interval), _by("start", *_QUEUE)),
        "findings": (findings_with_teams(routes, read(FINDINGS)), _worst_first),
        "status": (read(GROUP_STATUS), _by("step_start")),
    }
    return {name: by_key(sorted(found, key=order), _by(*GROUP)) for name, (found, order) in in_order.items()}


def _by(*names: str) -> Callable[[Row], tuple[Any, ...]]:
    return lambda row: values_of(row, names)


def _worst_first(finding: Row) -> tuple[Any, ...]:
    return WORST_FIRST.index(finding["severity"]), finding["start"], finding["finding_id"]


def _group(row: Row, sections: Mapping[str, _Section], at_most: int) -> GroupRows:
    """What is shown of a group: so many rows of each section."""
    of_group = {name: section.get(values_of(row, GROUP), []) for name, section in sections.items()}
    notes = [
        f"Only the first {at_most:,} of {len(found):,} rows of {name} are shown: ask for a shorter interval."
        for name, found in of_group.items()
        if len(found) > at_most
    ]
    return GroupRows(fleet=row, notes=notes, **{name: found[:at_most] for name, found in of_group.items()})


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


def _nothing(tables: PublishedTables, request: ReportRequest) -> Exception:
    check_names(tables, request.interval, request.cluster, request.consumer_group)
    every = tables.groups()
    if not every:
        return NothingPublishedError(
            f"no run has found a consumer group in the warehouse {tables.stored.location.location}"
        )
    first, last = min(group.first_step for group in every), max(group.last_step for group in every)
    return NothingPublishedError(
        f"nothing was audited in {tables.steps(request.interval)}: the first audited step began at "
        f"{format_utc(first)}, the last at {format_utc(last)}"
    )


#: Four whole weeks.
_DAYS = 28


class IncidentsAndTrends(NamedTuple):
    """The incidents, the newest first, and the groups, what got worse first."""

    incidents: list[Incident]
    trends: list[GroupTrend]


def incidents_and_trends(tables: PublishedTables, interval: Interval, query: IncidentQuery) -> IncidentsAndTrends:
    """Those of the names of the query. The findings are folded once for both."""
    weeks = TrendQuery(_DAYS, query.cluster, query.consumer_group, before=interval.end)
    days = last_days(tables, weeks)
    both = Interval(min(days.start, interval.start), max(days.end, interval.end))
    found = published_incidents(tables, replace(query, interval=both))
    trends = published_trends(tables, weeks, days, found)
    return IncidentsAndTrends([incident for incident in found if stood_in(incident, interval)], trends)
