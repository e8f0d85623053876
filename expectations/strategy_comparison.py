"""Laws of the comparison of strategies: a violation is a bug of the audit."""

from expectations.common import known_value
from expectations.rows import Rows, Values, least
from expectations.suite import Expectation, Suite
from schemas import STRATEGY_COMPARISON
from spark_jobs.domain.rocketmq.strategies import MACHINE_ROOM_NEARBY, POP, STRATEGY_NAMES

_COMPARED = [name for name in STRATEGY_NAMES if name not in (MACHINE_ROOM_NEARBY, POP)]


def _queues_are_counted(rows: Rows) -> Values:
    return (
        (least(rows["states"], rows["queue_count"]) > 0)
        & rows["unassigned_queues"].between(0, rows["queue_count"])
        & rows["double_owned_queues"].between(0, rows["queue_count"])
    )


SUITE = Suite(
    STRATEGY_COMPARISON,
    expectations=(
        Expectation(
            "strategy_can_be_replayed", "The strategy is one that clients can use.", known_value("strategy", _COMPARED)
        ),
        Expectation(
            "queues_are_counted",
            "States and queues are 1 or more; queues without owner, or with several, are at most all queues.",
            _queues_are_counted,
        ),
        Expectation("share_is_possible", "The largest share is 0 or more.", lambda rows: rows["largest_share"] >= 0),
        Expectation(
            "moves_are_possible",
            "Queues moved are at least the minimum, and 0 without a rebalance.",
            lambda rows: rows["minimum_moves"].between(0, rows["queues_moved"]),
        ),
    ),
)
