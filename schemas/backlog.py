"""Messages that each group has not consumed, topic by topic and minute by minute."""

from schemas.common import OF_TOPIC
from schemas.table import Table
from schemas.types import INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

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
            array_of(
                Field("at", TIMESTAMP),
                *fields(LONG, "messages", "messages_max"),
                Field("unknown_queues", INTEGER),
                *fields(LONG, "oldest_message_ms", "produced", "consumed"),
            ),
            "one per minute with a sample, in order: its start, messages at its last sample and at its highest (null: "
            "of no queue), queues that are not in them, highest age of the oldest message (null: none waits, or "
            "unknown), messages in and out since the sample before",
        ),
    ),
    key=OF_TOPIC.names,
    partition_by=("step_start",),
    checks={"known_lag_quality": "lag_quality IS NULL OR lag_quality IN ('MEASURED', 'UNFILTERED')"},
)
