"""How far a consumer group has come in every queue of a topic."""

from schemas.common import CAPTURED_AT, CAPTURED_DATE, CLUSTER, CONSUMER_GROUP, GENERATED_DATE, TOPIC
from schemas.table import Table
from schemas.types import INTEGER, LONG, STRING, Field, Struct, array_of, required

OFFSET_SNAPSHOTS = Table(
    name="offset_snapshots",
    comment="One row per (cluster, consumer group, topic, time): the broker's and the group's offsets per queue",
    schema=Struct(
        CLUSTER,
        CONSUMER_GROUP,
        TOPIC,
        CAPTURED_AT,
        CAPTURED_DATE,
        required(
            "offsets",
            array_of(
                Field("broker_name", STRING),
                Field("queue_id", INTEGER),
                Field("broker_offset", LONG),
                Field("consumer_offset", LONG),
                Field("pull_offset", LONG),
                Field("last_timestamp", LONG),
            ),
            "next offset to write, to consume, to pull; last_timestamp: store time (ms) of the last consumed "
            "message. consumer_offset 0 with last_timestamp 0 is 'never committed': unknown, not caught up",
        ),
    ),
    key=("cluster", "consumer_group", "topic", "captured_at"),
    cluster_by=("captured_at",),
    generated=GENERATED_DATE,
)
