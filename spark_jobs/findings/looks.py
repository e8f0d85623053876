"""What clients say of themselves, look by look, compressed to its changes: the ground of the rules that need it.

One look is never enough: `seen_twice` keeps what two successive looks show.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config import Configuration
from spark_jobs.config.model import Thresholds
from spark_jobs.domain.clients import ThrottleCause
from spark_jobs.replay.clients import CLIENT
from spark_jobs.replay.spans import spans
from spark_jobs.replay.steps import StepWindow, Transformation

_PLACE = ("topic", "broker_name", "queue_id")
RESPONSE_TIMES = ("consume_rt_ms", "pull_rt_ms")


def client_looks(
    clients: DataFrame, window: StepWindow, configuration: Configuration, keep: Transformation
) -> DataFrame:
    """One row per (client, step, span in which it said the same): `start`, `end`, `seen_at`, `state`.

    `state`: answered; topics it subscribes; owned, its queues that are not dropped (null: it did not say); stale,
    unlocked and throttled, those of them with that trouble; busy, its threads if they are nearly all busy. All but
    the first four are empty or null for a client in health, so its span does not end.
    """
    state = look_state(configuration.thresholds)
    return spans(clients, CLIENT, state, window, configuration.max_gap, keep)


def look_state(thresholds: Thresholds) -> Column:
    """The `state` of a look (see `client_looks`), from a row of `client_snapshots`."""
    live = F.filter("owned_queues", lambda queue: ~F.coalesce(queue["dropped"], F.lit(False)))
    seen_at = F.unix_millis("captured_at")

    def with_trouble(trouble: Column) -> Column:
        return F.transform(trouble, _place)

    throttled = F.filter(
        F.transform(live, lambda queue: _throttled(queue, thresholds)), lambda queue: queue["cause"].isNotNull()
    )
    return F.struct(
        "answered",
        # Fingerprints do not tell a null from an empty array.
        F.col("owned_queues").isNotNull().alias("knows_queues"),
        F.sort_array(F.array_distinct("subscriptions.topic")).alias("topics"),
        F.sort_array(F.transform(live, _place)).alias("owned"),
        with_trouble(F.filter(live, lambda q: is_stale(q, seen_at, thresholds))).alias("stale"),
        with_trouble(F.filter(live, lacks_lock)).alias("unlocked"),
        throttled.alias("throttled"),
        F.when(is_saturated(thresholds), _busy()).alias("busy"),
    )


def symptoms(looks: DataFrame, name: str) -> DataFrame:
    """One row per (client, step, span, queue with this trouble), shown by two successive looks at least."""
    each = looks.select(*CLIENT, "step_start", "start", "end", "seen_at", F.inline(f"state.{name}"))
    return each.transform(lambda rows: seen_twice(rows, _PLACE))


def seen_twice(rows: DataFrame, key: tuple[str, ...] = ()) -> DataFrame:
    """The rows (client, step, key, span) that a second look confirms: in the span, or in one right beside it."""
    per_key = Window.partitionBy(*CLIENT, "step_start", *key).orderBy("start")
    beside = (F.lag("end").over(per_key) == F.col("start")) | (F.lead("start").over(per_key) == F.col("end"))
    is_second = (F.col("seen_at") > F.col("start")) | F.coalesce(beside, F.lit(False))
    return rows.withColumn("is_second", is_second).where("is_second").drop("is_second")


def is_stale(queue: Column, seen_at: Column, thresholds: Thresholds) -> Column:
    """Whether the client stopped pulling the queue; its plain twin is `clients.is_stale`. Clocks are taken to agree."""
    age = seen_at - F.nullif(queue["last_pull"], F.lit(0))
    return F.coalesce(age > thresholds.pull_idle_seconds * 1000, F.lit(False))


def lacks_lock(queue: Column) -> Column:
    """Whether an orderly consumer owns the queue without the broker's lock; its plain twin is `clients.lacks_lock`."""
    needs_lock = F.col("consume_orderly") & (F.col("message_model") == "CLUSTERING")
    return F.coalesce(needs_lock & ~queue["locked"], F.lit(False))


def throttle_cause(queue: Column, thresholds: Thresholds) -> Column:
    """Which limit the queue has reached, null if none or unknown; its plain twin is `clients.throttle_cause`."""
    return (
        F.when(queue["cached_count"] > thresholds.cached_messages, ThrottleCause.CACHED_MESSAGES.value)
        .when(queue["cached_mib"] > thresholds.cached_mib, ThrottleCause.CACHED_SIZE.value)
        .when(~F.col("consume_orderly") & (_span(queue) > thresholds.cached_span), ThrottleCause.CACHED_SPAN.value)
    )


def busy_threads() -> Column:
    """Threads that the client's messages keep busy, null if unknown; its plain twin is `clients.busy_threads`."""
    return F.aggregate("consume_status", F.lit(0.0), lambda total, status: total + _busy_with(status))


def is_saturated(thresholds: Thresholds) -> Column:
    """Whether nearly all of the client's threads are busy; its plain twin is `clients.is_saturated`."""
    enough = busy_threads() * 100 >= F.col("consume_threads") * thresholds.busy_percent
    return F.coalesce((F.col("consume_threads") > 0) & enough, F.lit(False))


def _busy_with(status: Column) -> Column:
    consumed, pulled = status["consume_ok_tps"] + status["consume_failed_tps"], status["pull_tps"]
    # Not `greatest`: it skips nulls, and would make a part of the unknown the whole.
    rate = F.when(consumed >= pulled, consumed).when(consumed < pulled, pulled)
    return status["consume_rt_ms"] * rate / 1000


def _busy() -> Column:
    """struct<busy_threads, consume_threads, consume_rt_ms, pull_rt_ms>: the response times of the busiest topic."""
    busiest = F.array_max(
        F.transform(
            "consume_status", lambda s: F.struct(_busy_with(s), *(s[name].alias(name) for name in RESPONSE_TIMES))
        )
    )
    measured = (busiest[name].alias(name) for name in RESPONSE_TIMES)
    return F.struct(busy_threads().alias("busy_threads"), "consume_threads", *measured)


def _throttled(queue: Column, thresholds: Thresholds) -> Column:
    return F.struct(
        *(queue[name].alias(name) for name in (*_PLACE, "cached_count", "cached_mib")),
        _span(queue).alias("cached_span"),
        throttle_cause(queue, thresholds).alias("cause"),
    )


def _span(queue: Column) -> Column:
    return queue["cached_max_offset"] - queue["cached_min_offset"]


def _place(queue: Column) -> Column:
    return F.struct(*(queue[name].alias(name) for name in _PLACE))
