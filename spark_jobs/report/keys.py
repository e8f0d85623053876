"""Keys, limits and time parts that the sections of the report share."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.columns import Transformation, seconds_between
from spark_jobs.domain.intervals import Interval

GROUP = ("cluster", "consumer_group")
TOPIC = (*GROUP, "topic")
QUEUE = (*TOPIC, "broker_name", "queue_id")
#: Column that says how many rows its group had before `at_most`.
ROWS_OF_GROUP = "rows_of_group"


def at_most(rows: int, order: Sequence[str | Column]) -> Transformation:
    """The first rows of every group in this order; `rows_of_group` says how many there were."""

    def transform(frame: DataFrame) -> DataFrame:
        per_group = Window.partitionBy(*GROUP)
        return (
            frame.withColumn(ROWS_OF_GROUP, F.count(F.lit(1)).over(per_group))
            .withColumn("place", F.row_number().over(per_group.orderBy(*order)))
            .where(F.col("place") <= rows)
            .drop("place")
        )

    return transform


def part_of(moment: str, interval: Interval, parts: int) -> Column:
    """Which of so many equal parts of the interval holds the moment, from 0; the interval's end belongs to the last."""
    length = (interval.end - interval.start).total_seconds() / parts
    place = F.floor(seconds_between(F.lit(interval.start), moment) / F.lit(length))
    return F.least(place, F.lit(parts - 1)).cast("int")


def known_lags(at: str) -> tuple[Column, Column, Column]:
    """Aggregates over intervals that begin at `at`: `lag_first` and `lag_last`, the first and last known lag, and
    `lag_max`, the highest, in messages; null where none is known.
    """
    return (
        F.min_by("lag_first", F.when(F.col("lag_first").isNotNull(), F.col(at))).alias("lag_first"),
        F.max_by("lag_last", F.when(F.col("lag_last").isNotNull(), F.col(at))).alias("lag_last"),
        F.max("lag_max").alias("lag_max"),
    )
