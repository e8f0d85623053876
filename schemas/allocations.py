"""Who owned each queue, interval by interval."""

from schemas.common import INTERVAL_END, OF_INTERVAL, OF_QUEUE
from schemas.table import Table
from schemas.types import BOOLEAN, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

ALLOCATIONS = Table(
    name="allocations",
    comment="One row per queue of a replayed rebalance interval",
    schema=Struct(
        *OF_INTERVAL,
        INTERVAL_END,
        *OF_QUEUE,
        required("readable", BOOLEAN, "false: no read permission, or beyond the read queues"),
        required("owners", array_of(*fields(STRING, "client_id", "client_addr")), "connections that consume it"),
        Field("unassigned_cause", STRING, "why it has no owner; null: it has one"),
        Field("unassigned_client_id", STRING, "client id to which it belongs, if that is the cause"),
        Field("double_owned_cause", STRING, "why it has several owners (POP_SHARED: by design); null: it has not"),
        Field("settled_at", TIMESTAMP, "until then clients may have the former route's queues; null: no change"),
    ),
    key=(*OF_INTERVAL.names, *OF_QUEUE.names),
    partition_by=("step_start",),
    checks={
        "unassigned_has_a_cause": "(size(owners) = 0) = (unassigned_cause IS NOT NULL)",
        "double_owned_has_a_cause": "(size(owners) > 1) = (double_owned_cause IS NOT NULL)",
    },
)
