"""Laws of the comparison of strategies: a violation is a bug of the audit."""

from expectations.common import one_of
from expectations.suite import Expectation, Suite
from schemas import STRATEGY_COMPARISON
from spark_jobs.domain.strategies import MACHINE_ROOM_NEARBY, POP, STRATEGY_NAMES

_COMPARED = [name for name in STRATEGY_NAMES if name not in (MACHINE_ROOM_NEARBY, POP)]

SUITE = Suite(
    STRATEGY_COMPARISON,
    series=("cluster",),
    expectations=(
        Expectation(
            "strategy_can_be_replayed", "The strategy is one that clients can use.", f"strategy IN {one_of(_COMPARED)}"
        ),
        Expectation(
            "queues_are_counted",
            "There is at least one state and one queue, and at most as many queues without owner, or with several "
            "owners, as queues.",
            "least(states, queues) > 0 AND unassigned_queues BETWEEN 0 AND queues "
            "AND double_owned_queues BETWEEN 0 AND queues",
        ),
        Expectation("share_is_possible", "The largest share is 0 or more.", "largest_share >= 0"),
        Expectation(
            "moves_are_possible",
            "At least as many queues moved as had to, and none moved without a rebalance.",
            "least_moves BETWEEN 0 AND queues_moved",
        ),
    ),
)
