"""One Spark session for the whole suite, and a fresh warehouse per test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.session import get_session
from spark_jobs.warehouse import Warehouse
from tests.opened import browser, open_page

__all__ = ["browser", "open_page"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = get_session()
    yield session
    session.stop()


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse.parse(str(tmp_path / "warehouse"))


#: What takes longest comes first, so that no process waits long for the other at the end.
_LONGEST_FIRST = (
    "test_cutting_law",
    "test_timeline",
    "test_truth",
    "test_quality",
    "test_backfill",
    "test_run",
    "test_mutations",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` runs two processes, which take one file after the other."""
    places = {name: place for place, name in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
