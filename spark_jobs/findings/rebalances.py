"""The rebalances of a group, over all its topics: what storms, flapping members and redelivery are found in."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.moves import Trigger
from spark_jobs.replay.steps import duration
from spark_jobs.replay.views import ALL_HOSTS, GROUP_STEP


def rebalances(moves: DataFrame, cadence: timedelta) -> DataFrame:
    """One row per interval of `moves.with_moves` that a known change began, with its group's `moment`.

    The topics' intervals of one change begin a little apart: they share the `moment` (`domain.rebalances.moments`).
    Only what all hosts agree on counts: a broker that came back lists the members one by one.
    """
    per_group = Window.partitionBy(*GROUP_STEP).orderBy("start")
    apart = F.col("start") - F.lag("start").over(per_group) >= duration(cadence / 2)
    so_far = per_group.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        moves.where((F.col("membership_view") == ALL_HOSTS) & (F.col("trigger") != Trigger.FIRST_OBSERVATION.value))
        .withColumn("moment", F.when(F.coalesce(apart, F.lit(True)), F.col("start")))
        .withColumn("moment", F.last("moment", ignorenulls=True).over(so_far))
    )
