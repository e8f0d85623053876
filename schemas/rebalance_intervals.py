"""Spans in which nothing that an allocation depends on changed."""

from schemas.common import CONNECTION, INTERVAL_END, OF_INTERVAL
from schemas.table import Table
from schemas.types import BOOLEAN, INTEGER, STRING, TIMESTAMP, Array, Field, Struct, array_of, required

#: A member as the replay saw it: position in the array is its position in the allocation.
MEMBER = Struct(*CONNECTION, Field("strategy", STRING), Field("subscribes", BOOLEAN))

REBALANCE_INTERVALS = Table(
    name="rebalance_intervals",
    comment="One row per (cluster, consumer group, topic, membership view, interval): the inputs of the allocation "
    "and its totals. For every broker that hosts the topic, the rows of '*' and of its own view tile the step",
    schema=Struct(
        *OF_INTERVAL,
        INTERVAL_END,
        required("status", STRING, "REPLAYED, UNOBSERVED, NOT_APPLICABLE or NOT_REPLAYABLE"),
        Field("reason", STRING, "why it was not replayed; null where it was"),
        Field(
            "strategy",
            STRING,
            "strategy of all members, or MIXED; null: unobserved or not applicable. Null and REPLAYED: not known, the "
            "owners are those that clients report",
        ),
        Field(
            "strategy_source",
            STRING,
            "CLIENT, CONFIGURATION, OBSERVED: in the queues that clients report, or DEFAULT: AVG assumed",
        ),
        Field("members", Array(MEMBER), "as every client sorts them, duplicates kept"),
        Field(
            "queues",
            array_of(Field("broker_name", STRING), Field("queue_id", INTEGER)),
            "the readable queues as every client sorts them",
        ),
        Field("members_seen_at", TIMESTAMP, "last snapshot inside the interval's span with these members"),
        Field("member_count", INTEGER, "connections, duplicates counted"),
        Field("distinct_members", INTEGER, "different client ids"),
        Field("queue_count", INTEGER, "readable queues"),
        Field("unassigned_queues", INTEGER, "readable queues that nobody owns"),
        Field(
            "double_owned_queues",
            INTEGER,
            "queues with more than one owner, but those that several members share by POP",
        ),
        Field("idle_members", INTEGER, "connections that own no queue of this topic"),
        Field("min_queues_per_member", INTEGER, "smallest share of a connection"),
        Field("max_queues_per_member", INTEGER, "largest share of a connection"),
        Field(
            "trigger_type",
            STRING,
            "what began it: the first of `triggers`; null: it began before the step's window, its members are not "
            "known, or it has the inputs of the interval that it is compared with",
        ),
        Field("trigger_subject", STRING, "who or what the trigger is about: client ids, brokers, queues"),
        Field(
            "triggers",
            array_of(Field("trigger_type", STRING), Field("subject", STRING)),
            "everything that differs from the last replayed interval, the rarer and wider first; where nothing was "
            "replayed, the queues and members that differ from the last interval with known members",
        ),
        Field("queues_moved", INTEGER, "queues of both intervals whose set of owners (client ids) differs"),
        Field("queues_preserved", INTEGER, "queues of both intervals with the same set of owners"),
        Field(
            "minimum_moves",
            INTEGER,
            "the fewest queues that any allocation with as many queues per owner would have moved",
        ),
        Field(
            "strategy_alternatives",
            Array(STRING),
            "other strategies that explain the queues that clients report as well as `strategy`; null: none",
        ),
        Field(
            "observed_virtual_nodes",
            INTEGER,
            "virtual nodes of CONSISTENT_HASH that these queues show; null: not observed",
        ),
        Field("observed_rooms", Array(STRING), "rooms of MACHINE_ROOM that these queues show; null: not observed"),
    ),
    key=OF_INTERVAL.names,
    partition_by=("step_start",),
    checks={
        "interval_not_empty": "interval_start < interval_end",
        "inside_its_step": "interval_start >= step_start",
        "known_status": "status IN ('REPLAYED', 'UNOBSERVED', 'NOT_APPLICABLE', 'NOT_REPLAYABLE')",
        "reason_unless_replayed": "(status = 'REPLAYED') = (reason IS NULL)",
    },
    former={
        "trigger_type": "trigger",
        "triggers.trigger_type": "trigger",
        "minimum_moves": "least_moves",
    },
)
