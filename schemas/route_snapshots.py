"""The route of a topic: which brokers host it, with how many queues, readable or not."""

from schemas.common import CAPTURED_AT, CAPTURED_DATE, CLUSTER, GENERATED_DATE, TOPIC
from schemas.table import Table
from schemas.types import BOOLEAN, INTEGER, LONG, STRING, Field, Struct, array_of, required

ROUTE_SNAPSHOTS = Table(
    name="route_snapshots",
    comment="One row per (cluster, topic, time): the topic's route as the name server gives it",
    schema=Struct(
        CLUSTER,
        TOPIC,
        CAPTURED_AT,
        CAPTURED_DATE,
        required(
            "queues",
            array_of(
                Field("broker_name", STRING),
                Field("perm", INTEGER),
                Field("read_queue_nums", INTEGER),
                Field("write_queue_nums", INTEGER),
            ),
            "one entry per broker of the route; perm bit 4: readable, bit 2: writable; empty: no route",
        ),
        Field(
            "addresses",
            array_of(Field("broker_name", STRING), Field("broker_id", LONG), Field("address", STRING)),
            "where each process of a broker listens; broker id 0: the master, where there is none clients ask the "
            "lowest id; null: not recorded",
        ),
        Field(
            "is_static",
            BOOLEAN,
            "whether clients see logical queues, which are mapped to those of the brokers (a static topic); null: "
            "not known",
        ),
        Field(
            "message_type",
            STRING,
            "the topic's attribute `message.type`, such as NORMAL, PRIORITY or LITE; null: not recorded",
        ),
    ),
    key=("cluster", "topic", "captured_at"),
    cluster_by=("captured_at",),
    generated=GENERATED_DATE,
)
