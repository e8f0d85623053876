"""Spark's work during a part of a test, from the events that it logs: its jobs, its stages, and what it read."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Counts:
    """What a log has seen.

    `actions`: queries and writes that ran a job; one is all that they start in turn. `jobs` and `stages` that ran, one
    that was skipped is none; `log_stages` of them read Delta's logs. `scans`: by table, how often an action read its
    rows; a scan that Spark shares within an action is one.
    """

    actions: int
    jobs: int
    stages: int
    log_stages: int
    tasks: int
    scans: Mapping[str, int]


def counts(events: Iterable[str]) -> Counts:
    """Of the lines of a log that is not compressed."""
    seen = _Seen()
    for line in events:
        seen.add(json.loads(line))
    return seen.counts()


class _Seen:
    """`roots`: by query, the one that began it; `plans`: by query, its last; `begun_by`: per job, its query."""

    def __init__(self) -> None:
        self.roots: dict[int, int] = {}
        self.plans: dict[int, Mapping[str, Any]] = {}
        self.begun_by: list[int | None] = []
        self.log_stages: set[int] = set()
        self.tasks = 0
        self.stages: list[int] = []

    def add(self, event: Mapping[str, Any]) -> None:
        name = event["Event"]
        if name in _PLANS:
            query = event["executionId"]
            root = event.get("rootExecutionId")
            self.roots.setdefault(query, query if root is None else root)
            self.plans[query] = event["sparkPlanInfo"]
        elif name == "SparkListenerJobStart" and event["Stage Infos"]:
            self._add_job(event)
        elif name == "SparkListenerStageSubmitted":
            self.stages.append(event["Stage Info"]["Stage ID"])
        elif name == "SparkListenerTaskEnd":
            self.tasks += 1

    def _add_job(self, event: Mapping[str, Any]) -> None:
        query = event["Properties"].get("spark.sql.execution.id")
        self.begun_by.append(None if query is None else int(query))
        if (event["Properties"].get("spark.job.description") or "").startswith("Delta: "):
            self.log_stages.update(stage["Stage ID"] for stage in event["Stage Infos"])

    def counts(self) -> Counts:
        tables = Counter(table for plan in self.plans.values() for table in _scanned(plan))
        # A job may be told of before its query; one without a query is an action of its own.
        queries = {self.roots.get(query, query) for query in self.begun_by if query is not None}
        actions = len(queries) + self.begun_by.count(None)
        log_stages = sum(stage in self.log_stages for stage in self.stages)
        ran = actions, len(self.begun_by), len(self.stages), log_stages, self.tasks
        return Counts(*ran, dict(sorted(tables.items())))


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
