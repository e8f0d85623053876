"""Messages that each group has not consumed, topic by topic and minute by minute."""

from schemas.common import OF_TOPIC
from schemas.table import Table
from schemas.types import INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, required

#: The fields of each element of `minutes`, without their types.
MINUTE_FIELDS = (*("at", "messages", "messages_max", "unknown_queues", "oldest_message_ms", "produced", "consumed"),)
_TYPES = {"at": TIMESTAMP, "unknown_queues": INTEGER}

BACKLOG = Table(
    name="backlog",
    comment="One row per topic of a group and step: the messages that wait, minute by minute",
    schema=Struct(
        *OF_TOPIC,
        Field(
            "lag_quality",
            STRING,
            "UNFILTERED if the group skips messages that count here, else MEASURED; null: nothing is known",
        ),
        required(
            "minutes",
            array_of(*(Field(name, _TYPES.get(name, LONG)) for name in MINUTE_FIELDS)),
            "one per minute with a sample, in order: its start, messages at its last sample and at its highest (null: "
            "of no queue), queues that are not in them, highest age of the oldest message (null: none waits, or "
            "unknown), messages in and out since the sample before",
        ),
    ),
    key=OF_TOPIC.names,
    partition_by=("step_start",),
    checks={"known_lag_quality": "lag_quality IS NULL OR lag_quality IN ('MEASURED', 'UNFILTERED')"},
)
