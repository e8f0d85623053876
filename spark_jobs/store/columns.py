"""Native Spark expressions that several parts share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import Table


def union_of(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames; null in the columns that a frame lacks."""
    return reduce(lambda frame, other: frame.unionByName(other, allowMissingColumns=True), frames)


def keeps(check: str) -> Column:
    """Whether a row keeps a constraint, as Delta judges one that is written: it must be true, and unknown is not."""
    return F.coalesce(F.expr(check), F.lit(False))


def same_key(table: Table) -> Column:
    """Whether the rows `t` and `s` have one key of the table; where a part of it may be null, null is a value."""
    return reduce(
        and_,
        (
            F.col(f"t.{name}").eqNullSafe(F.col(f"s.{name}"))
            if table.schema[name].nullable
            else F.col(f"t.{name}") == F.col(f"s.{name}")
            for name in table.key
        ),
    )


def per_step_that_reads(snapshots: DataFrame, step: timedelta, look_back: timedelta) -> DataFrame:
    """One row per (snapshot, step that reads it): one shortly before a step is in its look-back too."""
    seconds = int(step.total_seconds())

    def start(moment: Column) -> Column:
        return F.timestamp_seconds(F.floor(F.unix_seconds(moment) / seconds) * seconds)

    captured_at = F.col("captured_at")
    starts = F.sequence(start(captured_at), start(captured_at + F.lit(look_back)), F.lit(step))
    return snapshots.withColumn("step_start", F.explode(starts))
