"""When things were seen, by hour: what an audit remembers of the days before the snapshots that it reads."""

from schemas.common import CLUSTER
from schemas.table import Table
from schemas.types import BOOLEAN, INTEGER, STRING, TIMESTAMP, Field, Struct, required

SIGHTINGS = Table(
    name="sightings",
    comment="One row per (cluster, consumer group or topic and broker with its read queues, hour) in which it was seen",
    schema=Struct(
        CLUSTER,
        Field("consumer_group", STRING, "group that a broker answered about; null: the row is of a topic"),
        Field("topic", STRING, "topic whose route was seen; null: the row is of a group"),
        Field(
            "broker_name",
            STRING,
            "broker that the route named as readable; null: the row is of a group, or the topic had no route",
        ),
        required("hour", TIMESTAMP, "start of the hour, UTC"),
        required("first_at", TIMESTAMP, "captured_at of the first snapshot of the hour that showed it, UTC"),
        required("last_at", TIMESTAMP, "the same of the last one"),
        Field(
            "deleted",
            BOOLEAN,
            "true: it was seen that the group is deleted; null: that the group, or the broker, is there",
        ),
        Field(
            "read_queue_nums", INTEGER, "how many queues of the broker were readable; null: no broker, or not recorded"
        ),
    ),
    key=("cluster", "consumer_group", "topic", "broker_name", "deleted", "read_queue_nums", "hour"),
    cluster_by=("hour",),
    checks={
        "of_a_group_or_a_broker": "(consumer_group IS NULL) = (topic IS NOT NULL) "
        "AND (topic IS NOT NULL OR broker_name IS NULL)",
        "deleted_is_of_a_group": "deleted IS NULL OR (deleted AND consumer_group IS NOT NULL)",
        "inside_the_hour": "date_trunc('HOUR', first_at) = hour AND date_trunc('HOUR', last_at) = hour "
        "AND first_at <= last_at",
    },
)
