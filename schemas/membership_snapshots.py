"""Who was in a consumer group, as one broker knew it."""

from schemas.common import BROKER_NAME, CLUSTER, CONNECTION, CONSUMER_GROUP, SUBSCRIPTION, recorded
from schemas.types import BOOLEAN, INTEGER, STRING, Array, Field, array_of, fields, required

MEMBERSHIP_SNAPSHOTS = recorded(
    "membership_snapshots",
    "One row per broker's answer: the consumer connections of a group",
    (CLUSTER, CONSUMER_GROUP, BROKER_NAME),
    Field("message_model", STRING, "CLUSTERING, BROADCASTING, LITE_SELECTIVE; null: no member online"),
    Field("consume_type", STRING, "CONSUME_PASSIVELY (push), CONSUME_ACTIVELY (pull) or CONSUME_POP"),
    Field("consume_from_where", STRING, "start of a new group"),
    required("connections", Array(CONNECTION), "one entry per connection, with duplicates; empty: no member online"),
    required("subscriptions", SUBSCRIPTION, "subscriptions by the last heartbeat"),
    Field("listed", BOOLEAN, "false: the group is deleted, no broker lists it any more; null: not recorded"),
    Field(
        "request_modes",
        array_of(*fields(STRING, "topic", "mode"), Field("pop_share_queue_num", INTEGER)),
        "message request modes: PULL, or POP with its share count; null: not recorded",
    ),
    checks={
        "known_message_model": "message_model IS NULL OR "
        "message_model IN ('CLUSTERING', 'BROADCASTING', 'LITE_SELECTIVE')"
    },
)
