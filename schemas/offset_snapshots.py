"""The offsets of a consumer group in every queue of a topic."""

from schemas.common import CLUSTER, CONSUMER_GROUP, TOPIC, recorded
from schemas.types import INTEGER, LONG, STRING, Field, array_of, fields, required

OFFSET_SNAPSHOTS = recorded(
    "offset_snapshots",
    "One row per snapshot of a group and topic: the offsets per queue",
    (CLUSTER, CONSUMER_GROUP, TOPIC),
    required(
        "offsets",
        array_of(
            Field("broker_name", STRING),
            Field("queue_id", INTEGER),
            *fields(LONG, "broker_offset", "consumer_offset", "pull_offset", "last_timestamp"),
        ),
        "next offset to write (null: unknown), to consume, to pull; last_timestamp: store time (ms) of the last "
        "consumed message. consumer_offset 0 with last_timestamp 0: never committed, unknown",
    ),
)
