"""Laws of the allocations: a violation is a bug of the audit."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.common import one_of
from expectations.suite import Expectation, Suite
from schemas import ALLOCATIONS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.causes import DoubleOwnedCause, UnassignedCause

_INTERVAL = ("step_start", "cluster", "consumer_group", "topic", "membership_view", "interval_start")


def with_interval(allocations: DataFrame, others: Mapping[Table, DataFrame]) -> DataFrame:
    """Adds `status` and `known_end` of the interval that the row belongs to; null: there is none."""
    intervals = others[REBALANCE_INTERVALS].select(*_INTERVAL, "status", F.col("interval_end").alias("known_end"))
    return allocations.join(intervals, on=list(_INTERVAL), how="left")


SUITE = Suite(
    ALLOCATIONS,
    series=("cluster", "consumer_group"),
    prepare=with_interval,
    expectations=(
        Expectation(
            "interval_was_replayed",
            "Every allocation belongs to a replayed interval and ends with it.",
            "coalesce(status = 'REPLAYED' AND known_end = interval_end, false)",
        ),
        Expectation(
            "unassigned_has_a_cause",
            "A queue has no owner if and only if there is a cause for that.",
            "(size(owners) = 0) = (unassigned_cause IS NOT NULL)",
        ),
        Expectation(
            "double_owned_has_a_cause",
            "A queue has several owners if and only if there is a cause for that.",
            "(size(owners) > 1) = (double_owned_cause IS NOT NULL)",
        ),
        Expectation(
            "causes_are_known",
            "Causes are values of the enums.",
            f"(unassigned_cause IS NULL OR unassigned_cause IN {one_of(UnassignedCause)}) "
            f"AND (double_owned_cause IS NULL OR double_owned_cause IN {one_of(DoubleOwnedCause)})",
        ),
        Expectation(
            "unreadable_is_nobodys",
            "A queue that no consumer may read has no owner.",
            "readable OR size(owners) = 0",
        ),
        Expectation(
            "owners_are_connections",
            "Every owner has a client id, and no owner is listed twice.",
            "forall(owners, one -> one.client_id IS NOT NULL) AND size(array_distinct(owners)) = size(owners)",
        ),
        Expectation("queue_ids_are_0_to_65535", "A queue id is 0 to 65535.", "queue_id BETWEEN 0 AND 65535"),
    ),
)
