"""The allocation of the same members and queues by each strategy."""

from schemas.common import OF_TOPIC
from schemas.table import Table
from schemas.types import DOUBLE, INTEGER, STRING, Field, Struct, required

STRATEGY_COMPARISON = Table(
    name="strategy_comparison",
    comment="One row per (cluster, consumer group, topic, step, strategy): what the strategy would have done with the "
    "members and queues that were there, over the replayed intervals of the step in which all brokers agreed and "
    "some member was online; without retry topics. MACHINE_ROOM, MACHINE_ROOM_NEARBY and CONFIG only if configured",
    schema=Struct(
        *OF_TOPIC,
        required("strategy", STRING, "the strategy, whether the group runs it or not"),
        required("states", INTEGER, "different (members, queues) in the step"),
        required("queue_count", INTEGER, "readable queues, the most of any interval"),
        required("unassigned_queues", INTEGER, "readable queues without owner, the most of any interval"),
        required("double_owned_queues", INTEGER, "queues with several owners, the most of any interval"),
        required(
            "largest_share",
            DOUBLE,
            "queues of the connection with most ÷ queues per connection, the most of any interval; 1 is even",
        ),
        required("queues_moved", INTEGER, "queues that changed their owners, over all rebalances of the step"),
        Field("minimum_moves", INTEGER, "of these: how many had to, whatever allocation gives the same shares"),
    ),
    key=(*OF_TOPIC.names, "strategy"),
    partition_by=("step_start",),
    checks={"moves_are_not_too_few": "minimum_moves <= queues_moved"},
    former={
        "queue_count": "queues",
        "minimum_moves": "least_moves",
    },
)
