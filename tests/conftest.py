"""One Spark session for the whole suite, and a fresh warehouse per test that asks for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from spark_jobs.runtime.session import SMALL_SETTINGS, get_session
from spark_jobs.store.warehouse import Warehouse
from tests.support.browser import NO_BROWSER
from tests.support.commands import typed
from tests.support.opened import browser, open_page

__all__ = ["browser", "open_page", "typed"]

#: For every Java that a test starts, in whichever process, as it lives for minutes only: the quick compiler alone takes
#: a third less CPU. Without the last option what it has compiled would not fit after some minutes, and Java would go on
#: without a compiler.
os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
#: Recordings of the tests get older: `maintain` deletes nothing of them.
os.environ["REBALANCE_AUDIT_KEEP_RESULTS"] = "forever"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """With the settings of small work; `test_run.py` sees that what is compiled publishes the same."""
    session = get_session()
    for name, value in SMALL_SETTINGS.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse.parse(str(tmp_path / "warehouse"))


@pytest.fixture(scope="session")
def example_warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The recording of the project, audited by the kernel alone; tests must not change it."""
    from tests.spark.recording.conftest import EXAMPLE
    from tests.support.kernel import recorded_rows
    from tests.support.look import rows_into
    from tests.support.recordings import HOUR

    folder = tmp_path_factory.mktemp("example")
    rows_into(folder, HOUR, 20, recorded_rows(EXAMPLE))
    return str(folder)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Says last, where there is no browser, how to get one."""
    yield
    skipped = [one for one in terminalreporter.stats.get("skipped", []) if NO_BROWSER in str(one.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests of pages were skipped, as they need a browser. To run them:")
        terminalreporter.write_line("  apt-get install chromium")


#: Folders whose files share an audit, and so a process; every other file is on its own.
_TOGETHER = ("spark/recording", "spark/jobs", "conformance/recording", "conformance/histories")
#: What takes longest comes first, so that no process waits long for the other at the end.
_LONGEST_FIRST = ("jobs", "recording", "test_ingest_job", "test_borrowed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The units of `pytest_xdist_make_scheduler` in the order in which they are given out."""
    places = {name: place for place, name in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: places.get(Path(_unit(item.path)).stem, len(places)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByUnit:
    """`make test` runs two processes, which take one folder or file after the other."""
    return _ByUnit(config, log)


class _ByUnit(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return _unit(Path(nodeid.partition("::")[0]))


def _unit(file: Path) -> str:
    folder = "/".join(file.parent.parts[-2:])
    return folder if folder in _TOGETHER else str(file)
