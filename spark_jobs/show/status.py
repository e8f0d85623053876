"""Reads the newest published step of every group, of which too little may have been seen, and its incidents."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar

import pyarrow as pa

from schemas import FINDINGS, GROUP_STATUS, Table
from spark_jobs.domain.coverage import COMPLETE_SHARE, NO_COVERAGE, Coverage, share_text
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.domain.model.severities import INFO, SEVERITIES, WORST_FIRST
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.phrases import known_sum
from spark_jobs.domain.rules import unobserved
from spark_jobs.domain.rules.queue_owners import STRANDED_WRITE_QUEUES
from spark_jobs.domain.status.capacity import Limit
from spark_jobs.show.coverage import coverage_of, coverage_rows
from spark_jobs.show.fleet import FINDING_COLUMNS, attention, findings_summary
from spark_jobs.show.incidents import IncidentQuery, incidents_near, was_seen_in
from spark_jobs.show.rows import GROUP, Key, Row, group_of
from spark_jobs.show.tabular import Tabular
from spark_jobs.show.text import incident_text
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.forgotten import expectation
from spark_jobs.store.read.published import EVERYTHING, PublishedTables, Scope, check_names, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, rows

_FINDING = (*FINDING_COLUMNS, "finding_id", "step_start", "started_at", "ended_at")


_COUNTS = dict.fromkeys(("rank", "errors", "peak_backlog_messages", "stranded"), pa.int64())
_RULE = {"rule": pa.string(), "findings": pa.int64()}
_TEXTS = dict.fromkeys(("rule", "severity"), pa.string())
_WORST = {**_TEXTS, **dict.fromkeys(("started_at", "ended_at"), pa.timestamp("us", "UTC")), "is_over": pa.bool_()}
_ADDED = {"rules": pa.list_(pa.struct(_RULE)), "worst": pa.struct(_WORST), "observed_share": pa.float64()}
#: The columns of `group_status`, and those that `statuses` adds.
STATUS_COLUMNS = pa.schema([*arrow_schema(GROUP_STATUS), *pa.schema({**_COUNTS, **_ADDED})])


#: By (cluster, group).
GroupIncidents = Mapping[Key, Sequence[Incident]]


@dataclass(frozen=True, repr=False)
class Statuses(Tabular):
    """A `group_status` row per group, by attention, and how much of the newest steps was observed. `newest_step`: of
    the whole warehouse, None: never audited. `incidents`: by group, see `group_incidents`.
    """

    shown: ClassVar = (
        *(*GROUP, "worst_severity", "member_count", "queue_count", "double_owned_queues", "unassigned_queues"),
        *("backlog_end", "advice"),
    )

    newest_step: datetime | None
    groups: list[dict[str, Any]]
    coverage: Coverage = NO_COVERAGE
    incidents: GroupIncidents = field(default_factory=dict)

    def to_arrow(self) -> pa.Table:
        """A row per group, with `STATUS_COLUMNS`."""
        return pa.Table.from_pylist(self.groups, STATUS_COLUMNS)


def statuses(
    stored: StoredTables,
    names: Scope = EVERYTHING,
    progress: Callable[[str], None] = lambda _: None,
    now: datetime = EVER.end,
    complete_share: float = COMPLETE_SHARE,
) -> Statuses:
    """`published_statuses` with more columns, by attention.

    `observed_share`: of the group's newest step, from 0 to 1 (null: unknown); below the complete share owners, backlog
    and bottleneck are unknown. Those of `fleet.findings_summary`; `stranded`: messages in unreadable queues (null:
    unknown); `worst`: the worst finding that is not over, else that is (null: none): severity, rule and start of its
    root cause, last end of those of its kind that began before it ended, and whether it is over.
    """
    progress("reading the newest step of every group")
    tables = published_tables(stored)
    newest = published_statuses(tables, names)
    findings = _newest_steps(tables, FINDINGS, _FINDING, newest.groups)
    findings_per_group = by_key((row for row in findings if row["silenced_because"] is None), group_of)
    length = tables.grid.length
    covered = coverage_of(tables, names, now, complete_share)
    groups = [
        with_share(
            {
                **row,
                **_findings_columns(findings_per_group.get(group_of(row), []), row["step_start"] + length),
                "peak_backlog_messages": row["backlog_max"],
            },
            of_group.share if (of_group := covered.of(*group_of(row))) else None,
            complete_share,
        )
        for row in newest.groups
    ]
    incidents = {} if newest.newest_step is None else group_incidents(tables, names, newest.newest_step)
    places = {group: place for place, group in enumerate(incidents)}

    def order(row: Row) -> tuple[object, ...]:
        """By the worst incident; without one, by findings; a group that is deleted needs no attention."""
        place = places.get(group_of(row), len(places))
        return row["deleted_at"] is not None, place, _severity(row), attention(row)

    return Statuses(newest.newest_step, sorted(groups, key=order), covered, incidents)


def _findings_columns(findings: Sequence[Row], step_end: datetime) -> Row:
    stranded = (row["evidence"]["backlog_end"] for row in findings if row["rule"] == STRANDED_WRITE_QUEUES.name)
    return {**findings_summary(findings), "stranded": known_sum(stranded), "worst": _worst(findings, step_end)}


def _worst(findings: Sequence[Row], step_end: datetime) -> Row | None:
    """See `statuses`. A finding that lasts until nothing is known any more is not over."""
    blind = (
        row["started_at"] for row in findings if row["rule"] == unobserved.RULE.name and row["ended_at"] >= step_end
    )
    known_until = min(blind, default=step_end)
    backlogs = _backlogs(findings)

    def rank(row: Row) -> tuple[object, ...]:
        is_over, is_symptom = row["ended_at"] < known_until, row["root_finding_id"] is not None
        place = row["severity"] == INFO, is_over, WORST_FIRST.index(row["severity"]), is_symptom
        return *place, -backlogs.get(row["rule"], 0), row["started_at"], row["rule"]

    worst = min((row for row in findings if row["rule"] != unobserved.RULE.name), key=rank, default=None)
    if worst is None:
        return None
    root = next((row for row in findings if row["finding_id"] == worst["root_finding_id"]), worst)
    of_root = {"rule": root["rule"], "severity": worst["severity"], "started_at": root["started_at"]}
    alike = [row for row in findings if (row["rule"], row["severity"]) == (worst["rule"], worst["severity"])]
    ended_at = max(root["ended_at"], worst["ended_at"])
    for row in sorted(alike, key=lambda row: row["started_at"]):
        if row["started_at"] <= ended_at:
            ended_at = max(ended_at, row["ended_at"])
    return {**of_root, "ended_at": ended_at, "is_over": worst["ended_at"] < known_until}


def _backlogs(findings: Sequence[Row]) -> dict[str, int]:
    """By rule the highest backlog of its findings and of their symptoms, in messages."""
    rule_of = {row["finding_id"]: row["rule"] for row in findings}
    backlogs: dict[str, int] = defaultdict(int)
    for row in findings:
        rule = str(rule_of.get(row["root_finding_id"], row["rule"]))
        backlogs[rule] = max(backlogs[rule], row["evidence"]["backlog_max"] or 0)
    return backlogs


def published_statuses(tables: PublishedTables, names: Scope) -> Statuses:
    """The newest row of every group, or of those named; without a name not of clusters that were forgotten since.
    Raises `NothingPublishedError` for unknown names.
    """
    check_names(tables, names.ever)
    all_groups = tables.groups()
    is_expected = expectation(tables.stored, names)
    wanted = [
        group
        for group in all_groups
        if names.names.items() <= group._asdict().items() and is_expected(group.cluster, group.last_step)
    ]
    newest = max((group.last_step for group in all_groups), default=None)
    last_steps = [group._asdict() | {"step_start": group.last_step} for group in wanted]
    return Statuses(newest, in_order(_newest_steps(tables, GROUP_STATUS, GROUP_STATUS.columns, last_steps)))


def _newest_steps(
    tables: PublishedTables, table: Table, columns: Sequence[str], groups: Iterable[Row]
) -> list[dict[str, Any]]:
    """The table's rows of each group's last step; only those steps are read."""
    last_step = {group_of(group): group["step_start"] for group in groups}
    steps = Filter("step_start", "IN", sorted(set(last_step.values())))
    published = rows(tables.read(table, EVERYTHING, columns, [steps])) if last_step else []
    return [row for row in published if last_step.get(group_of(row)) == row["step_start"]]


def in_order(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sorts by severity (worst first), backlog at the end of the step (largest first, unknown last), and name."""

    def rank(group: dict[str, Any]) -> tuple[object, ...]:
        backlog = group["backlog_end"]
        return _severity(group), backlog is None, -(backlog or 0), group["consumer_group"], group["cluster"]

    return sorted(groups, key=rank)


