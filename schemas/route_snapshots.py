"""The route of a topic: which brokers host it, with how many queues, readable or not."""

from schemas.common import CLUSTER, TOPIC, recorded
from schemas.types import BOOLEAN, INTEGER, LONG, STRING, Field, array_of, fields, required

ROUTE_SNAPSHOTS = recorded(
    "route_snapshots",
    "One row per answer of the name server: the route of a topic",
    (CLUSTER, TOPIC),
    required(
        "queues",
        array_of(Field("broker_name", STRING), *fields(INTEGER, "perm", "read_queue_nums", "write_queue_nums")),
        "one entry per broker; perm bit 4: readable, bit 2: writable; empty: no route",
    ),
    Field(
        "addresses",
        array_of(Field("broker_name", STRING), Field("broker_id", LONG), Field("address", STRING)),
        "addresses of a broker's processes; broker id 0: the master; null: not recorded",
    ),
    Field("is_static", BOOLEAN, "true: a static topic, whose clients see logical queues; null: unknown"),
    Field("message_type", STRING, "attribute `message.type`, such as NORMAL, PRIORITY or LITE; null: not recorded"),
    Field("listed", BOOLEAN, "false: the topic is deleted, no broker of its last route has it; null: not recorded"),
    Field(
        "name_servers",
        array_of(
            Field("address", STRING),
            Field("broker_name", STRING),
            *fields(INTEGER, "perm", "read_queue_nums", "write_queue_nums"),
        ),
        "route by each name server; broker null: no route; null: not recorded, or one name server",
    ),
)
