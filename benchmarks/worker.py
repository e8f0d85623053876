"""One measurement in a process of its own: the JSON file of a task in, its result as the last line out."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.actions import ACTIONS, Target, say
from benchmarks.fleet import Fleet
from benchmarks.snapshots import files, make
from spark_jobs.ingest.load import ingest
from spark_jobs.operate.demo import example_files
from spark_jobs.runtime.session import get_session
from spark_jobs.store.warehouse import Warehouse


def _measured(spark: SparkSession, task: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds per target and round, and what the action says of its parts, after a warm-up that does not count.

    The targets take turns: what slows the machine down for a while does not hit one of them only.
    """
    prepare = ACTIONS[task["action"]]
    prepare(spark, Target.of(task["warm_up"]))()
    work = [prepare(spark, Target.of(target)) for target in task["targets"]]
    seconds: list[list[float]] = [[] for _ in work]
    stages: list[list[Mapping[str, float]]] = [[] for _ in work]
    for turn in range(task["rounds"]):
        for number, act in enumerate(work):
            began = time.perf_counter()
            stages[number].append(act())
            seconds[number].append(time.perf_counter() - began)
            say(f"{task['targets'][number]['warehouse']}, round {turn + 1}: {seconds[number][-1]:.1f} s")
    return {"seconds": seconds, "stages": stages}


def perform(task: Mapping[str, Any]) -> dict[str, Any]:
    """`make` makes fleets and gives their files, `load` loads the recording; every other action gives its times and the
    size of the JVM's `heap`.
    """
    spark = get_session()
    if task["action"] == "load":
        ingest(spark, Warehouse.parse(task["warehouse"]), [example_files().recording])
        return {}
    if task["action"] == "make":
        made = {}
        for location, fleet in task["fleets"].items():
            warehouse = Warehouse.parse(location)
            make(spark, warehouse, Fleet(**fleet))
            made[location] = files(spark, warehouse)
        return made
    return _measured(spark, task) | {"heap": spark.conf.get("spark.driver.memory")}


if __name__ == "__main__":
    print(json.dumps(perform(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))), flush=True)