def _severity(group: Row) -> int:
    return (*WORST_FIRST, None).index(group["worst_severity"])


def group_incidents(tables: PublishedTables, names: Scope, newest_step: datetime) -> GroupIncidents:
    """By (cluster, group) the incidents that are open, or were seen in the newest step, as the group has them. Groups
    and incidents are in the order of `worst_first`. UNOBSERVED is about the recorder, and so about no group.
    """
    newest = Interval(newest_step, newest_step + tables.grid.length)
    narrowed = [
        (group, of_group)
        for incident in incidents_near(tables, IncidentQuery(None, names.cluster, is_open=True))
        if incident.rule != unobserved.RULE.name and (incident.resolved_at is None or was_seen_in(incident, newest))
        for group in _most_backlog_first(incident)
        if (of_group := in_group(incident, group)) is not None
    ]
    by_group: dict[Key, list[Incident]] = defaultdict(list)
    for group, incident in sorted(narrowed, key=lambda pair: incident_text.attention(pair[1]), reverse=True):
        by_group[incident.cluster, group].append(incident)
    return by_group


def _most_backlog_first(incident: Incident) -> list[str]:
    costs = sorted(incident.costs, key=lambda cost: cost.peak_backlog_messages or 0, reverse=True)
    return [cost.consumer_group for cost in costs]


