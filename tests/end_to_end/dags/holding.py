"""Given to a pytest of its own by test_processes.py: holds an Airflow whose Spark is at work, until it is ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from schemas import SOURCES
from tests.end_to_end.dags.conftest import Airflow
from tests.end_to_end.dags.running import running, spark_of, until
from tests.support.stored import write


@pytest.mark.airflow
def test_holds(airflow: Airflow, tmp_path: Path) -> None:
    for table in SOURCES:
        write(tmp_path, table, [])
    with running(airflow) as found:
        found.set_variables({"warehouse": str(tmp_path), "grace_minutes": str(100 * 24 * 60)})
        found.connect_spark("local[2]")
        found.unpause()
        found.trigger("by_hand", "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z")
        until(lambda: spark_of("by_hand", "audit"))
        Path(os.environ["HOLDS"]).touch()
        signal.pause()
