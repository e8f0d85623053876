"""Compress snapshots to their changes: a fleet is stable most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.steps import StepWindow, duration, with_step


def spans(
    snapshots: DataFrame, key: Sequence[str], state: Column, window: StepWindow, max_gap: timedelta | None
) -> DataFrame:
    """One row per (key, step, span in which `state` did not change): `start`, `end`, `seen_at`, and the state itself.

    A snapshot holds until the next one of its key, but no longer than `max_gap` (None: until the step's end).
    `start` and `end` are clipped to the step and its warm-up; `seen_at` is the last snapshot that showed the state.
    Only (key, time, fingerprint) is shuffled; the states of the few spans are fetched by a second read.
    """
    prints = snapshots.select(*key, "captured_at", F.xxhash64(state).alias("fingerprint"))
    narrow = prints.transform(with_step(window)).transform(lambda rows: _fold(rows, key, window, max_gap))
    firsts = narrow.select(*key, "captured_at", "fingerprint").distinct()
    states = (
        snapshots.select(*key, "captured_at", state.alias("state"))
        .join(F.broadcast(firsts), on=[*key, "captured_at"], how="inner")
        .where(F.xxhash64("state") == F.col("fingerprint"))
        # Two identical rows with one key would double every interval; equal content makes `first` exact.
        .groupBy(*key, "captured_at", "fingerprint")
        .agg(F.first("state").alias("state"))
    )
    return narrow.join(states, on=[*key, "captured_at", "fingerprint"], how="inner").drop("captured_at")


def _fold(snapshots: DataFrame, key: Sequence[str], window: StepWindow, max_gap: timedelta | None) -> DataFrame:
    """One row per span; `captured_at` is its first snapshot."""
    per_key = Window.partitionBy(*key, "step_start").orderBy("captured_at", "fingerprint")
    so_far = per_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    starts = F.lag("fingerprint").over(per_key).eqNullSafe(F.col("fingerprint"))
    if max_gap is not None:
        starts &= F.lag("captured_at").over(per_key) + duration(max_gap) >= F.col("captured_at")
    holds_until = F.col("seen_at") + duration(max_gap) if max_gap is not None else window.step_end
    return (
        snapshots.withColumn("span", F.sum(F.when(starts, 0).otherwise(1)).over(so_far))
        .groupBy(*key, "step_start", "span", "fingerprint")
        .agg(F.min("captured_at").alias("captured_at"), F.max("captured_at").alias("seen_at"))
        .withColumn("next", F.lead("captured_at").over(Window.partitionBy(*key, "step_start").orderBy("span")))
        .withColumn("start", F.greatest("captured_at", window.observed_from))
        .withColumn("end", F.least(holds_until, "next", window.step_end))
        .where(F.col("start") < F.col("end"))
        .drop("span", "next")
    )


def tiling(spans: DataFrame, key: Sequence[str], window: StepWindow) -> DataFrame:
    """One row per (key, step, `at`): the spans, and the gaps between them with every other column null.

    The rows of a key tile `[step_start − warm_up, step_end)`: each holds from `at` to the next one's `at`.
    """
    per_key = Window.partitionBy(*key, "step_start").orderBy("start")
    facts = [name for name in spans.columns if name not in (*key, "step_start", "start", "end")]
    marked = spans.withColumn("next", F.lead("start").over(per_key)).withColumn(
        "previous_end", F.coalesce(F.lag("end").over(per_key), window.observed_from)
    )
    span = marked.select(*key, "step_start", F.col("start").alias("at"), *facts)
    before = marked.where("previous_end < start").select(*key, "step_start", F.col("previous_end").alias("at"))
    last = marked.where(F.col("next").isNull() & (F.col("end") < window.step_end))
    after = last.select(*key, "step_start", F.col("end").alias("at"))
    return span.unionByName(before.unionByName(after), allowMissingColumns=True)
