"""The route of a topic: which brokers host it, with how many queues, readable or not."""

from schemas.common import CLUSTER, TOPIC, recorded
from schemas.types import BOOLEAN, INTEGER, LONG, STRING, Field, array_of, fields, required

ROUTE_SNAPSHOTS = recorded(
    "route_snapshots",
    "One row per (cluster, topic, time): the topic's route as the name server gives it",
    (CLUSTER, TOPIC),
    required(
        "queues",
        array_of(Field("broker_name", STRING), *fields(INTEGER, "perm", "read_queue_nums", "write_queue_nums")),
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
    Field(
        "listed",
        BOOLEAN,
        "false: the topic is deleted: all brokers of its last route say that they do not have it; null: not recorded",
    ),
    Field(
        "name_servers",
        array_of(
            Field("address", STRING),
            Field("broker_name", STRING),
            *fields(INTEGER, "perm", "read_queue_nums", "write_queue_nums"),
        ),
        "what each name server says of the topic: an entry per name server and broker of its route; broker null: it "
        "has no route; null: not recorded, or there is one name server",
    ),
)
