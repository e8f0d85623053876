"""The report: one HTML page of an interval: incidents, trends of the weeks before, groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.coverage import COMPLETE_SHARE, Coverage
from spark_jobs.domain.incidents.team_routes import TeamRoute, findings_with_teams
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, Interval, format_utc
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.errors import NothingPublishedError
from spark_jobs.runtime.version import code_version
from spark_jobs.show import fleet, spans
from spark_jobs.show.coverage import coverage_of, data_until_text
from spark_jobs.show.files import whole_file
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.measured import Minutes, Topics, highest_of_parts, measured, topic_minutes
from spark_jobs.show.page.groups import GroupRows
from spark_jobs.show.page.page import PageContent, page
from spark_jobs.show.rows import GROUP, QUEUE, Key, Row, group_of
from spark_jobs.show.status import with_shares
from spark_jobs.show.trends import last_days, published_trends
from spark_jobs.store.read.published import PublishedTables, Scope, check_names, published_tables, runs_of
from spark_jobs.store.read.stored import Filter, StoredTables, rows

#: Groups that the page lists, at most.
GROUPS = 10_000
#: Rows of a section, at most: of one group, and of all that have a separate page.
ROWS_OF_ONE, ROWS_OF_ALL = 20_000, 200_000


#: Four whole weeks.
_TREND_DAYS = 28


def report(
    stored: StoredTables,
    scope: Scope,
    progress: Callable[[str], None],
    detailed: int = 20,
    routes: tuple[TeamRoute, ...] = (),
    now: datetime | None = None,
    complete_share: float = COMPLETE_SHARE,
) -> str:
    """The page of the scope's time, as HTML. `detailed`: groups with a page; `now`: None: no data age.

    Raises `NothingPublishedError` if no group of the scope was audited in its time.
    """
    progress("reading what was published")
    tables = published_tables(stored)
    requested = scope.interval or EVER
    interval = tables.steps(requested)
    groups = _fleet(tables, scope, interval, complete_share)
    chosen = groups[:detailed]
    progress("reading the groups that need attention most")
    sections = _sections(tables, chosen, interval, routes, complete_share)
    progress("reading their samples")
    samples = measured(stored, [group_of(row) for row in chosen], interval)
    progress("folding the findings to incidents")
    incidents = published_incidents(
        tables, IncidentQuery(requested, scope.cluster, scope.consumer_group, routes=routes)
    )
    weeks = last_days(tables, scope, _TREND_DAYS, before=interval.end)
    covered = coverage_of(tables, replace(scope, interval=requested), now or EVER.end, complete_share)
    progress("drawing")
    return page(
        PageContent(
            requested=requested,
            interval=interval,
            fleet=groups[:GROUPS],
            groups=_groups(chosen, sections, samples, _minutes(tables, chosen, interval)),
            notes=_left_out(groups, chosen),
            runs=runs_of(stored, interval),
            warehouse=stored.location.location,
            coverage=covered,
            data_age="" if now is None else _age(covered, now),
            versions=tables.versions,
            code_version=code_version(),
            incidents=incidents,
            trends=published_trends(tables, scope, weeks),
        )
    )


def _age(covered: Coverage, now: datetime) -> str:
    until = f" {data_until_text(covered, now)}." if covered.data_until else ""
    return f"Written at {format_utc(now.replace(microsecond=0))}.{until}"


def write_page(page: str, file: Path) -> None:
    """Writes the page whole or not at all; raises `ReportFileError` where it cannot."""
    with whole_file(file, "report") as out:
        out.write(page.encode())


def _fleet(tables: PublishedTables, scope: Scope, interval: Interval, complete_share: float) -> list[Row]:
    statuses = rows(tables.read(GROUP_STATUS, scope, fleet.STATUS_COLUMNS))
    groups = fleet.fleet(
        with_shares(tables, statuses, scope.cluster, complete_share),
        rows(tables.read(FINDINGS, scope, fleet.FINDING_COLUMNS)),
        highest_of_parts(tables, scope, interval, fleet.PARTS),
    )
    if not groups:
        raise _nothing_audited(tables, scope, interval)
    return groups


#: The rows of one section by (cluster, consumer group).
_Section = Mapping[tuple[Any, ...], Sequence[Row]]


def _sections(
    tables: PublishedTables,
    groups: Sequence[Row],
    interval: Interval,
    routes: Sequence[TeamRoute],
    complete_share: float,
) -> dict[str, _Section]:
    """By name of a section its sorted rows per (cluster, group), already folded to the spans that the page shows."""

    def read(table: Table, columns: Sequence[str] | None = None) -> list[Row]:
        return [*rows(tables.read(table, Scope(interval), columns, _of_groups(groups)))]

    intervals = read(REBALANCE_INTERVALS, spans.INTERVAL_COLUMNS)
    allocations = read(ALLOCATIONS, spans.ALLOCATION_COLUMNS)
    progress = read(QUEUE_PROGRESS, spans.PROGRESS_COLUMNS)
    in_order: dict[str, tuple[Sequence[Row], Callable[[Row], Any]]] = {
        "members": (spans.members(intervals), itemgetter("start", "client_id", "client_addr")),
        "ownership": (spans.ownership(allocations, progress), itemgetter("start", *QUEUE)),
        "states": (spans.states(intervals), itemgetter("start", "topic", "membership_view")),
        "backlog": (spans.backlog(progress, interval), itemgetter("start", *QUEUE)),
        "findings": (findings_with_teams(routes, read(FINDINGS)), _worst_first),
        "status": (with_shares(tables, read(GROUP_STATUS), None, complete_share), itemgetter("step_start")),
    }
    return {name: by_key(sorted(section_rows, key=order), group_of) for name, (section_rows, order) in in_order.items()}


def _of_groups(groups: Sequence[Row]) -> list[Filter]:
    return [Filter(name, "IN", sorted({row[name] for row in groups})) for name in GROUP]


def _minutes(tables: PublishedTables, groups: Sequence[Row], interval: Interval) -> Mapping[Key, dict[str, Minutes]]:
    """By (cluster, group) the minutes of the backlog of each topic."""
    of_groups: dict[Key, dict[str, Minutes]] = {group_of(row): {} for row in groups}
    for (*group, topic), minutes in topic_minutes(tables, Scope(interval), *_of_groups(groups)).items():
        of_groups.setdefault(tuple(group), {})[topic] = minutes
    return of_groups


def _worst_first(finding: Row) -> tuple[Any, ...]:
    return WORST_FIRST.index(finding["severity"]), finding["started_at"], finding["finding_id"]


def _groups(
    chosen: Sequence[Row],
    sections: Mapping[str, _Section],
    samples: Mapping[tuple[str, str], Topics],
    minutes: Mapping[Key, Mapping[str, Minutes]],
) -> list[GroupRows]:
    max_rows = min(ROWS_OF_ONE, ROWS_OF_ALL // len(chosen))
    return [_group(row, sections, max_rows, samples.get(group_of(row), {}), minutes[group_of(row)]) for row in chosen]


def _group(
    row: Row, sections: Mapping[str, _Section], max_rows: int, samples: Topics, minutes: Mapping[str, Minutes]
) -> GroupRows:
    """One group of the page: the first `max_rows` rows of each section, and a note for each that is cut."""
    group_sections = {name: section.get(group_of(row), []) for name, section in sections.items()}
    notes = [
        f"Only the first {max_rows:,} of {len(section_rows):,} rows of {name} are shown: ask for a shorter interval."
        for name, section_rows in group_sections.items()
        if len(section_rows) > max_rows
    ]
    shown = {name: section_rows[:max_rows] for name, section_rows in group_sections.items()}
    return GroupRows(fleet=row, notes=notes, samples=samples, minutes=minutes, **shown)


def _left_out(groups: Sequence[Row], chosen: Sequence[Row]) -> list[str]:
    notes = []
    if len(groups) > len(chosen):
        notes.append(
            f"The {len(chosen)} groups that need attention most have a separate page; the other "
            f"{len(groups) - len(chosen):,} have none: ask for one with --group, or for more with --details."
        )
    if len(groups) > GROUPS:
        notes.append(f"{len(groups) - GROUPS:,} more groups, which need attention least, are not listed.")
    return notes


def _nothing_audited(tables: PublishedTables, scope: Scope, interval: Interval) -> Exception:
    """The error that says what was audited instead."""
    check_names(tables, scope)
    groups = tables.groups()
    if not groups:
        return NothingPublishedError(
            f"no run has found a consumer group in the warehouse {tables.stored.location.location}"
        )
    first_step, last_step = min(group.first_step for group in groups), max(group.last_step for group in groups)
    return NothingPublishedError(
        f"nothing was audited in {interval}: the first audited step began at "
        f"{format_utc(first_step)}, the last at {format_utc(last_step)}"
    )
