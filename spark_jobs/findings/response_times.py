"""Response times as clients measured them, beside what was usual before the step."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config.model import Thresholds
from spark_jobs.findings.looks import RESPONSE_TIMES, seen_twice
from spark_jobs.replay.clients import CLIENT
from spark_jobs.replay.steps import StepWindow, duration, with_step

_CLIENT = (*CLIENT, "step_start")


def slowed_listeners(clients: DataFrame, window: StepWindow, max_gap: timedelta, thresholds: Thresholds) -> DataFrame:
    """The `response_times` that show a slower listener (`is_slowed`), in two successive looks at least."""
    looks = response_times(clients, window, max_gap)
    return seen_twice(looks.where(is_slowed(thresholds)), ("topic",))


def response_times(clients: DataFrame, window: StepWindow, max_gap: timedelta) -> DataFrame:
    """One row per (client, topic it consumed messages of, step, look in the step or its warm-up): `start`, `end`,
    `seen_at`, `RESPONSE_TIMES`, and what was usual (`with_usual`).

    A look holds until the next one of its client, answered or not, but no longer than `max_gap`. A client that
    consumed nothing repeats an older response time (ConsumerStatsManager.getConsumeRT), so that is unknown.
    """
    per_client = Window.partitionBy(*_CLIENT).orderBy("captured_at")
    seen_at = F.col("captured_at")
    return (
        clients.select(*CLIENT, "captured_at", "consume_status")
        .transform(with_step(window))
        .withColumn("start", F.greatest(seen_at, window.observed_from))
        .withColumn("end", F.least(F.lead(seen_at).over(per_client), seen_at + duration(max_gap), window.step_end))
        .select(*_CLIENT, "start", "end", seen_at.alias("seen_at"), F.inline("consume_status"))
        .where(F.col("consume_ok_tps") + F.col("consume_failed_tps") > 0)
        .transform(with_usual)
        .where("start < end")
    )


def with_usual(looks: DataFrame) -> DataFrame:
    """Adds `usual_<name>` for each of `RESPONSE_TIMES` to the looks (client, topic, step, `seen_at`): the median of
    those before the step, null where there is none.

    What began shortly before the step, too late for the step before, does not move a median.
    """
    per_topic = Window.partitionBy(*_CLIENT, "topic")
    before = F.col("seen_at") < F.col("step_start")
    return looks.withColumns(
        {f"usual_{name}": F.median(F.when(before, F.col(name))).over(per_topic) for name in RESPONSE_TIMES}
    )


def is_slowed(thresholds: Thresholds) -> Column:
    """Whether consume RT rose and pull RT did not, null if unknown; its plain twin is `clients.listener_slowed`."""

    def rose(name: str) -> Column:
        now, usual = F.col(name), F.col(f"usual_{name}")
        return (now >= thresholds.slow_rt_ms) & (now >= usual * thresholds.rt_rise_ratio)

    return rose("consume_rt_ms") & ~rose("pull_rt_ms")
