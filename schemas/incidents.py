"""Incidents: findings of many steps, folded into one row per event."""

from schemas.common import CLUSTER
from schemas.table import Table
from schemas.types import DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Array, Field, Struct, array_of, fields, required

_CLIENTS = array_of(Field("name", STRING), Field("client_ids", Array(STRING)))

#: One condition of an incident in one group, over all its steps; times are UTC.
_CONDITIONS = array_of(
    *fields(STRING, "consumer_group", "rule", "cause", "severity", "topic", "subject"),
    *fields(TIMESTAMP, "started_at", "ended_at"),
    *fields(Array(STRING), "finding_ids", "client_ids"),
    Field("detail", STRING),
    Field("conflicting_values", _CLIENTS),
    Field("client_id", STRING),
    Field("cause_spans", array_of(Field("cause", STRING), *fields(TIMESTAMP, "started_at", "ended_at"))),
)

#: The names of `_CONDITIONS` before version 2.

INCIDENTS = Table(
    name="incidents",
    comment="One row per incident of the whole history, brought up to date after each audit",
    schema=Struct(
        required("incident_id", STRING, "stable"),
        CLUSTER,
        Field("rule", STRING, "the rule of its worst root cause"),
        Field("cause", STRING, "the cause of its worst root cause"),
        Field("causes", Array(STRING), "all causes of its root causes, in order"),
        Field("severity", STRING, "the worst of its findings; INFO: nothing was recorded"),
        Field("headline", STRING, "one sentence"),
        Field("opened_at", TIMESTAMP, "start of its first root cause"),
        Field("resolved_at", TIMESTAMP, "end; null: open"),
        Field("last_seen_at", TIMESTAMP, "end of its last finding"),
        Field("resolution", STRING, "CLEARED, DELETED or TOPIC_DELETED; null: open"),
        Field("consumer_groups", Array(STRING), "consumer groups"),
        Field("topics", Array(STRING), "topics"),
        Field("queues", array_of(*fields(STRING, "topic", "broker_name"), Field("queue_id", INTEGER)), "queues"),
        Field("client_ids", Array(STRING), "client ids of its root causes"),
        Field("peak_backlog_messages", LONG, "messages: peak backlogs of its groups, added up; null: unknown"),
        Field("unassigned_queue_minutes", DOUBLE, "minutes without owner, over all queues"),
        Field("advice", STRING, "what to do"),
        Field("commands", Array(STRING), "`mqadmin` commands of the advice"),
        Field(
            "root_causes",
            _CONDITIONS,
            "root causes, one per condition and group; `finding_ids`: of more than 100 the first 50 and the last 50",
        ),
        Field("symptoms", _CONDITIONS, "symptoms, one per condition and group"),
        Field(
            "costs",
            array_of(
                Field("consumer_group", STRING),
                Field("peak_backlog_messages", LONG),
                Field("unassigned_queue_minutes", DOUBLE),
                Field("team", STRING),
            ),
            "both numbers per group, and its team",
        ),
        Field("teams", Array(STRING), "teams of its groups"),
    ),
    key=("incident_id",),
)
