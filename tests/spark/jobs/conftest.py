"""The warehouse that tests of several jobs share."""

import shutil
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS, REBALANCE_INTERVALS
from spark_jobs.config import Configuration
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.pipeline.gather import evaluated as evaluated_module
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load, membership
from tests.support.times import HOUR


@pytest.fixture(scope="session")
def twins_hour(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A full hour of the groups `g` and `other` on the one queue of topic `t`, audited: the twins of each own it twice,
    which is two findings. Tests must not change it.
    """
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("twins") / "warehouse"))
    times = range(0, 3600, 20)
    rows = healthy_group(times, "c1", "c1", queues=1)
    rows[MEMBERSHIP_SNAPSHOTS] += [membership(second, "d1", "d1", group="other") for second in times]
    load(spark, warehouse, rows)
    run(spark, warehouse, RunSpec(HOUR), Configuration())
    return warehouse


@pytest.fixture
def copied(twins_hour: Warehouse, warehouse: Warehouse) -> Warehouse:
    """The same, to be changed."""
    shutil.copytree(twins_hour.location, warehouse.location)
    return warehouse


@pytest.fixture
def broken_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Arrow function gives the intervals of the group `g` a trigger that nobody knows."""
    really = evaluated_module._evaluated

    def broken(*given: Any, **named: Any) -> pa.Table:
        def rows_with_wrong_triggers(steps: Sequence[EvaluatedStep], topic: str | None = None) -> dict[str, pa.Table]:
            written = tables(steps, topic)
            intervals = written[REBALANCE_INTERVALS.name]
            rows = [
                row | {"trigger_type": "SHOUTED"} if row["consumer_group"] == "g" else row
                for row in intervals.to_pylist()
            ]
            return {**written, REBALANCE_INTERVALS.name: pa.Table.from_pylist(rows, intervals.schema)}

        # Of the function's own copy, which the worker was given.
        really.__globals__["tables"] = rows_with_wrong_triggers
        return really(*given, **named)

    monkeypatch.setattr(evaluated_module, "_evaluated", broken)
