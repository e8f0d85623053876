"""The table `incidents`: what the command `incidents` shows, for SQL."""

from collections.abc import Iterator
from datetime import timedelta

import pyarrow as pa

from schemas import AUDIT_RUNS, GROUP_STATUS, INCIDENTS
from spark_jobs.domain.incidents.team_routes import TeamRoute
from spark_jobs.domain.incidents.thread import QUIET
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import Time, from_micros, joined, to_micros
from spark_jobs.pipeline.publish.claims import claim_incidents
from spark_jobs.show.incidents import IncidentQuery, incident_rows, published_incidents, was_seen_in
from spark_jobs.show.rows import GROUP
from spark_jobs.store.read.published import IS_PUBLISHED, PublishedTables, Scope, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

_QUIET = timedelta(microseconds=QUIET)


def publish_incidents(
    stored: StoredTables, routes: tuple[TeamRoute, ...], interval: Interval | None = None
) -> list[Incident]:
    """Fold the findings that touch the interval, replace their incidents in the table, and return those seen in it.

    The whole history is folded if the table does not exist, or without an interval. An audit of the interval can also
    change an incident that is open, or whose end or beginning is within `QUIET` of it. What was published since the
    table was written is folded too, as the process that audited it may have ended before it came here. Raises
    `PublishConflictError` if another process does not finish, else as `published_incidents` and `StoredTables.replace`
    do.
    """
    with claim_incidents(stored.folder):
        tables = published_tables(stored)
        if interval is None or not stored.exists(INCIDENTS):
            folded = published_incidents(tables, IncidentQuery(routes=routes))
            stored.replace(INCIDENTS, incident_rows(folded))
        else:
            audited_time = to_micros(interval.start), to_micros(interval.end)
            for start, end in joined([*_published_since(stored), audited_time]):
                of_time = _replaced(tables, routes, Interval(from_micros(start), from_micros(end)))
                if start <= audited_time[0] < end:
                    folded = of_time
        return [incident for incident in folded if interval is None or was_seen_in(incident, interval)]


def _published_since(stored: StoredTables) -> Iterator[Time]:
    """The times, in microseconds, of runs that ended since the table was written, or so shortly before that its writer
    may have missed them.
    """
    since = stored.written_at(INCIDENTS) - _QUIET
    conditions = [IS_PUBLISHED, Filter("finished_at", ">=", since)]
    for start, end in tuples(stored.read(AUDIT_RUNS, ("interval_start", "interval_end"), conditions)):
        yield to_micros(start), to_micros(end)


def _replaced(tables: PublishedTables, routes: tuple[TeamRoute, ...], interval: Interval) -> list[Incident]:
    """The incidents that an audit of the interval can change, which replace those of the table."""
    before = tables.stored.read(INCIDENTS, INCIDENTS.columns)
    time = _changed(tables, interval, before)
    folded = published_incidents(tables, IncidentQuery(time, routes=routes))
    rows = incident_rows(folded)
    stays = pa.array(_untouched(before, time, {*rows["incident_id"].to_pylist()}), pa.bool_())
    tables.stored.replace(INCIDENTS, pa.concat_tables([before.filter(stays).cast(rows.schema), rows]))
    return folded


def _changed(tables: PublishedTables, interval: Interval, before: pa.Table) -> Interval:
    """The time whose incidents an audit of the interval can change: also since the ends of its groups' open ones."""
    audited = {*tuples(tables.read(GROUP_STATUS, Scope(interval), GROUP))}
    columns = before.select(["cluster", "consumer_groups", "last_seen_at", "resolved_at"])
    open_since = [
        last_seen_at
        for cluster, groups, last_seen_at, resolved_at in tuples(columns)
        if resolved_at is None and any((cluster, group) in audited for group in groups)
    ]
    return Interval(min([interval.start, *open_since]) - _QUIET, interval.end + _QUIET)


def _untouched(before: pa.Table, time: Interval, replaced: set[str]) -> list[bool]:
    """For each row, return whether its incident was seen outside of the time only, and is not replaced."""
    columns = before.select(["incident_id", "opened_at", "last_seen_at"])
    return [
        incident_id not in replaced and (opened_at >= time.end or last_seen_at <= time.start)
        for incident_id, opened_at, last_seen_at in tuples(columns)
    ]
