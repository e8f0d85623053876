"""Spans in which nothing that an allocation depends on changed."""

from schemas.common import CONNECTION, INTERVAL_END, OF_INTERVAL
from schemas.table import Table
from schemas.types import BOOLEAN, INTEGER, STRING, TIMESTAMP, Array, Field, Struct, array_of, required

#: A member as the replay saw it: position in the array is its position in the allocation.
MEMBER = Struct(*CONNECTION, Field("strategy", STRING), Field("subscribes", BOOLEAN))

REBALANCE_INTERVALS = Table(
    name="rebalance_intervals",
    comment="One row per rebalance interval of a membership view: the inputs of the allocation and its totals. For "
    "every broker, the rows of '*' and of the broker's view tile the step",
    schema=Struct(
        *OF_INTERVAL,
        INTERVAL_END,
        required("status", STRING, "REPLAYED, UNOBSERVED, NOT_APPLICABLE or NOT_REPLAYABLE"),
        Field("reason", STRING, "why it was not replayed; null: it was"),
        Field("strategy", STRING, "of all members, or MIXED; null: not applicable, unobserved, owners as reported"),
        Field("strategy_source", STRING, "CLIENT, CONFIGURATION, OBSERVED (by reported queues), DEFAULT (AVG assumed)"),
        Field("members", Array(MEMBER), "as clients sort them, with duplicates"),
        Field(
            "queues",
            array_of(Field("broker_name", STRING), Field("queue_id", INTEGER)),
            "readable queues, as clients sort them",
        ),
        Field("members_seen_at", TIMESTAMP, "last snapshot with these members"),
        Field("member_count", INTEGER, "connections, with duplicates"),
        Field("distinct_members", INTEGER, "different client ids"),
        Field("queue_count", INTEGER, "readable queues"),
        Field("unassigned_queues", INTEGER, "readable queues without owner"),
        Field("double_owned_queues", INTEGER, "queues with several owners, except by POP"),
        Field("idle_members", INTEGER, "connections without a queue of this topic"),
        Field("min_queues_per_member", INTEGER, "fewest queues of a connection"),
        Field("max_queues_per_member", INTEGER, "most queues of a connection"),
        Field("trigger_type", STRING, "what began it: the first of `triggers`; null: unknown, or nothing differs"),
        Field("trigger_subject", STRING, "client ids, brokers or queues of the trigger"),
        Field(
            "triggers",
            array_of(Field("trigger_type", STRING), Field("subject", STRING)),
            "all differences to the last replayed interval, or to the last one with known members; the rarer first",
        ),
        Field("queues_moved", INTEGER, "queues that changed owner"),
        Field("queues_preserved", INTEGER, "queues that kept their owner"),
        Field("minimum_moves", INTEGER, "minimum of moves for as many queues per owner"),
        Field("strategy_alternatives", Array(STRING), "others that explain the reported queues; null: none"),
        Field("observed_virtual_nodes", INTEGER, "observed virtual nodes of CONSISTENT_HASH; null: none"),
        Field("observed_rooms", Array(STRING), "observed rooms of MACHINE_ROOM; null: none"),
    ),
    key=OF_INTERVAL.names,
    partition_by=("step_start",),
    checks={
        "interval_not_empty": "interval_start < interval_end",
        "inside_its_step": "interval_start >= step_start",
        "known_status": "status IN ('REPLAYED', 'UNOBSERVED', 'NOT_APPLICABLE', 'NOT_REPLAYABLE')",
        "reason_unless_replayed": "(status = 'REPLAYED') = (reason IS NULL)",
    },
)
