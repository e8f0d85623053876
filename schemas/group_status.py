"""How each group fared in a step, in one row."""

from schemas.common import OF_GROUP
from schemas.table import Table
from schemas.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

GROUP_STATUS = Table(
    name="group_status",
    comment="One row per (cluster, consumer group, step): what needs attention, who was there, what the backlog did, "
    "and whether more consumers would have helped",
    schema=Struct(
        *OF_GROUP,
        Field("worst_severity", STRING, "INFO, WARN or ERROR: of the worst finding that is not muted; null: of none"),
        required("finding_count", INTEGER, "findings of the group in this step"),
        Field(
            "member_count",
            INTEGER,
            "connections when last replayed, or, of a broadcasting group or by a proxy, last listed; null: never in "
            "the step",
        ),
        Field("distinct_members", INTEGER, "different client ids then"),
        Field("idle_members", INTEGER, "connections that owned no queue of any topic then, except retry topics"),
        Field("queue_count", INTEGER, "readable queues then, except those of retry topics"),
        Field("queues_with_one_owner", INTEGER, "of these: queues with one owner, or shared by POP"),
        Field("double_owned_queues", INTEGER, "of these: queues with several owners that each get every message"),
        Field("unassigned_queues", INTEGER, "of these: queues without owner"),
        Field(
            "backlog_start",
            LONG,
            "messages, sum of the first reading of the same queues as in `backlog_end`; null: one of these does "
            "not tell",
        ),
        Field(
            "backlog_end", LONG, "messages, sum of the last reading of each queue, where that tells; null: none does"
        ),
        Field(
            "lag_quality",
            STRING,
            "of `backlog_end`: UNFILTERED where the group subscribes to some messages of a topic in it only, else "
            "MEASURED; null: not known, as `backlog_end`",
        ),
        required(
            "unknown_queues", INTEGER, "queues whose last reading does not tell (never committed), or without one"
        ),
        Field("oldest_message_ms", LONG, "age of the oldest message not consumed, at its highest"),
        Field(
            "produced_messages_per_second",
            DOUBLE,
            "messages a second produced, over the time of `queue_progress`; 6 decimals a queue",
        ),
        Field(
            "consumed_messages_per_second",
            DOUBLE,
            "messages a second consumed, over the time of `queue_progress`; 6 decimals a queue",
        ),
        Field(
            "utilisation",
            DOUBLE,
            "messages that came into the members' queues, as a part of what the members can consume by their own "
            "account; null, as the next four: unknown",
        ),
        Field("busiest_utilisation", DOUBLE, "the same of the member that is nearest to its limit"),
        Field("busiest_member", STRING, "its client id"),
        Field("busiest_bottleneck", STRING, "what limits it: LISTENER, PULLS or HOT_QUEUE (pulls of one queue)"),
        Field(
            "headroom_messages_per_second",
            DOUBLE,
            "messages a second more, spread as they were, before that member falls behind; 0: it does",
        ),
        Field(
            "catches_up",
            BOOLEAN,
            "whether the lag of every queue that is behind shrinks, by the last readings (those of "
            "`verdict_window_seconds`); null: unknown",
        ),
        Field(
            "catch_up_seconds",
            DOUBLE,
            "at that pace, until the last queue has caught up; 0: none is behind; null: unknown, or never",
        ),
        Field(
            "retention_left_seconds",
            DOUBLE,
            "until the broker may delete the first message that waits, by the broker's oldest offsets and by the "
            "message's age; null: unknown, or none waits",
        ),
        Field(
            "attribution",
            array_of(
                Field("topic", STRING),
                *fields(LONG, "growth", "unassigned", "stuck_owner", "hand_over", "producer_surge", "residual"),
            ),
            "per topic: growth of the backlog in messages, and the parts that add up to it",
        ),
        required("bottleneck", STRING, "what limited the group while its backlog grew; docs/findings.md explains each"),
        Field("more_members_help", BOOLEAN, "whether they would have; null: it is not known"),
        Field(
            "busiest_member_queues",
            INTEGER,
            "queues of the busiest member of the topic with most queues, if even, at the end",
        ),
        Field("busiest_member_queues_with_one_more", INTEGER, "the same with one more member"),
        required("advice", STRING, "whether more consumers would have helped, in words and numbers"),
        Field(
            "deleted_at",
            TIMESTAMP,
            "when the group was deleted, if it is at the end of the step: no broker was seen to list it any more; "
            "null: it is listed, or that is not known",
        ),
        Field(
            "deleted_topics",
            array_of(Field("topic", STRING), Field("deleted_at", TIMESTAMP)),
            "the group's topics that are deleted at the end of the step, and since when, as far as the step looks "
            "back; null: none, or that is not known",
        ),
        Field(
            "backlog_is_minimum",
            BOOLEAN,
            "true: offsets show what was handed out (POP, gRPC), so messages that clients hold and have not "
            "acknowledged come on top; null: they do not",
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
    former={
        "member_count": "members",
        "queue_count": "queues",
        "queues_with_one_owner": "owned_once",
        "double_owned_queues": "owned_twice",
        "unassigned_queues": "owned_never",
        "produced_messages_per_second": "in_rate",
        "consumed_messages_per_second": "out_rate",
        "busiest_bottleneck": "busiest_limit",
        "headroom_messages_per_second": "headroom",
        "bottleneck": "limit",
        "busiest_member_queues": "busiest_share",
        "busiest_member_queues_with_one_more": "share_after",
    },
)
