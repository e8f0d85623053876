"""Laws of the progress of queues: a violation is a bug of the audit."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations.common import one_of
from expectations.suite import Expectation, Severity, Suite
from schemas import ALLOCATIONS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.audited_step import REPLAYED, UNOBSERVED, WITHOUT_OFFSETS
from spark_jobs.domain.verdicts import Verdict

_TOPIC = ("step_start", "cluster", "consumer_group", "topic")
_QUEUE = (*_TOPIC, "broker_name", "queue_id")


def with_allocation_and_lag_before(progress: DataFrame, others: Mapping[Table, DataFrame]) -> DataFrame:
    """Adds `is_allocated`: a view's interval with this start has the queue, in its allocation, or among its own where
    owners are not known; `lag_before`: the queue's lag at the end of its interval before.
    """
    key = (*_QUEUE, "interval_start")
    unowned = others[REBALANCE_INTERVALS].where(
        f"status NOT IN ('{REPLAYED}', '{UNOBSERVED}') AND reason NOT IN {one_of(WITHOUT_OFFSETS)}"
    )
    of_unowned = unowned.select(*_TOPIC, "interval_start", F.inline("queues")).select(*key)
    allocated = others[ALLOCATIONS].select(*key).union(of_unowned).distinct().withColumn("is_allocated", F.lit(True))
    in_order = Window.partitionBy(*_QUEUE).orderBy("interval_start")
    return progress.withColumn("lag_before", F.lag("lag_last").over(in_order)).join(allocated, on=list(key), how="left")


SUITE = Suite(
    QUEUE_PROGRESS,
    series=("cluster", "consumer_group"),
    prepare=with_allocation_and_lag_before,
    expectations=(
        Expectation(
            "queue_is_allocated",
            "Every row has its allocation, or belongs to an interval whose owners are unknown, but whose offsets are "
            "known.",
            "coalesce(is_allocated, false)",
        ),
        Expectation(
            "verdict_is_known", "The verdict is a value of the enum, or null.", f"verdict IN {one_of(Verdict)}"
        ),
        Expectation(
            "unknown_stays_unknown",
            "Without a known reading there is no lag and no verdict; with one there is a lag.",
            "lag_quality IN ('MEASURED', 'NEVER_COMMITTED', 'NO_READING') "
            "AND (lag_quality = 'MEASURED') = (lag_last IS NOT NULL) AND (lag_last IS NOT NULL OR verdict IS NULL) "
            "AND (lag_quality = 'NO_READING') = (readings = 0)",
        ),
        Expectation(
            "messages_are_not_negative",
            "Messages produced, consumed, rewound and left are 0 or more, or unknown.",
            "coalesce(least(produced, consumed, rewinds, rewound, lag_first, lag_last, lag_max, age_ms), 0) >= 0",
        ),
        Expectation(
            "greatest_lag_is_the_greatest",
            "No lag is greater than `lag_max`.",
            "lag_max >= lag_first AND lag_max >= lag_last",
        ),
        Expectation(
            "what_came_less_what_went_is_what_is_left",
            "Lag before + produced − consumed + rewound = lag after, if there was a lag at both ends. Readings in "
            "between without a known offset break this.",
            "NOT (lag_before > 0 AND lag_last > 0) "
            "OR lag_before + produced - consumed + coalesce(rewound, 0) = lag_last",
            Severity.WARNING,
        ),
    ),
)
