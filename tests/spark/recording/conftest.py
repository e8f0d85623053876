"""The recording, loaded and audited once for all tests of this folder."""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.ingest.load import ingest
from spark_jobs.pipeline.run import RunRecord, RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.support.counted import Counts, counted

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "recording.jsonl.gz"
#: RECORDING names another file of the same form; CONFIGURATION then says what its snapshots cannot tell.
RECORDING = Path(os.environ.get("RECORDING", EXAMPLE))
CONFIGURATION = Path(os.environ.get("CONFIGURATION", ROOT / "examples" / "demo.yaml"))


@dataclass(frozen=True)
class Audited:
    """A warehouse, and what one run over the whole recording published in it; `cost`: what Spark did for it."""

    warehouse: Warehouse
    configuration: Configuration
    interval: Interval
    result: RunRecord
    cost: Counts

    def rows(self, spark: SparkSession, table: Table) -> list[dict[str, Any]]:
        """All rows of a table as dicts."""
        return [row.asDict(recursive=True) for row in self.warehouse.read(spark, table).collect()]


@pytest.fixture(scope="session")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The recording in source tables; tests must not change them."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("recording") / "warehouse"))
    ingest(spark, warehouse, [RECORDING])
    return warehouse


@pytest.fixture(scope="session")
def audited(spark: SparkSession, recorded: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The hours of the recording, audited in one run."""
    configuration = load(CONFIGURATION)
    interval = hours_of(spark, recorded, configuration)
    with counted(spark, tmp_path_factory.mktemp("events")) as cost:
        result = run(spark, recorded, RunSpec(interval), configuration)
    return Audited(recorded, configuration, interval, result, cost())


def hours_of(spark: SparkSession, warehouse: Warehouse, configuration: Configuration) -> Interval:
    """The whole steps that hold every snapshot of the warehouse."""
    bounds = []
    for table in SOURCES:
        row = warehouse.read(spark, table).agg(F.min("captured_at"), F.max("captured_at")).head()
        assert row is not None
        bounds += [moment.astimezone() for moment in row if isinstance(moment, datetime)]
    floor = configuration.grid.floor
    return Interval(floor(min(bounds)), floor(max(bounds)) + timedelta(seconds=configuration.step_seconds))
