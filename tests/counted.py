"""What Spark did during a part of a test: its jobs, its stages, and what it read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.counts import Counts, counts


@contextmanager
def counted(spark: SparkSession, folder: Path) -> Iterator[Callable[[], Counts]]:
    """Logs the events of the block into an empty folder; after the block, the function counts them.

    What other threads of the session do meanwhile counts, too.
    """
    context = spark._jsc.sc()
    jvm = spark._jvm
    assert jvm
    settings = context.conf().clone().set("spark.eventLog.compress", "false")
    settings.set("spark.eventLog.rolling.enabled", "false").set("spark.eventLog.overwrite", "true")
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "counted",
        jvm.scala.Option.empty(),
        jvm.java.net.URI(folder.as_uri()),
        settings,
        spark._jsc.hadoopConfiguration(),
    )
    context.listenerBus().waitUntilEmpty()  # of what was done before
    listener.start()
    context.addSparkListener(listener)
    try:
        yield lambda: counts((folder / "counted").read_text(encoding="utf-8").splitlines())
    finally:
        context.listenerBus().waitUntilEmpty()
        context.removeSparkListener(listener)
        listener.stop()
