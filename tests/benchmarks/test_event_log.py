"""Where the time of an audit goes, from a log written by hand."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.event_log import UNNAMED, Work, profile


def job(stage: int, description: str | None) -> str:
    named = {} if description is None else {"spark.job.description": description}
    return json.dumps({"Event": "SparkListenerJobStart", "Properties": named, "Stage Infos": [{"Stage ID": stage}]})


def task(stage: int, **differing: Any) -> str:
    metrics = {
        "Executor Run Time": 2000,
        "Executor CPU Time": 1_500_000_000,
        "JVM GC Time": 100,
        "Disk Bytes Spilled": 7,
        "Input Metrics": {"Records Read": 10},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 300},
    }
    return json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Task Metrics": metrics | differing})


def test_tasks_count_for_the_stage_of_the_run_that_began_their_job() -> None:
    events = [
        json.dumps({"Event": "SparkListenerLogStart"}),
        job(1, "checking"),
        job(2, None),
        task(1),
        task(2),
        job(3, "checking"),
        task(3, **{"Executor Run Time": 500}),
        job(4, "Delta: checking: Filtering files for query"),
        job(1, "publishing"),  # names the stage again, which it found done
        task(4),
    ]
    found = profile(events)
    assert list(found) == ["checking", UNNAMED, "publishing"]
    assert found["checking"] == Work(2, 2, 2.5, 3.0, 0.2, 20, 600, 14)
    assert found[UNNAMED] == Work(2, 2, 4.0, 3.0, 0.2, 20, 600, 14)
    assert found["publishing"] == Work(jobs=1)


def test_a_task_that_was_lost_has_no_metrics() -> None:
    assert profile([job(1, "checking"), json.dumps({"Event": "SparkListenerTaskEnd", "Stage ID": 1})]) == {
        "checking": Work(jobs=1)
    }
