"""The allocation of the same members and queues by each strategy."""

from schemas.common import OF_TOPIC
from schemas.table import Table
from schemas.types import DOUBLE, INTEGER, STRING, Field, Struct, required

STRATEGY_COMPARISON = Table(
    name="strategy_comparison",
    comment="One row per topic, step and strategy: the result of the strategy for the recorded members and queues, "
    "while all brokers agreed. MACHINE_ROOM, MACHINE_ROOM_NEARBY and CONFIG only if configured",
    schema=Struct(
        *OF_TOPIC,
        required("strategy", STRING, "strategy"),
        required("states", INTEGER, "different members and queues in the step"),
        required("queue_count", INTEGER, "most readable queues of any interval"),
        required("unassigned_queues", INTEGER, "most readable queues without owner"),
        required("double_owned_queues", INTEGER, "most queues with several owners"),
        required("largest_share", DOUBLE, "most queues of a connection ÷ mean, the most of any interval"),
        required("queues_moved", INTEGER, "queues that changed owner in the step"),
        Field("minimum_moves", INTEGER, "minimum for the same number of queues per owner"),
    ),
    key=(*OF_TOPIC.names, "strategy"),
    partition_by=("step_start",),
    checks={"moves_are_not_too_few": "minimum_moves <= queues_moved"},
)