def in_group(incident: Incident, group: str) -> Incident | None:
    """The incident with the severity that it has in this group, and over if it is over there; None: INFO at most."""
    parts = [part for part in (*incident.root_causes, *incident.symptoms) if part.consumer_group == group]
    severity = max((part.severity for part in parts), key=SEVERITIES.index)
    if severity == INFO:
        return None
    ends = [part.resolved_at for part in parts if part.resolved_at is not None]
    resolved_at = max(ends) if len(ends) == len(parts) else incident.resolved_at
    return replace(incident, severity=severity, resolved_at=resolved_at)


#: Null in a step of which too little was seen.
_UNKNOWN = frozenset(
    (
        *("queue_count", "queues_with_one_owner", "double_owned_queues", "unassigned_queues", "member_count"),
        *("idle_members", "backlog_start", "backlog_end", "oldest_message_ms", "catches_up", "catch_up_seconds"),
        *("utilization", "busiest_utilization", "busiest_member", "busiest_bottleneck", "more_members_help"),
        *("headroom_messages_per_second", "retention_left_seconds", "stranded"),
    )
)

#: Null there unless the first is above 0.
_SEEN = {
    "backlog_max": ("backlog_max", "backlog_max_at", "peak_backlog_messages"),
    "unassigned_queue_seconds": ("unassigned_queue_seconds",),
}


def with_share(row: Row, share: float | None, complete_share: float) -> dict[str, Any]:
    """The row with its `observed_share` (None: unknown); below the complete share owners, backlog and bottleneck are
    unknown. The most messages and the time without owners that were seen are facts; that none were seen is not.
    """
    if share is None or share >= complete_share:
        return {**row, "observed_share": share}
    unknown = {name: None for name in row if name in _UNKNOWN}
    for measure, columns in _SEEN.items():
        if not row.get(measure):
            unknown |= {name: None for name in row if name in columns}
    texts = {
        "bottleneck": Limit.UNKNOWN_MEMBERS.value,
        "advice": f"Unknown: {share_text(share)} of the step was observed.",
    }
    return {**row, **unknown, **texts, "observed_share": share}


def with_shares(
    tables: PublishedTables, statuses: Iterable[Row], cluster: str | None, complete_share: float
) -> list[dict[str, Any]]:
    """`with_share` of each row, by how much of its step was observed. `cluster`: of all rows; None: of any."""
    steps = [*statuses]
    covered = coverage_rows(tables, {to_micros(row["step_start"]) for row in steps}, cluster)
    shares = {
        (row.cluster, row.consumer_group, row.step_start): row.observed_seconds / row.expected_seconds
        for row in covered
        if row.expected_seconds
    }
    return [
        with_share(row, shares.get((*group_of(row), to_micros(row["step_start"]))), complete_share) for row in steps
    ]
