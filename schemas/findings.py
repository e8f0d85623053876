"""Findings: problems, since when, why, and their cost."""

from schemas.common import CLUSTER, CONNECTION, CONSUMER_GROUP, STEP_START
from schemas.table import Table
from schemas.types import DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Array, Field, Struct, array_of, fields, required

_BACKLOG = fields(LONG, "backlog_start", "backlog_end", "backlog_max", "produced", "consumed")

_CURE = Struct(*fields(INTEGER, "unassigned_queues", "double_owned_queues"))

#: One queue of a finding in one role, for a time without a gap, with its samples' messages; null is unknown.
FINDING_QUEUE = array_of(
    *fields(STRING, "topic", "broker_name"),
    Field("queue_id", INTEGER),
    Field("role", STRING),
    *fields(TIMESTAMP, "started_at", "ended_at"),
    *_BACKLOG,
)

#: Numbers by name; docs/findings.md says what each rule measures. Null is unknown.
MEASURES = array_of(Field("name", STRING), Field("value", DOUBLE))

#: The clients behind each answer, for example each strategy, topic list or broker's view.
CONFLICTING_VALUES = array_of(Field("name", STRING), Field("client_ids", Array(STRING)))

#: Totals are over the queues whose value is known; `unknown_queues` counts the queues without a known backlog.
EVIDENCE = Struct(
    Field("persistence", STRING),
    Field("connections", Array(CONNECTION)),
    Field("client_ids", Array(STRING)),
    *fields(INTEGER, "member_count", "queue_count"),
    Field("queues", FINDING_QUEUE),
    *_BACKLOG,
    Field("unknown_queues", INTEGER),
    Field("if_deduplicated", _CURE),
    Field("if_unique", _CURE),
    Field("measures", MEASURES),
    Field("conflicting_values", CONFLICTING_VALUES),
)

FINDINGS = Table(
    name="findings",
    comment="One row per condition over its duration in a step",
    schema=Struct(
        required("finding_id", STRING, "stable over runs"),
        STEP_START,
        required("rule", STRING, "rule that reports it"),
        required("severity", STRING, "INFO, WARN or ERROR"),
        CLUSTER,
        CONSUMER_GROUP,
        Field("topic", STRING, "null: the whole group"),
        required("subject", STRING, "a client id, queues as broker:0-3, or a topic"),
        required("started_at", TIMESTAMP, "start, not before the step"),
        required("ended_at", TIMESTAMP, "end, exclusive"),
        Field("cause", STRING, "cause"),
        required("evidence", EVIDENCE, "queues, connections, backlog, possible fixes"),
        required("advice", STRING, "what to do"),
        Field("silenced_because", STRING, "why it is silenced; null: it is not"),
        Field("root_finding_id", STRING, "root cause in the same step; null: it is one"),
        Field("active_since", TIMESTAMP, "beginning of the condition, also before the step"),
        Field("client_id", STRING, "client, or host whose ids change; null: none"),
    ),
    key=("finding_id",),
    partition_by=("step_start",),
    checks={
        "known_severity": "severity IN ('INFO', 'WARN', 'ERROR')",
        "span_not_empty": "started_at < ended_at",
        "inside_its_step": "started_at >= step_start",
    },
)
