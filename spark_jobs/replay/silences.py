"""Clients that did not answer when they were asked: what tells a member that expired from one that left."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.domain.moves import EXPIRED_BY, EXPIRES_AFTER
from spark_jobs.replay.clients import CLIENT, GROUP
from spark_jobs.replay.steps import StepWindow, duration, with_step


def silences(clients: DataFrame, window: StepWindow) -> DataFrame:
    """One row per (group, step) in which a client did not answer: `silences`, array<client_id, last_answer,
    first_silence, next_answer>.
    """
    silent = clients.where("NOT answered").select(*CLIENT).distinct()
    asked = clients.select(*CLIENT, "captured_at", "answered").join(F.broadcast(silent), on=list(CLIENT))
    per_client = Window.partitionBy(*CLIENT, "step_start").orderBy("captured_at")
    answer = F.when(F.col("answered"), F.col("captured_at"))
    before = F.last(answer, ignorenulls=True).over(per_client.rowsBetween(Window.unboundedPreceding, 0))
    after = F.first(answer, ignorenulls=True).over(per_client.rowsBetween(1, Window.unboundedFollowing))
    return (
        asked.transform(with_step(window))
        .withColumns({"last_answer": before, "next_answer": after})
        .where("NOT answered AND last_answer IS NOT NULL")
        .groupBy(*CLIENT, "step_start", "last_answer")
        .agg(F.min("captured_at").alias("first_silence"), F.first("next_answer").alias("next_answer"))
        .groupBy(*GROUP, "step_start")
        .agg(F.collect_list(F.struct("client_id", "last_answer", "first_silence", "next_answer")).alias("silences"))
    )


def expired(cadence: timedelta) -> Column:
    """The client ids that have expired, if they are gone where this interval starts (`domain.moves.has_expired`)."""
    left_at = F.col("start")

    def has_expired(one: Column) -> Column:
        throughout = (one["first_silence"] < left_at) & F.coalesce(one["next_answer"] >= left_at, F.lit(True))
        silent_for = left_at - one["last_answer"]
        return throughout & silent_for.between(duration(EXPIRES_AFTER), duration(EXPIRED_BY + cadence))

    ids = F.transform(F.filter("silences", has_expired), lambda one: one["client_id"])
    return F.coalesce(ids, F.array().cast("array<string>"))
