"""Auditing the recording in one run, step by step, backwards, in parallel, twice, or after a kill: one content."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import OUTPUTS
from spark_jobs.domain.intervals import Interval
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.publish.content import Content, content
from spark_jobs.warehouse import Warehouse
from tests.recording.conftest import CONFIGURATION, EXAMPLE, RECORDING

pytestmark = pytest.mark.skipif(RECORDING != EXAMPLE, reason="the steps are those of the recording of the project")

WHOLE = Interval.parse("2026-11-21T02:00/2026-11-21T02:30")
STEP = "step_seconds: 300\n"
Contents = dict[str, Content]


@pytest.fixture(scope="module")
def configuration_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("configuration") / "five-minutes.yaml"
    path.write_text(STEP + CONFIGURATION.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def copy_of(recorded: Warehouse, folder: Path) -> Warehouse:
    assert recorded.local_path is not None
    sources = shutil.ignore_patterns(*(table.name for table in OUTPUTS), "audit_runs", "_*ing", "_claims")
    shutil.copytree(recorded.local_path, folder, ignore=sources)
    return Warehouse.parse(str(folder))


def contents(spark: SparkSession, warehouse: Warehouse) -> Contents:
    return {table.name: content(warehouse.read(spark, table)) for table in OUTPUTS}


def audit(spark: SparkSession, warehouse: Warehouse, configuration_file: Path, intervals: Iterable[Interval]) -> Contents:
    from spark_jobs.config import load

    for interval in intervals:
        run(spark, warehouse, RunRequest(interval), load(configuration_file))
    return contents(spark, warehouse)


def steps() -> list[Interval]:
    from datetime import timedelta

    from spark_jobs.domain.intervals import StepGrid

    return list(StepGrid(timedelta(minutes=5)).steps(WHOLE))
