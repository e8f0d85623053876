"""Cases of `expectations/strategy_comparison.py`."""

from typing import Any

from expectations.strategy_comparison import SUITE
from schemas import STRATEGY_COMPARISON
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, alone


def row(**changes: Any) -> Row:
    """4 queues, of which one had no owner and two had several; 3 moved, 2 of them had to."""
    key = {"step_start": at(0), "cluster": OWN, "consumer_group": "g", "topic": "t", "strategy": "AVG"}
    counts = {"states": 2, "queue_count": 4, "unassigned_queues": 1, "double_owned_queues": 2, "largest_share": 1.5}
    return key | counts | {"queues_moved": 3, "minimum_moves": 2} | changes


good = alone(STRATEGY_COMPARISON, row)


CASES = Cases(
    SUITE,
    breaks={
        "strategy_can_be_replayed": [good(strategy=name) for name in ("POP", "MACHINE_ROOM_NEARBY", "ODD")],
        "queues_are_counted": [
            good(states=0),
            good(queue_count=0, unassigned_queues=0, double_owned_queues=0),
            *(good(**{name: count}) for name in ("unassigned_queues", "double_owned_queues") for count in (-1, 5)),
        ],
        "share_is_possible": [good(largest_share=-0.5)],
        "moves_are_possible": [good(minimum_moves=4), good(minimum_moves=-1)],
        "keys_are_unique": [{STRATEGY_COMPARISON: [row(), row()]}],
    },
    keeps=[
        good(),
        good(unassigned_queues=4, double_owned_queues=4, largest_share=0.0, queues_moved=2),
        good(unassigned_queues=0, double_owned_queues=0, queues_moved=0, minimum_moves=0),
        {STRATEGY_COMPARISON: [row(), row(strategy="MACHINE_ROOM_NEARBY-AVG"), row(topic="t2")]},
    ],
)
