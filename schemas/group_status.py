"""How each group fared in a step, in one row."""

from schemas.common import OF_GROUP
from schemas.table import Table
from schemas.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

GROUP_STATUS = Table(
    name="group_status",
    comment="One row per group and step: what needs attention, members, backlog, and whether more consumers would have "
    "helped",
    schema=Struct(
        *OF_GROUP,
        Field("worst_severity", STRING, "of the worst finding that is not silenced; null: none"),
        required("finding_count", INTEGER, "findings in this step"),
        Field(
            "member_count",
            INTEGER,
            "connections when last replayed, else when last listed; null: neither in this step",
        ),
        Field("distinct_members", INTEGER, "different client ids then"),
        Field("idle_members", INTEGER, "connections without any queue then"),
        Field("queue_count", INTEGER, "readable queues then, without retry topics"),
        Field("queues_with_one_owner", INTEGER, "of these: with one owner, or shared by POP"),
        Field("double_owned_queues", INTEGER, "of these: with several owners"),
        Field("unassigned_queues", INTEGER, "of these: without owner"),
        Field("backlog_start", LONG, "messages, first samples of the queues of `backlog_end`; null: one is unknown"),
        Field("backlog_end", LONG, "messages, sum of the last known samples; null: none"),
        Field(
            "lag_quality",
            STRING,
            "of `backlog_end`: UNFILTERED if the group skips messages that count here, else MEASURED; null: unknown",
        ),
        required("unknown_queues", INTEGER, "queues whose last sample is unknown (never committed) or missing"),
        Field("oldest_message_ms", LONG, "ms for which the oldest waiting message had waited, at most"),
        Field("produced_messages_per_second", DOUBLE, "messages produced per second"),
        Field("consumed_messages_per_second", DOUBLE, "messages consumed per second"),
        Field("utilization", DOUBLE, "messages produced ÷ what members can consume; null, as the next four: unknown"),
        Field("busiest_utilization", DOUBLE, "the same of the busiest member"),
        Field("busiest_member", STRING, "its client id"),
        Field(
            "busiest_bottleneck",
            STRING,
            "LISTENER, PULLS, HOT_QUEUE (pulls of one queue) or ORDERED_QUEUE (its thread)",
        ),
        Field("headroom_messages_per_second", DOUBLE, "additional messages per second until that member falls behind"),
        Field("catches_up", BOOLEAN, "true: all queues' lags shrink, over `verdict_window_seconds`; null: unknown"),
        Field("catch_up_seconds", DOUBLE, "at that pace, until the last queue has caught up; null: unknown, or never"),
        Field("retention_left_seconds", DOUBLE, "until a waiting message may be deleted; null: unknown, none waits"),
        Field(
            "attribution",
            array_of(
                Field("topic", STRING),
                *fields(LONG, "growth", "unassigned", "stuck_owner", "hand_over", "producer_surge", "residual"),
            ),
            "per topic: growth of the backlog, and its parts",
        ),
        required("bottleneck", STRING, "what limited the group while its backlog grew"),
        Field("more_members_help", BOOLEAN, "null: unknown"),
        Field("busiest_member_queues", INTEGER, "most queues per member, if even, at the end"),
        Field("busiest_member_queues_with_one_more", INTEGER, "the same with one more member"),
        required("advice", STRING, "the answer in words and numbers"),
        Field("deleted_at", TIMESTAMP, "when the group was deleted; null: it is not, or unknown"),
        Field(
            "deleted_topics",
            array_of(Field("topic", STRING), Field("deleted_at", TIMESTAMP)),
            "its deleted topics; null: none, or unknown",
        ),
        Field("backlog_is_minimum", BOOLEAN, "true: offsets show what was handed out (POP, gRPC), not acknowledged"),
        Field("backlog_max", LONG, "messages, the most at one moment of the step; null: never known"),
        Field("backlog_max_at", TIMESTAMP, "that moment, the first of several"),
        Field(
            "unassigned_queue_seconds",
            DOUBLE,
            "time of readable queues without owner in the step, added up, without retry topics; null: never replayed",
        ),
    ),
    key=OF_GROUP.names,
    partition_by=("step_start",),
    checks={
        "known_severity": "worst_severity IS NULL OR worst_severity IN ('INFO', 'WARN', 'ERROR')",
        "counts_not_negative": "finding_count >= 0 AND unknown_queues >= 0",
        "every_queue_counted": "queue_count IS NULL OR "
        "queue_count = queues_with_one_owner + double_owned_queues + unassigned_queues",
    },
)
