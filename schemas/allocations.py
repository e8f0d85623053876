"""Who owned each queue, interval by interval."""

from schemas.common import INTERVAL_END, OF_INTERVAL, OF_QUEUE
from schemas.table import Table
from schemas.types import BOOLEAN, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

ALLOCATIONS = Table(
    name="allocations",
    comment="One row per (replayed rebalance interval, queue that the route can hold messages in)",
    schema=Struct(
        *OF_INTERVAL,
        INTERVAL_END,
        *OF_QUEUE,
        required("readable", BOOLEAN, "false: in no client's list (no read permission, or beyond the read queues)"),
        required(
            "owners",
            array_of(*fields(STRING, "client_id", "client_addr")),
            "connections that consume it: none, one or more",
        ),
        Field("unassigned_cause", STRING, "why nobody owns it; null where somebody does"),
        Field("unassigned_client_id", STRING, "the client id in whose share it lies, if that is the cause"),
        Field(
            "double_owned_cause", STRING, "why more than one connection owns it (POP_SHARED: by design); null otherwise"
        ),
        Field(
            "settled_at",
            TIMESTAMP,
            "the route has changed, and until then clients may have the queues of before: owners are those that list "
            "the queue, of the clients that report their queues; null: it has not",
        ),
    ),
    key=(*OF_INTERVAL.names, *OF_QUEUE.names),
    partition_by=("step_start",),
    checks={
        "unassigned_has_a_cause": "(size(owners) = 0) = (unassigned_cause IS NOT NULL)",
        "double_owned_has_a_cause": "(size(owners) > 1) = (double_owned_cause IS NOT NULL)",
    },
)
