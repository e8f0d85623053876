"""Laws of the groups' status: a violation is a bug of the audit."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.common import one_of
from expectations.suite import Expectation, Suite
from schemas import FINDINGS, GROUP_STATUS, Table
from spark_jobs.domain.capacity import Limit
from spark_jobs.domain.severities import SEVERITIES

_GROUP = ("step_start", "cluster", "consumer_group")
_SEVERITIES = f"array{one_of(SEVERITIES)}"


def with_findings(groups: DataFrame, others: Mapping[Table, DataFrame]) -> DataFrame:
    """Adds `found`, and `worst_rank` of those that are not muted, of the group's findings in the step; null: none."""
    rank = F.expr(f"array_position({_SEVERITIES}, severity)")
    told = F.when(F.col("muted").isNull(), rank)
    found = others[FINDINGS].groupBy(*_GROUP).agg(F.count(F.lit(1)).alias("found"), F.max(told).alias("worst_rank"))
    return groups.join(found, on=list(_GROUP), how="left")


SUITE = Suite(
    GROUP_STATUS,
    series=("cluster",),
    prepare=with_findings,
    expectations=(
        Expectation(
            "findings_are_counted",
            "The count of findings equals the number of findings of the step.",
            "NOT whole_groups OR finding_count = coalesce(found, 0)",
        ),
        Expectation(
            "worst_severity_is_the_worst",
            "The worst severity is that of the step's findings that are not muted.",
            f"NOT whole_groups OR coalesce(array_position({_SEVERITIES}, worst_severity), 0) = coalesce(worst_rank, 0)",
        ),
        Expectation("limit_is_known", "The limit is a value of the enum.", f"limit IN {one_of(Limit)}"),
        Expectation(
            "every_queue_is_counted",
            "Every queue is owned once, twice or never.",
            "queues = owned_once + owned_twice + owned_never AND least(owned_once, owned_twice, owned_never) >= 0",
        ),
        Expectation(
            "members_are_counted",
            "There are at most as many client ids, and as many idle members, as members.",
            "distinct_members <= members AND idle_members <= members",
        ),
        Expectation(
            "parts_add_up_to_the_growth",
            "The parts of a topic's backlog growth add up to the growth.",
            "it.unassigned + it.stuck_owner + it.hand_over + it.producer_surge + it.residual = it.growth",
            each="attribution",
        ),
        Expectation(
            "growth_is_end_less_start",
            "The growth of all topics together is the backlog at the end minus the backlog at the start.",
            "aggregate(attribution, 0L, (sum, it) -> sum + coalesce(it.growth, 0L)) = backlog_end - backlog_start",
        ),
        Expectation(
            "messages_are_not_negative",
            "Backlogs, ages and rates are 0 or more, or unknown.",
            "coalesce(least(backlog_start, backlog_end, oldest_message_ms, in_rate, out_rate), 0) >= 0",
        ),
    ),
)
