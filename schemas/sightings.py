"""When things were seen, by hour: what an audit remembers of the days before the snapshots that it reads."""

from schemas.common import CLUSTER
from schemas.table import Table
from schemas.types import BOOLEAN, INTEGER, STRING, TIMESTAMP, Field, Struct, required

SIGHTINGS = Table(
    name="sightings",
    comment="One row per hour in which a group, or a topic on a broker, was seen",
    schema=Struct(
        CLUSTER,
        Field("consumer_group", STRING, "group; null: of a topic"),
        Field("topic", STRING, "topic; null: of a group"),
        Field("broker_name", STRING, "readable broker of the route; null: none"),
        required("hour", TIMESTAMP, "start of the hour"),
        required("first_at", TIMESTAMP, "its first snapshot in the hour"),
        required("last_at", TIMESTAMP, "its last snapshot in the hour"),
        Field("deleted", BOOLEAN, "true: the group was deleted; null: it was there"),
        Field("read_queue_nums", INTEGER, "readable queues of the broker; null: unknown"),
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
