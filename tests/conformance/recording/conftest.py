"""The recording of the project as an audit of its hour publishes it, by the kernel alone: no Spark."""

import pytest

from schemas import OUTPUTS
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from tests.spark.recording.conftest import EXAMPLE
from tests.support.kernel import recorded_rows
from tests.support.recordings import Published, audited, write_warehouse
from tests.support.stored import write


@pytest.fixture(scope="session")
def hourly() -> Published:
    return audited(3600, wanted=OUTPUTS)


@pytest.fixture(scope="session")
def tables(hourly: Published, tmp_path_factory: pytest.TempPathFactory) -> DeltaTables:
    """The source tables, too; tests must not change them."""
    folder = tmp_path_factory.mktemp("recording")
    for table, snapshots in recorded_rows(EXAMPLE).items():
        write(folder, table, snapshots)
    write_warehouse(folder, hourly, 3600)
    return DeltaTables(Location.parse(str(folder)))
