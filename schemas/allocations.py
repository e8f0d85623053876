"""Who owned each queue, interval by interval."""

from schemas.common import (
    BROKER_NAME,
    CLIENT_ADDR,
    CLIENT_ID,
    CLUSTER,
    CONSUMER_GROUP,
    INTERVAL_END,
    INTERVAL_START,
    MEMBERSHIP_VIEW,
    QUEUE_ID,
    STEP_START,
    TOPIC,
)
from schemas.table import Table
from schemas.types import BOOLEAN, STRING, Field, Struct, array_of, required

ALLOCATIONS = Table(
    name="allocations",
    comment="One row per (replayed rebalance interval, queue that the route can hold messages in)",
    schema=Struct(
        STEP_START,
        CLUSTER,
        CONSUMER_GROUP,
        TOPIC,
        MEMBERSHIP_VIEW,
        INTERVAL_START,
        INTERVAL_END,
        BROKER_NAME,
        QUEUE_ID,
        required("readable", BOOLEAN, "false: in no client's list (no read permission, or beyond the read queues)"),
        required("owners", array_of(CLIENT_ID, CLIENT_ADDR), "connections that consume it: none, one or more"),
        Field("unassigned_cause", STRING, "why nobody owns it; null where somebody does"),
        Field("unassigned_client_id", STRING, "the client id in whose share it lies, if that is the cause"),
        Field(
            "double_owned_cause", STRING, "why more than one connection owns it (POP_SHARED: by design); null otherwise"
        ),
    ),
    key=(
        "step_start",
        "cluster",
        "consumer_group",
        "topic",
        "membership_view",
        "interval_start",
        "broker_name",
        "queue_id",
    ),
    partition_by=("step_start",),
    checks={
        "unassigned_has_a_cause": "(size(owners) = 0) = (unassigned_cause IS NOT NULL)",
        "double_owned_has_a_cause": "(size(owners) > 1) = (double_owned_cause IS NOT NULL)",
    },
)
