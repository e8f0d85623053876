"""Who was in a consumer group, as one broker knew it."""

from schemas.common import BROKER_NAME, CLUSTER, CONNECTION, CONSUMER_GROUP, SUBSCRIPTION, recorded
from schemas.types import BOOLEAN, INTEGER, STRING, Array, Field, array_of, fields, required

MEMBERSHIP_SNAPSHOTS = recorded(
    "membership_snapshots",
    "One row per (cluster, consumer group, broker that answered, time): its consumer connections",
    (CLUSTER, CONSUMER_GROUP, BROKER_NAME),
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
        "listed",
        BOOLEAN,
        "false: the group is deleted: the broker listed it before, and no broker does any more; null: not recorded",
    ),
    Field(
        "request_modes",
        array_of(*fields(STRING, "topic", "mode"), Field("pop_share_queue_num", INTEGER)),
        "the message request modes that the broker was given for the group: PULL, or POP with its share count; "
        "null: not recorded",
    ),
    checks={
        "known_message_model": "message_model IS NULL OR "
        "message_model IN ('CLUSTERING', 'BROADCASTING', 'LITE_SELECTIVE')"
    },
)
