"""What made a backlog grow, as Columns and frames; its plain twin, with the reasons, is `domain.attribution`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from schemas import QUEUE_PROGRESS
from spark_jobs.domain.attribution import STUCK, Part
from spark_jobs.progress.queue_progress import QUEUE
from spark_jobs.replay.steps import StepWindow, seconds_between, with_step
from spark_jobs.replay.views import GROUP_TOPIC


def parts() -> dict[Part, Column]:
    """Messages per part for a row with `growth`, `owners`, `verdict`, `moved`, `produced`, `seconds`, `rate_before`."""
    whole = (
        F.when(F.col("owners") == 0, Part.UNASSIGNED)
        .when(F.col("verdict").isin(*sorted(STUCK)), Part.STUCK_OWNER)
        .when(F.col("moved"), Part.HAND_OVER)
    )
    above = F.col("produced") - F.rint(F.col("rate_before") * F.col("seconds")).cast("bigint")
    # `least` skips nulls: without a pace to compare with there is no surge.
    surge = F.when(above.isNotNull() & whole.isNull(), F.greatest(F.least("growth", above), F.lit(0)))
    surge = F.coalesce(surge, F.lit(0))
    rest = F.when(whole.isNull(), F.col("growth") - surge).otherwise(0)
    found = {part: F.when(whole == part, F.col("growth")).otherwise(0) for part in list(Part)[:3]}
    return found | {Part.PRODUCER_SURGE: surge, Part.RESIDUAL: rest}


def growth(progress: DataFrame) -> DataFrame:
    """Adds `growth` to rows of `queue_progress`: how the lag grew since the queue's interval before, in messages.

    The step's first interval with a reading begins at its own first one, so that the growths of a queue add up to the
    difference between its last and first reading in the step. Rows without a known lag are left out.
    """
    per_queue = Window.partitionBy(*QUEUE).orderBy("interval_start")
    before = F.coalesce(F.lag("lag_last").over(per_queue), F.col("lag_first"))
    known = progress.select(*QUEUE_PROGRESS.columns, "owners").where("lag_last IS NOT NULL")
    return known.withColumn("growth", F.col("lag_last") - before)


def pace_before(offsets: DataFrame, window: StepWindow) -> DataFrame:
    """One row per (group, topic, queue, step): `rate_before`, messages a second that came in during the look-back."""
    reading = F.struct("captured_at", "entry.broker_offset")
    measured = (
        offsets.transform(with_step(window))
        .where("captured_at < step_start")
        .select(*GROUP_TOPIC, "captured_at", F.explode("offsets").alias("entry"))
        .groupBy(
            *GROUP_TOPIC, F.col("entry.broker_name").alias("broker_name"), F.col("entry.queue_id").alias("queue_id")
        )
        .agg(F.min(reading).alias("first"), F.max(reading).alias("last"))
    )
    seconds = seconds_between("first.captured_at", "last.captured_at")
    came_in = F.col("last.broker_offset") - F.col("first.broker_offset")
    return measured.select(*QUEUE, F.when((seconds > 0) & (came_in >= 0), came_in / seconds).alias("rate_before"))


def attribution(progress: DataFrame, intervals: DataFrame, pace: DataFrame) -> DataFrame:
    """One row per (group, topic, step): `growth` and its parts, in messages; null where no lag is known.

    `progress` comes with the `owners`, `intervals` from `moves.with_moves` and clipped to their step: a queue changed
    hands where its interval began, be it in the warm-up.
    """
    interval = (*GROUP_TOPIC, "membership_view", "interval_start")
    begun = intervals.withColumnRenamed("start", "interval_start").select(*interval, "handed_over")
    place = F.concat_ws(":", "broker_name", "queue_id")
    rows = (
        growth(progress)
        .join(begun, on=list(interval), how="left")
        .join(pace, on=[*QUEUE], how="left")
        .withColumn("owners", F.size("owners"))
        .withColumn("moved", F.coalesce(F.array_contains("handed_over", place), F.lit(False)))
        .withColumn("seconds", seconds_between("interval_start", "interval_end"))
    )
    sums = {part.value: F.sum(value).cast("bigint").alias(part.value) for part, value in parts().items()}
    return rows.groupBy(*GROUP_TOPIC).agg(F.sum("growth").alias("growth"), *sums.values())
