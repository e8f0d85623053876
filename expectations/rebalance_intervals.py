"""Laws of the rebalance intervals: a violation is a bug of the audit."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations.common import one_of
from expectations.suite import Expectation, Suite
from schemas import ALLOCATIONS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.causes import DoubleOwnedCause
from spark_jobs.domain.members import StrategySource
from spark_jobs.domain.moves import Trigger
from spark_jobs.domain.timeline import Reason, Status

_TOPIC = ("step_start", "cluster", "consumer_group", "topic")
_INTERVAL = (*_TOPIC, "membership_view", "interval_start")
_ALL_DIFFER = "status = 'REPLAYED' AND distinct_members = member_count"
_ALL_SUBSCRIBE = "forall(members, m -> m.subscribes)"
#: Other strategies are written alike in all languages and versions.
_COMPUTE_ALIKE = (
    "(strategy NOT IN ('CONSISTENT_HASH', 'MACHINE_ROOM') "
    "OR size(array_distinct(members.language)) + size(array_distinct(members.version)) = 2)"
)
#: Spark and Java order texts alike as long as they are ASCII.
_ASCII = r"array_join({}, '') RLIKE '^[ -~]*$'"


def with_neighbours_and_allocations(intervals: DataFrame, others: Mapping[Table, DataFrame]) -> DataFrame:
    """Adds `covered_until`, where the topic's intervals before end (null: it is the first); `topic_end`, where its
    last one ends; `view_end`, where the one before in its view ends; `common_end`, where those before of all brokers
    together end; and, of its allocations, `allocated`, readable queues; `without`, those without an owner; `twice`,
    those with more, but those shared by POP; `owned`, owners of all queues together.
    """
    per_topic = Window.partitionBy(*_TOPIC)
    # Intervals of a split begin together: what the earlier ones cover is what reaches the present one's start.
    before = per_topic.orderBy("interval_start", "interval_end").rowsBetween(Window.unboundedPreceding, -1)
    in_view = Window.partitionBy(*_TOPIC, "membership_view").orderBy("interval_start")
    owners = F.size("owners")
    allocated = (
        others[ALLOCATIONS]
        .groupBy(*_INTERVAL)
        .agg(
            F.count_if(F.col("readable")).alias("allocated"),
            F.count_if(F.col("readable") & (owners == 0)).alias("without"),
            F.count_if((owners > 1) & ~F.col("double_owned_cause").eqNullSafe(DoubleOwnedCause.POP_SHARED)).alias(
                "twice"
            ),
            F.sum(owners).alias("owned"),
        )
    )
    return (
        intervals.withColumn("covered_until", F.max("interval_end").over(before))
        .withColumn("common_end", F.max(F.when(F.col("membership_view") == "*", F.col("interval_end"))).over(before))
        .withColumn("topic_end", F.max("interval_end").over(per_topic))
        .withColumn("view_end", F.lag("interval_end").over(in_view))
        .join(allocated, on=list(_INTERVAL), how="left")
    )


SUITE = Suite(
    REBALANCE_INTERVALS,
    series=("cluster", "consumer_group"),
    prepare=with_neighbours_and_allocations,
    expectations=(
        Expectation(
            "intervals_of_a_view_do_not_overlap",
            "In one view an interval begins no earlier than the one before ends; the same holds between a view of one "
            "broker and the view of all brokers.",
            "(view_end <= interval_start OR view_end IS NULL) AND (common_end <= interval_start OR common_end IS NULL) "
            "AND (membership_view <> '*' OR covered_until <= interval_start)",
        ),
        Expectation(
            "intervals_leave_no_hole",
            "The intervals of a topic, of all views, cover their step from its start to its end.",
            "coalesce(covered_until, step_start) >= interval_start "
            "AND topic_end = timestampadd(SECOND, step_seconds, step_start) AND interval_start >= step_start",
        ),
        Expectation("status_is_known", "The status is a value of the enum.", f"status IN {one_of(Status)}"),
        Expectation(
            "reason_is_known",
            "An interval that is not replayed has a reason; one that is replayed has none.",
            f"(status = 'REPLAYED') = (reason IS NULL) AND (reason IS NULL OR reason IN {one_of(Reason)})",
        ),
        Expectation(
            "strategy_source_is_known",
            "The source of the strategy is a value of the enum.",
            f"strategy_source IN {one_of(StrategySource)}",
        ),
        Expectation("trigger_is_known", "The trigger is a value of the enum.", f"trigger IN {one_of(Trigger)}"),
        Expectation(
            "every_readable_queue_is_allocated_once",
            "A replayed interval has one allocation per readable queue; any other interval has none.",
            "coalesce(allocated, 0) = if(status = 'REPLAYED', queue_count, 0)",
        ),
        Expectation(
            "unassigned_queues_are_counted",
            "The count of unassigned queues equals that in the allocations.",
            "status <> 'REPLAYED' OR coalesce(without, 0) = unassigned_queues",
        ),
        Expectation(
            "double_owned_queues_are_counted",
            "The count of queues with several owners, except those shared by POP, equals that in the allocations.",
            "status <> 'REPLAYED' OR coalesce(twice, 0) = double_owned_queues",
        ),
        Expectation(
            "shares_add_up",
            "The owners of all queues, added up, are between members × smallest share and members × largest share.",
            "owned BETWEEN member_count * min_queues_per_member AND member_count * max_queues_per_member",
        ),
        Expectation(
            "even_strategies_are_even",
            "AVG and AVG_BY_CIRCLE: shares differ by one queue at most, if ids are distinct and all members subscribe.",
            f"NOT ({_ALL_DIFFER} AND strategy IN ('AVG', 'AVG_BY_CIRCLE') AND {_ALL_SUBSCRIBE}) "
            "OR max_queues_per_member - min_queues_per_member <= 1",
        ),
        Expectation(
            "even_strategies_leave_nothing",
            "AVG and AVG_BY_CIRCLE: every queue has an owner, if ids are distinct and all members subscribe.",
            f"NOT ({_ALL_DIFFER} AND member_count > 0 AND strategy IN ('AVG', 'AVG_BY_CIRCLE') AND {_ALL_SUBSCRIBE}) "
            "OR unassigned_queues = 0",
        ),
        Expectation(
            "nothing_is_owned_twice_without_a_reason",
            "Without duplicate ids, mixed strategies or configured lists no queue has two owners; with CONSISTENT_HASH "
            "and MACHINE_ROOM this holds if all clients have one language and version.",
            f"NOT ({_ALL_DIFFER} AND strategy NOT IN ('MIXED', 'CONFIG') AND {_COMPUTE_ALIKE}) "
            "OR double_owned_queues = 0",
        ),
        Expectation(
            "twins_leave_queues_to_nobody",
            "AVG and AVG_BY_CIRCLE: a duplicate id is at two positions but counts as the first of them, so some queues "
            "are owned twice and others by nobody, if there are at least as many queues as members.",
            "NOT (status = 'REPLAYED' AND distinct_members < member_count AND queue_count >= member_count "
            f"AND strategy IN ('AVG', 'AVG_BY_CIRCLE') AND {_ALL_SUBSCRIBE}) "
            "OR (double_owned_queues > 0 AND unassigned_queues > 0)",
        ),
        Expectation(
            "members_are_counted",
            "The counts of members and ids equal those of the list.",
            "member_count = size(members) AND distinct_members = size(array_distinct(members.client_id))",
        ),
        Expectation(
            "members_are_in_order",
            "Members are sorted by client id, as every client sorts them.",
            f"NOT {_ASCII.format('members.client_id')} OR members.client_id = sort_array(members.client_id)",
        ),
        Expectation(
            "queues_are_in_order",
            "Queues are sorted by broker and id, as every client sorts them.",
            f"NOT {_ASCII.format('queues.broker_name')} OR queues = sort_array(queues)",
        ),
        Expectation(
            "moves_are_possible",
            "At least as many queues moved as had to, and at most as many as there are.",
            "least_moves >= 0 AND least_moves <= queues_moved AND queues_moved + queues_preserved <= queue_count",
        ),
    ),
)
