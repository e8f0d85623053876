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


#: Folders whose files share an audit, and so a process; every other file is on its own.
_TOGETHER = ("recording", "jobs", "histories")
#: What takes longest comes first, so that no process waits long for the other at the end.
_LONGEST_FIRST = (*_TOGETHER, "test_mutations", "test_false_alarms", "test_malformed", "test_ingest_job")


@pytest.hookimpl(tryfirst=True)  # before xdist looks for the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` runs two processes, which take one folder or file after the other."""
    places = {name: place for place, name in enumerate(_LONGEST_FIRST)}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_unit(item)))
    items.sort(key=lambda item: places.get(_unit(item), len(places)))


def _unit(item: pytest.Item) -> str:
    folder = item.path.parent.name
    return folder if folder in _TOGETHER else item.path.stem
