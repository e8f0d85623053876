"""Compress snapshots to their changes: a fleet is stable most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.replay.inputs import let
from spark_jobs.replay.steps import StepWindow, Transformation, duration, with_step


def spans(
    snapshots: DataFrame,
    key: Sequence[str],
    state: Column,
    window: StepWindow,
    max_gap: timedelta | None,
    keep: Transformation,
) -> DataFrame:
    """One row per (key, step, span in which `state` did not change): `start`, `end`, `seen_at`, and the state itself.

    A snapshot holds until the next one of its key, but no longer than `max_gap` (None: until the step's end).
    `start` and `end` are clipped to the step and its warm-up; `seen_at` is the last snapshot that showed the state.
    Only (key, time, fingerprint) is shuffled; the states of the few spans are fetched by a second read.
    """
    prints = snapshots.select(*key, "captured_at", F.xxhash64(state).alias("fingerprint"))
    narrow = keep(prints.transform(with_step(window)).transform(lambda rows: _fold(rows, key, window, max_gap)))
    firsts = narrow.select(*key, "captured_at").distinct()
    states = (
        # Joined first: the state is then computed for the few rows that begin a span.
        snapshots.join(F.broadcast(firsts), on=[*key, "captured_at"], how="inner")
        .select(*key, "captured_at", state.alias("state"))
        # Two identical rows with one key would double every interval; equal content makes `first` exact.
        .groupBy(*key, "captured_at", F.xxhash64("state").alias("fingerprint"))
        .agg(F.first("state").alias("state"))
    )
    return narrow.join(states, on=[*key, "captured_at", "fingerprint"], how="inner").drop("captured_at")


def _fold(snapshots: DataFrame, key: Sequence[str], window: StepWindow, max_gap: timedelta | None) -> DataFrame:
    """One row per span; `captured_at` is its first snapshot.

    Only the offsets of a window look at every snapshot: the first of each span and the last of the key stay, and a
    span was last seen by the snapshot before the next one's first.
    """
    per_key = Window.partitionBy(*key, "step_start").orderBy("captured_at", "fingerprint")
    continues = F.col("previous_print").eqNullSafe(F.col("fingerprint"))
    if max_gap is not None:
        continues &= F.col("previous_at") + duration(max_gap) >= F.col("captured_at")
    holds_until = F.col("seen_at") + duration(max_gap) if max_gap is not None else window.step_end
    return (
        snapshots.withColumns(
            {
                "previous_print": F.lag("fingerprint").over(per_key),
                "previous_at": F.lag("captured_at").over(per_key),
                "is_last": F.lead("captured_at").over(per_key).isNull(),
            }
        )
        .withColumn("starts", F.col("previous_at").isNull() | ~continues)
        .where("starts OR is_last")
        .withColumn("next", F.lead("captured_at").over(per_key))
        .withColumn("next_previous", F.lead("previous_at").over(per_key))
        .withColumn("next_starts", F.lead("starts").over(per_key))
        .where("starts")
        # Behind the last span's first snapshot stands either nothing or the key's last snapshot, of the same span.
        .withColumn(
            "seen_at", F.when(F.col("next_starts"), F.col("next_previous")).otherwise(F.coalesce("next", "captured_at"))
        )
        .withColumn("next", F.when(F.col("next_starts"), F.col("next")))
        .withColumn("start", F.greatest("captured_at", window.observed_from))
        .withColumn("end", F.least(holds_until, "next", window.step_end))
        .where(F.col("start") < F.col("end"))
        .drop("next", "previous_print", "previous_at", "is_last", "starts", "next_previous", "next_starts")
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


def gaps_behind(times: Column, window: StepWindow, max_gap: timedelta) -> Column:
    """`gaps`, array<start, end>: where the readings at `times`, an array, hold no longer and the next did not come."""

    def gap(at: Column, index: Column, in_order: Column) -> Column:
        following = F.coalesce(F.get(in_order, index + 1), window.step_end)
        return F.struct((at + duration(max_gap)).alias("start"), following.alias("end"))

    return let(
        F.sort_array(times),
        lambda in_order: F.filter(
            F.transform(in_order, lambda at, index: gap(at, index, in_order)), lambda one: one["start"] < one["end"]
        ),
    ).alias("gaps")


def gaps(spans: DataFrame, key: Sequence[str], window: StepWindow) -> DataFrame:
    """One row per (key, maximal time behind its first span that no span covers): `start`, `end`
    (`domain.observation.gaps`). The spans of a key, which holds `step_start`, may overlap.
    """
    in_order = Window.partitionBy(*key).orderBy("start")
    covered = F.max("end").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    following = F.coalesce(F.lead("start").over(in_order), window.step_end)
    gap = F.struct(covered.alias("start"), following.alias("end"))
    return spans.select(*key, gap.alias("gap")).where("gap.start < gap.end").select(*key, "gap.*")


def with_island(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Adds `island`, the number within the key of the maximal time that rows (`start`, `end`) cover without a gap.

    A null in the key is a value like any other: a window puts equal nulls into one partition.
    """
    in_order = Window.partitionBy(*key).orderBy("start", "end")
    covered_until = F.max("end").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    with_peers = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        rows.withColumn("begins", F.when(F.col("start") <= covered_until, 0).otherwise(1))
        .withColumn("island", F.sum("begins").over(with_peers))
        .drop("begins")
    )
