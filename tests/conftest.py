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


#: What takes longest comes first, so that no process waits long for the other at the end.
_LONGEST_FIRST = ("test_cutting_law", "recording", "test_run", "test_mutations")


def _group(item: pytest.Item) -> str:
    folder, name = item.path.parent.name, item.path.stem
    return "recording" if folder == "recording" and name != "test_cutting_law" else name


def pytest_itemcollected(item: pytest.Item) -> None:
    """`make test` runs two processes: tests that share what takes long to make stay in one."""
    item.add_marker(pytest.mark.xdist_group(_group(item)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(_group(item), len(places)))
