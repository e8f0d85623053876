"""The offsets every queue of a topic holds, write queues too."""

from schemas.common import CAPTURED_AT, CAPTURED_DATE, CLUSTER, GENERATED_DATE, TOPIC
from schemas.table import Table
from schemas.types import INTEGER, LONG, STRING, Field, Struct, array_of, required

TOPIC_SNAPSHOTS = Table(
    name="topic_snapshots",
    comment="One row per (cluster, topic, time): smallest and next offset of every queue that can hold messages",
    schema=Struct(
        CLUSTER,
        TOPIC,
        CAPTURED_AT,
        CAPTURED_DATE,
        required(
            "queues",
            array_of(
                Field("broker_name", STRING),
                Field("queue_id", INTEGER),
                Field("min_offset", LONG),
                Field("max_offset", LONG),
            ),
            "messages; max_offset is the next offset to be written",
        ),
    ),
    key=("cluster", "topic", "captured_at"),
    cluster_by=("captured_at",),
    generated=GENERATED_DATE,
)
