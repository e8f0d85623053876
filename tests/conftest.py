"""One Spark session for the whole suite, and a fresh warehouse per test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.session import get_session
from spark_jobs.warehouse import Warehouse


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = get_session()
    yield session
    session.stop()


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse.parse(str(tmp_path / "warehouse"))
