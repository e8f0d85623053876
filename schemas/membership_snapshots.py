"""Who was in a consumer group, as one broker knew it."""

from schemas.common import (
    BROKER_NAME,
    CAPTURED_AT,
    CAPTURED_DATE,
    CLUSTER,
    CONNECTION,
    CONSUMER_GROUP,
    GENERATED_DATE,
    SUBSCRIPTION,
)
from schemas.table import Table
from schemas.types import INTEGER, STRING, Array, Field, Struct, array_of, required

MEMBERSHIP_SNAPSHOTS = Table(
    name="membership_snapshots",
    comment="One row per (cluster, consumer group, broker that answered, time): its consumer connections",
    schema=Struct(
        CLUSTER,
        CONSUMER_GROUP,
        BROKER_NAME,
        CAPTURED_AT,
        CAPTURED_DATE,
        Field("message_model", STRING, "CLUSTERING, BROADCASTING, LITE_SELECTIVE; null when no member is online"),
        Field("consume_type", STRING, "CONSUME_PASSIVELY (push), CONSUME_ACTIVELY (pull) or CONSUME_POP"),
        Field("consume_from_where", STRING, "where a new group starts"),
        required(
            "connections",
            Array(CONNECTION),
            "one entry per connection, duplicates kept; empty: the broker answered that no member is online",
        ),
        required("subscriptions", SUBSCRIPTION, "the group's subscriptions; the last heartbeat wins"),
        Field(
            "request_modes",
            array_of(Field("topic", STRING), Field("mode", STRING), Field("pop_share_queue_num", INTEGER)),
            "the message request modes that the broker was given for the group: PULL, or POP with its share count; "
            "null: not recorded",
        ),
    ),
    key=("cluster", "consumer_group", "broker_name", "captured_at"),
    cluster_by=("captured_at",),
    checks={
        "known_message_model": "message_model IS NULL OR "
        "message_model IN ('CLUSTERING', 'BROADCASTING', 'LITE_SELECTIVE')"
    },
    generated=GENERATED_DATE,
)
