"""Flat views of the published tables, for BI tools: no nested column, no reserved word, units in names."""

from dataclasses import dataclass

from schemas.allocations import ALLOCATIONS
from schemas.backlog import BACKLOG
from schemas.findings import FINDINGS
from schemas.group_status import GROUP_STATUS
from schemas.incidents import INCIDENTS
from schemas.table import Table


@dataclass(frozen=True)
class ViewColumn:
    """One column: its name, the expression of it, and its meaning, with its unit."""

    name: str
    expression: str
    comment: str


@dataclass(frozen=True, eq=False)
class FlatView:
    """A query over one table. In expressions and in `source`, `{rows}` is the table. Engines differ in
    `{texts:COLUMN}`, the elements of a list as one text; and in `{each:COLUMN:ALIAS:FIELD,FIELD}` after a table, a row
    per element of a list of structs, or one with nulls if there is none.
    """

    name: str
    comment: str
    table: Table
    columns: tuple[ViewColumn, ...]
    source: str = "{rows}"


def _of(table: Table, *names: str) -> tuple[ViewColumn, ...]:
    """Columns of a table; `column>name` gives one another name."""
    pairs = [(name.split(">") * 2)[:2] for name in names]
    return tuple(ViewColumn(new, f'"{old}"', table.schema[old].comment or "") for old, new in pairs)


def _evidence(name: str, new: str, comment: str) -> ViewColumn:
    return ViewColumn(new, f"evidence.{name}", comment)


_SPAN = "cluster, consumer_group, topic, membership_view, broker_name, queue_id, readable"
#: An owner's rows of a queue, joined where no time lies between them.
_OWNED = f"""(
    SELECT {_SPAN}, owner_client_id, owner_address, unassigned_cause, double_owned_cause, span,
        min(interval_start) AS owned_from, max(interval_end) AS owned_until
    FROM (
        SELECT *, sum(begins) OVER ({{spans}} ORDER BY interval_start, interval_end) AS span FROM (
            SELECT *, CASE WHEN interval_start <= lag(interval_end) OVER (
                {{spans}} ORDER BY interval_start, interval_end) THEN 0 ELSE 1 END AS begins
            FROM (
                SELECT {_SPAN}, interval_start, interval_end, unassigned_cause, double_owned_cause,
                    owner.client_id AS owner_client_id, owner.client_addr AS owner_address
                FROM {{rows}}{{each:owners:owner:client_id,client_addr}}
            ) owners_of_intervals
        ) beginnings
    ) spans
    GROUP BY {_SPAN}, owner_client_id, owner_address, unassigned_cause, double_owned_cause, span
) ownership""".replace(
    "{spans}", f"PARTITION BY {_SPAN}, owner_client_id, owner_address, unassigned_cause, double_owned_cause"
)

