"""Reads published findings, and folds them into incidents; publishes these as the table `incidents`, for SQL."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import pyarrow as pa

from schemas import INCIDENTS
from spark_jobs.domain.coverage import COMPLETE_SHARE, Coverage
from spark_jobs.domain.incidents.carried import CHANGEABLE, Carried
from spark_jobs.domain.incidents.fold import in_order
from spark_jobs.domain.incidents.team_routes import TeamRoute, with_teams
from spark_jobs.domain.incidents.trends import IncidentSpan
from spark_jobs.domain.incidents.values import CauseTime, Incident, IncidentPart
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import SECOND, from_micros, to_micros
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.errors import NothingPublishedError
from spark_jobs.pipeline.publish.claims import claim_incidents
from spark_jobs.show.checkpoints import carried_by, checkpoint_at, fold_days, fold_from, keep
from spark_jobs.show.coverage import coverage_of, coverage_rows
from spark_jobs.show.rows import Row
from spark_jobs.show.tabular import Tabular
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import PublishedTables, Scope, check_names, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, rows, tuples

_A_MINUTE = 60 * SECOND


@dataclass(frozen=True)
class IncidentQuery(Scope):
    """A query of incidents: seen in the interval (None: ever), of a cluster or group, only open ones. `incident_id`: a
    prefix; `rule`: of one of its findings; `client`: a part of a client id; `routes`: the groups' teams.
    """

    is_open: bool = False
    incident_id: str | None = None
    rule: str | None = None
    severity: str | None = None
    client: str | None = None
    routes: tuple[TeamRoute, ...] = ()


_QUEUE = ("topic", "broker_name", "queue_id")


@dataclass(frozen=True, repr=False)
class Incidents(Tabular):
    """The incidents of a query, and how much of its time was observed. `interval`: its time; None: the whole history,
    of which the coverage is that of the newest steps.
    As a table: a row per incident. `root_causes`, `symptoms`: conditions per group; `costs`: per group.
    """

    shown: ClassVar = ("severity", "rule", "consumer_groups", "opened_at", "resolved_at", "headline", "advice")

    incidents: Sequence[Incident]
    coverage: Coverage
    interval: Interval | None = None

    def __len__(self) -> int:
        return len(self.incidents)

    def to_arrow(self) -> pa.Table:
        """A row per incident."""
        return incident_rows(self.incidents)


def incident_rows(incidents: Iterable[Incident]) -> pa.Table:
    """Rows of the table `incidents`."""
    return pa.Table.from_pylist([*map(_row, incidents)], arrow_schema(INCIDENTS))


def _row(incident: Incident) -> dict[str, Any]:
    return vars(incident) | {
        "opened_at": from_micros(incident.opened_at),
        "resolved_at": None if incident.resolved_at is None else from_micros(incident.resolved_at),
        "last_seen_at": from_micros(incident.last_seen_at),
        "queues": [dict(zip(_QUEUE, queue, strict=True)) for queue in incident.queues],
        "root_causes": [*map(_part_row, incident.root_causes)],
        "symptoms": [*map(_part_row, incident.symptoms)],
        "costs": [cost._asdict() for cost in incident.costs],
        "teams": incident.teams,
    }


def _part_row(part: IncidentPart) -> dict[str, Any]:
    row = {
        **_with_times(part),
        "conflicting_values": [value._asdict() for value in part.conflicting_values],
        "cause_spans": [*map(_with_times, part.cause_spans)],
    }
    del row["brokers"], row["more_findings"], row["resolved_at"]  # they are in no table
    return row


def _with_times(part: IncidentPart | CauseTime) -> dict[str, Any]:
    times = {"started_at": from_micros(part.started_at), "ended_at": from_micros(part.ended_at)}
    return part._asdict() | times


def incidents_and_unknown(
    stored: StoredTables,
    query: IncidentQuery,
    progress: Callable[[str], None] = lambda _: None,
    now: datetime = EVER.end,
    folded: list[Incident] | None = None,
    complete_share: float = COMPLETE_SHARE,
    *,
    newest: bool = False,
) -> Incidents:
    """The incidents of the query, newest first, and its coverage (`coverage_of`). `folded`: those of the query, if they
    are known. Raises as `published_incidents`, and for an unknown rule or severity.
    """
    check_known("rule", query.rule, [rule.name for rule in RULES])
    check_known("severity", query.severity, SEVERITIES)
    progress("reading the findings")
    tables = published_tables(stored)
    matching = published_incidents(tables, query) if folded is None else folded
    return Incidents(matching, coverage_of(tables, query, now, complete_share, newest=newest), query.interval)


def severities_in(warehouse: str, interval: str, cluster: str | None, consumer_group: str | None) -> list[str]:
    """The severities of incidents seen in the interval, of all groups or those named. Raises `WarehouseError`."""
    query = IncidentQuery(Interval.parse(interval), cluster=cluster or None, consumer_group=consumer_group or None)
    return [incident.severity for incident in published_incidents(published_tables(delta_tables(warehouse)), query)]


def published_incidents(tables: PublishedTables, query: IncidentQuery) -> list[Incident]:
    """The incidents of the query, the newest first; raises `NothingPublishedError` for unknown names or ids."""
    if not any(query.names.items() <= group._asdict().items() for group in tables.groups()):
        check_names(tables, query.ever)
    folded = incidents_near(tables, query)
    wanted = [with_teams(query.routes, incident) for incident in folded if is_wanted(incident, query)]
    if query.incident_id is not None and not wanted:
        hint = did_you_mean(query.incident_id, (incident.incident_id for incident in folded))
        raise NothingPublishedError(f"there is no incident {query.incident_id}: {hint or 'list them without --id'}")
    return wanted


def began_unseen(tables: PublishedTables, incident: Incident) -> bool:
    """Return whether it began with the recording of its cluster, within a minute: it may have been there before."""
    step = to_micros(tables.grid.floor(from_micros(incident.opened_at)))
    begun = (
        row.first_snapshot_at
        for row in coverage_rows(tables, [step], incident.cluster)
        if row.consumer_group is None and row.expected_seconds < tables.grid.length.total_seconds()
    )
    return any(first is not None and incident.opened_at - first < _A_MINUTE for first in begun)


def recent_incidents(
    tables: PublishedTables, first_step: datetime, newest: datetime, names: Scope, routes: tuple[TeamRoute, ...]
) -> list[Incident]:
    """The incidents seen since `first_step` that are open or were seen since `newest`, and others: from the newest
    checkpoint before `newest` on; if there is none, those of the steps since `first_step`.
    """
    query = IncidentQuery(Interval(first_step, EVER.end), names.cluster, names.consumer_group)
    earlier = carried_by(tables, checkpoint_at(tables, newest))
    folded = fold_from(tables, names.cluster, earlier, first_step).incidents
    return [with_teams(routes, incident) for incident in folded if is_wanted(incident, query)]


def is_wanted(incident: Incident, query: IncidentQuery) -> bool:
    """Return whether the incident meets every condition of the query."""
    return (
        (query.incident_id is None or incident.incident_id.startswith(query.incident_id))
        and query.cluster in (None, incident.cluster)
        and (query.consumer_group is None or query.consumer_group in incident.consumer_groups)
        and not (query.is_open and incident.resolved_at is not None)
        and (query.interval is None or was_seen_in(incident, query.interval))
        and (query.rule is None or query.rule in (part.rule for part in (*incident.root_causes, *incident.symptoms)))
        and query.severity in (None, incident.severity)
        and (query.client is None or _names_client(incident, query.client.lower()))
    )


def _names_client(incident: Incident, text: str) -> bool:
    """Return whether one of its client ids, or a subject of its findings, contains the text, which is in lower case."""
    subjects = (part.subject for part in (*incident.root_causes, *incident.symptoms))
    return any(text in name.lower() for name in (*incident.client_ids, *subjects))


def check_known(kind: str, name: str | None, names: Sequence[str]) -> None:
    """Raises `NothingPublishedError`, naming the most similar rule or severity, if there is none of this name."""
    if name is not None and name not in names:
        hint = did_you_mean(name.upper(), names) or ", ".join(names)
        raise NothingPublishedError(f"there is no {kind} {name}: {hint}")


def was_seen_in(incident: Incident, interval: Interval) -> bool:
    """Return whether the incident was open at some moment of the interval."""
    return incident.opened_at < to_micros(interval.end) and incident.last_seen_at > to_micros(interval.start)


def incidents_near(tables: PublishedTables, query: IncidentQuery) -> list[Incident]:
    """The incidents that were seen in the interval, or that are open, and others: from the newest checkpoint before
    that time on, or if there is none, of the whole history.
    """
    checkpoint = None
    if query.interval is not None or query.is_open:
        checkpoint = checkpoint_at(tables, None if query.interval is None else query.interval.start)
    return fold_from(tables, query.cluster, carried_by(tables, checkpoint)).incidents


_STORED = ("incident_id", "last_seen_at", "resolved_at")


def publish_incidents(
    stored: StoredTables, routes: tuple[TeamRoute, ...], interval: Interval | None = None
) -> list[Incident]:
    """Bring the table up to date with the newest run, and return the incidents that were seen in the interval.

    The fold continues from the newest checkpoint before all that was audited since it was made, whatever process did
    that; without a checkpoint or table, or without an interval, the whole history is folded. Raises
    `PublishConflictError` if another process does not finish, else as `published_incidents` and `StoredTables.replace`
    do.
    """
    with claim_incidents(stored.folder):
        tables = published_tables(stored)
        checkpoint = None if interval is None or not stored.exists(INCIDENTS) else checkpoint_at(tables)
        incidents, earlier, states = fold_days(tables, checkpoint)
        folded = [with_teams(routes, incident) for incident in in_order(incidents)]
        if checkpoint is None:
            stored.replace(INCIDENTS, incident_rows(folded))
        else:
            _replace(stored, folded, earlier)
        if states:
            keep(tables, checkpoint, states)
        return [incident for incident in folded if interval is None or was_seen_in(incident, interval)]


def _replace(stored: StoredTables, folded: list[Incident], earlier: Carried) -> None:
    """Replace the incidents that later steps than those `earlier` can change; the others stay as they are."""
    changed = _known_ids(folded, earlier)
    for incident_id, last_seen_at, resolved_at in tuples(stored.read(INCIDENTS, _STORED)):
        if not _is_settled(last_seen_at, resolved_at, earlier):
            changed.add(incident_id)
    if changed:
        stored.replace(INCIDENTS, incident_rows(folded), Filter("incident_id", "IN", sorted(changed)))


def _known_ids(folded: Iterable[Incident], earlier: Carried) -> set[str]:
    """The ids of the incidents that a fold continued, or began."""
    return {*earlier.incident_ids, *(incident.incident_id for incident in folded)}


def _is_settled(last_seen_at: datetime, resolved_at: datetime | None, earlier: Carried) -> bool:
    """Return whether no later step than those `earlier` can change an incident of these times."""
    return resolved_at is not None and last_seen_at < from_micros((earlier.before or 0) - CHANGEABLE)


_SPAN = ("incident_id", "last_seen_at", *IncidentSpan._fields)


def incident_spans(tables: PublishedTables, cluster: str | None, since: datetime) -> list[IncidentSpan]:
    """The incidents that opened since then, of one cluster or of all (None): those that later steps than the newest
    checkpoint's can change are folded, the others are in the table. Without a checkpoint the whole history is folded.
    """
    checkpoint = checkpoint_at(tables) if tables.stored.exists(INCIDENTS) else None
    earlier = carried_by(tables, checkpoint)
    folded = fold_from(tables, cluster, earlier).incidents
    spans = [IncidentSpan(*(getattr(incident, name) for name in IncidentSpan._fields)) for incident in folded]
    if checkpoint is not None:
        known = _known_ids(folded, earlier)
        for row in rows(tables.stored.read(INCIDENTS, _SPAN, [Filter("opened_at", ">=", since)])):
            if row["incident_id"] not in known and _is_settled(row["last_seen_at"], row["resolved_at"], earlier):
                spans.append(_span(row))
    return spans


def _span(row: Row) -> IncidentSpan:
    times = {name: to_micros(row[name]) for name in ("opened_at", "resolved_at")}
    return IncidentSpan(**{name: row[name] for name in IncidentSpan._fields} | times)
