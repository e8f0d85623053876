"""Counts of an audit: in a log written by hand, and in a session."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.store.warehouse import Warehouse
from tests.support.counted import Counts, counted, counts
from tests.support.snapshots import load, membership

SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"


def node(*children: Any, location: str | None = None, name: str = "node") -> dict[str, Any]:
    metadata = {} if location is None else {"Location": f"PreparedDeltaFileIndex(1 paths)[file:/tmp/{location}]"}
    return {"nodeName": name, "metadata": metadata, "children": list(children)}


def started(query: int, root: int, plan: dict[str, Any], description: str = "collect at a.py:1") -> dict[str, Any]:
    ids = {"executionId": query, "rootExecutionId": root}
    return {"Event": f"{SQL}ExecutionStart", **ids, "sparkPlanInfo": plan, "description": description}


def job(query: int | None, *stages: int, name: str = "collect at a.py:1") -> dict[str, Any]:
    properties = {} if query is None else {"spark.sql.execution.id": str(query)}
    infos = [{"Stage ID": stage, "Stage Name": name} for stage in stages]
    return {"Event": "SparkListenerJobStart", "Properties": properties, "Stage Infos": infos}


def submitted(stage: int) -> dict[str, Any]:
    return {"Event": "SparkListenerStageSubmitted", "Stage Info": {"Stage ID": stage}}


def test_an_action_is_one_with_all_that_it_starts() -> None:
    events = [
        started(0, 0, node(node(location="w/offset_snapshots"), node(location="w/offset_snapshots"))),
        started(1, 0, node(node(location="w/offset_snapshots/_delta_log/0.json"))),
        job(1, 0),
        submitted(0),
        job(0, 1),
        submitted(1),
        {
            "Event": f"{SQL}AdaptiveExecutionUpdate",
            "executionId": 0,
            "sparkPlanInfo": node(location="w/offset_snapshots"),
        },
        job(0, 1, 2),  # the first is there already
        submitted(2),
        started(2, 2, node(node(location="w/route_snapshots"))),
        job(2, 3),
        submitted(3),
        started(4, 4, node()),  # without a job: a command that reads nothing
        job(None, 4),
        submitted(4),
        job(None),  # nothing to be done
        {"Event": "SparkListenerTaskEnd", "Stage ID": 4},
    ]
    scans = {"offset_snapshots": 1, "route_snapshots": 1}
    assert counts(map(json.dumps, events)) == Counts(actions=3, stages=5, scans=scans)


def test_writes_at_once_are_an_action_each_whatever_spark_takes_for_their_parts() -> None:
    write, saved = node(name="Execute SaveIntoDataSourceCommand"), "save at Writer.java:0"
    events = [
        started(0, 0, node(name="CreateTable"), "sql at Session.java:0"),
        started(1, 1, node(), "$anonfun$recordDeltaOperation"),
        job(1, 0),
        started(2, 0, write, saved),
        started(3, 2, write, saved),
        started(4, 2, node(location="w/findings"), saved),
        job(4, 1),
        started(5, 5, node(location="w/coverage"), saved),
        job(5, 2),
        job(None, 4, name=saved),
        started(6, 6, node(), "toArrow at rows.py:1"),
        job(6, 3),
    ]
    assert counts(map(json.dumps, events)).actions == 3


def test_in_a_session_what_lies_outside_the_block_does_not_count(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    (tmp_path / "events").mkdir()
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(0, "c1")]})
    rows = warehouse.read(spark, MEMBERSHIP_SNAPSHOTS)
    rows.collect()
    with counted(spark, tmp_path / "events") as found:
        rows.select("captured_at").union(rows.select("captured_at").where("broker_name IS NOT NULL")).collect()
        spark.sparkContext.parallelize([1, 2], 2).count()
    rows.collect()
    told = found()
    assert (told.actions, told.scans) == (2, {"membership_snapshots": 2})
    assert told.stages >= 2
