"""Spark's work during a part of a test, from the events that it logs: its stages, and what it read."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"
_PLANS = (f"{_SQL}ExecutionStart", f"{_SQL}AdaptiveExecutionUpdate")
_LOG = "_delta_log"
#: How the plan of a command begins that writes.
_WRITE = "Execute "
#: How Spark describes what such commands start, and Delta's own reading. Threads run commands at once, so that Spark
#: takes what one of them starts for a part of another one, for a query of its own, or for a job of none: no action.
_STARTED = ("save at", "sql at", "Delta: ", "$anonfun$recordDelta")


@dataclass(frozen=True)
class Counts:
    """What a log has seen.

    `actions`: writes, and queries that ran a job, with all that they start in turn. `stages` that ran: one that was
    skipped is none. `scans`: by table, how often an action read its rows; a scan that Spark shares within an action is
    one.
    """

    actions: int
    stages: int
    scans: Mapping[str, int]


def counts(lines: Iterable[str]) -> Counts:
    """Of the lines of a log that is not compressed."""
    roots: dict[int, int] = {}
    plans: dict[int, Mapping[str, Any]] = {}
    writes, started = set[int](), set[int]()
    queries = set[int]()
    alone, stages = 0, 0
    for event in map(json.loads, lines):
        name = event["Event"]
        if name in _PLANS:
            query, root = event["executionId"], event.get("rootExecutionId")
            roots.setdefault(query, query if root is None else root)
            plans[query] = event["sparkPlanInfo"]
            if event["sparkPlanInfo"]["nodeName"].startswith(_WRITE):
                writes.add(query)
            if event.get("description", "").startswith(_STARTED):
                started.add(query)
        elif name == "SparkListenerJobStart" and event["Stage Infos"]:
            begun_by = event["Properties"].get("spark.sql.execution.id")
            if begun_by is not None:
                queries.add(int(begun_by))
            elif not event["Stage Infos"][0]["Stage Name"].startswith(_STARTED):
                alone += 1
        stages += name == "SparkListenerStageSubmitted"
    # A job may be told of before its query; one without a query is an action of its own.
    begun = {roots.get(query, query) for query in queries} - started
    scans = Counter(table for plan in plans.values() for table in _scanned(plan))
    return Counts(len(writes | begun) + alone, stages, dict(sorted(scans.items())))


def _scanned(plan: Mapping[str, Any]) -> Iterator[str]:
    """Names of the tables that are read for their rows, one per scan."""
    location = plan["metadata"].get("Location", "")
    if location and _LOG not in location:
        yield location.rstrip("]").rpartition("/")[2]
    for child in plan["children"]:
        yield from _scanned(child)


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
