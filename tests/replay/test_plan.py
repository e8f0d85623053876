"""What the replay costs, as its plans show: no Python, no quadratic join, and arrays stay where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.progress.queue_progress import queue_progress
from spark_jobs.replay.history import Changes, changes, rebalance_intervals
from spark_jobs.replay.settings import group_settings
from spark_jobs.replay.sources import Sources
from spark_jobs.replay.states import replayed_states
from spark_jobs.replay.steps import StepWindow
from tests.replay.configured import CONFIGURATION, STEP
from tests.replay.random_fleets import RUN, random_fleet
from tests.replay.timelines import sources

WINDOW = StepWindow(RUN, STEP, CONFIGURATION.warm_up, CONFIGURATION.look_back)
#: Whatever runs Python, and joins that compare every row with every row.
_FORBIDDEN = re.compile("Python|Pandas|Arrow|CartesianProduct|BroadcastNestedLoopJoin")


@pytest.fixture
def stored(spark: SparkSession, tmp_path: Path) -> Iterator[Sources]:
    """The sources as files, in a session whose plans are final before they run."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    made = sources(spark, [random_fleet(1)])
    frames = []
    for field in fields(made):
        getattr(made, field.name).write.parquet(str(tmp_path / field.name))
        frames.append(spark.read.parquet(str(tmp_path / field.name)))
    yield Sources(*frames)
    spark.conf.set("spark.sql.adaptive.enabled", "true")


def nodes(frame: DataFrame) -> list[Any]:
    """Every node of the executed plan, parents first."""

    def below(node: Any) -> Iterator[Any]:
        yield node
        for child in children(node):
            yield from below(child)

    return list(below(frame._jdf.queryExecution().executedPlan()))


def node_name(node: Any) -> str:
    return str(node.nodeName())


def children(node: Any) -> list[Any]:
    return [node.children().apply(index) for index in range(node.children().size())]


def all_changes(stored: Sources) -> Changes:
    return changes(stored, WINDOW, CONFIGURATION.max_gap, keep=lambda frame: frame)


def plans(spark: SparkSession, stored: Sources) -> dict[str, DataFrame]:
    """The stages of a run; each starts from what the one before it leaves, here without rows."""

    def left(frame: DataFrame) -> DataFrame:
        return spark.createDataFrame([], frame.schema)

    found = all_changes(stored)
    kept = Changes(left(found.memberships), left(found.routes), left(found.clients), left(found.offset_topics))
    intervals = rebalance_intervals(
        kept, WINDOW, CONFIGURATION.cadence, group_settings(CONFIGURATION), keep=lambda frame: frame
    )
    return {
        "memberships": found.memberships,
        "routes": found.routes,
        "clients": found.clients,
        "offset topics": found.offset_topics,
        "intervals": intervals,
        "states": replayed_states(left(intervals)),
        "progress": queue_progress(
            left(intervals), left(replayed_states(left(intervals))), stored.offsets, WINDOW, allowed_lag=0
        ),
    }


def test_no_python_and_no_join_of_all_with_all(spark: SparkSession, stored: Sources) -> None:
    for name, frame in plans(spark, stored).items():
        used = {node_name(node) for node in nodes(frame)}
        assert not {one for one in used if _FORBIDDEN.search(one)}, name


def test_what_is_shuffled_to_find_the_changes_carries_no_array(stored: Sources) -> None:
    """The windows over a key's snapshots are fed by an exchange of key, step, time and fingerprint."""
    found = all_changes(stored)
    scalars = {"cluster": "string", "captured_at": "timestamp", "step_start": "timestamp", "fingerprint": "bigint"}
    for frame, key in (
        (found.memberships, {"consumer_group": "string", "broker_name": "string"}),
        (found.routes, {"topic": "string"}),
    ):
        windows = [node for node in nodes(frame) if node_name(node) == "Window"]
        assert windows
        for window in windows:
            assert dict(exchanged(window)) == scalars | key


def exchanged(window: Any) -> list[tuple[str, str]]:
    """(name, type) of the columns of the exchange below a window."""
    node = window
    while not node_name(node).endswith("Exchange"):  # a ReusedExchange, too
        (node,) = children(node)
    schema = node.schema().fields()
    return [(field.name(), field.dataType().catalogString()) for field in schema]