VIEWS: tuple[FlatView, ...] = (
    FlatView(
        "bi_incidents",
        "One row per incident of the whole history",
        INCIDENTS,
        (
            *_of(INCIDENTS, "incident_id", "cluster", "severity", "rule", "cause", "headline", "opened_at"),
            *_of(INCIDENTS, "resolved_at", "last_seen_at", "resolution"),
            ViewColumn("consumer_groups", "{texts:consumer_groups}", "its consumer groups, separated by commas"),
            ViewColumn("topics", "{texts:topics}", "its topics, separated by commas"),
            ViewColumn("client_ids", "{texts:client_ids}", "client ids of its root causes, separated by commas"),
            ViewColumn("teams", "{texts:teams}", "teams of its groups, separated by commas"),
            *_of(INCIDENTS, "peak_backlog_messages", "unassigned_queue_minutes", "advice"),
        ),
    ),
    FlatView(
        "bi_incident_groups",
        "One row per incident and consumer group",
        INCIDENTS,
        (
            *_of(INCIDENTS, "incident_id", "cluster"),
            ViewColumn("consumer_group", "cost.consumer_group", "consumer group"),
            ViewColumn("team", "cost.team", "team of the group; null: none"),
            ViewColumn(
                "peak_backlog_messages", "cost.peak_backlog_messages", "peak backlog of the group; null: unknown"
            ),
            ViewColumn(
                "unassigned_queue_minutes", "cost.unassigned_queue_minutes", "minutes without owner, over all queues"
            ),
            *_of(INCIDENTS, "severity", "rule", "cause", "opened_at", "resolved_at", "last_seen_at"),
        ),
        "{rows}{each:costs:cost:consumer_group,peak_backlog_messages,unassigned_queue_minutes,team}",
    ),
    FlatView(
        "bi_findings",
        FINDINGS.comment,
        FINDINGS,
        (
            *_of(FINDINGS, "finding_id", "step_start", "cluster", "consumer_group", "topic", "rule", "severity"),
            *_of(FINDINGS, "cause", "subject", "client_id", "active_since", "started_at"),
            *_of(FINDINGS, "ended_at", "root_finding_id", "silenced_because"),
            _evidence("member_count", "member_count", "connections of the group; null: unknown"),
            _evidence("queue_count", "queue_count", "readable queues of the topic; null: unknown"),
            _evidence("unknown_queues", "unknown_queues", "its queues without a known backlog"),
            _evidence(
                "backlog_start", "backlog_start_messages", "backlog of its queues when it started; null: unknown"
            ),
            _evidence("backlog_end", "backlog_end_messages", "backlog of its queues when it ended; null: unknown"),
            _evidence("backlog_max", "peak_backlog_messages", "highest backlog of its queues; null: unknown"),
            _evidence("produced", "produced_messages", "messages into its queues; null: unknown"),
            _evidence("consumed", "consumed_messages", "messages out of its queues; null: unknown"),
            *_of(FINDINGS, "advice"),
        ),
    ),
    FlatView(
        "bi_group_status",
        GROUP_STATUS.comment,
        GROUP_STATUS,
        (
            *_of(GROUP_STATUS, "step_start", "cluster", "consumer_group", "worst_severity", "finding_count"),
            *_of(GROUP_STATUS, "member_count", "distinct_members>distinct_member_count"),
            *_of(GROUP_STATUS, "idle_members>idle_member_count", "queue_count"),
            *_of(GROUP_STATUS, "queues_with_one_owner", "double_owned_queues"),
            *_of(GROUP_STATUS, "unassigned_queues", "backlog_start>backlog_start_messages"),
            *_of(GROUP_STATUS, "backlog_end>backlog_end_messages", "backlog_max>peak_backlog_messages"),
            *_of(GROUP_STATUS, "backlog_max_at>peak_backlog_at", "backlog_is_minimum", "lag_quality"),
            *_of(GROUP_STATUS, "unassigned_queue_seconds"),
            *_of(GROUP_STATUS, "unknown_queues", "oldest_message_ms", "produced_messages_per_second"),
            *_of(GROUP_STATUS, "consumed_messages_per_second", "utilization>utilization_ratio"),
            *_of(GROUP_STATUS, "busiest_utilization>busiest_utilization_ratio", "busiest_member>busiest_client_id"),
            *_of(GROUP_STATUS, "busiest_bottleneck", "headroom_messages_per_second"),
            *_of(GROUP_STATUS, "catches_up", "catch_up_seconds", "retention_left_seconds", "bottleneck"),
            *_of(GROUP_STATUS, "more_members_help", "busiest_member_queues"),
            *_of(GROUP_STATUS, "busiest_member_queues_with_one_more", "deleted_at", "advice"),
        ),
    ),
    FlatView(
        "bi_backlog",
        "One row per topic of a group and minute with a sample: the messages that wait",
        BACKLOG,
        (
            *_of(BACKLOG, "step_start", "cluster", "consumer_group", "topic", "lag_quality"),
            ViewColumn("minute_start", "minute.at", "start of the minute"),
            ViewColumn("backlog_messages", "minute.messages", "messages that wait at its last sample; null: unknown"),
            ViewColumn("peak_backlog_messages", "minute.messages_max", "the most at one sample; null: unknown"),
            ViewColumn("unknown_queues", "minute.unknown_queues", "queues whose messages are not in them"),
            ViewColumn(
                "oldest_message_seconds",
                "minute.oldest_message_ms / 1000.0",
                "highest age of the oldest message; null: none waits, or unknown",
            ),
            ViewColumn("produced_messages", "minute.produced", "messages in since the sample before; null: unknown"),
            ViewColumn("consumed_messages", "minute.consumed", "messages out since the sample before; null: unknown"),
        ),
        "{rows}{each:minutes:minute:at,messages,messages_max,unknown_queues,oldest_message_ms,produced,consumed}",
    ),
    FlatView(
        "bi_ownership",
        "One row per queue, owner (or reason for none) and time without a gap; replayed time only",
        ALLOCATIONS,
        (
            *_of(ALLOCATIONS, "cluster", "consumer_group", "topic", "membership_view", "broker_name", "queue_id"),
            ViewColumn("owner_client_id", "owner_client_id", "null: no owner"),
            ViewColumn("owner_address", "owner_address", "address of the owner"),
            ViewColumn("owned_from", "owned_from", "start"),
            ViewColumn("owned_until", "owned_until", "end, exclusive"),
            *_of(ALLOCATIONS, "readable>is_readable", "unassigned_cause", "double_owned_cause"),
        ),
        _OWNED,
    ),
)
