"""The offsets every queue of a topic holds, write queues too."""

from schemas.common import CLUSTER, TOPIC, recorded
from schemas.types import INTEGER, LONG, STRING, Field, array_of, fields, required

TOPIC_SNAPSHOTS = recorded(
    "topic_snapshots",
    "One row per snapshot of a topic: the offsets of every queue that can hold messages",
    (CLUSTER, TOPIC),
    required(
        "queues",
        array_of(Field("broker_name", STRING), Field("queue_id", INTEGER), *fields(LONG, "min_offset", "max_offset")),
        "max_offset: the next offset to write",
    ),
)
