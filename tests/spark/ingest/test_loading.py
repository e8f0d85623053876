"""A recorder whose Spark lost its Java process loads again."""

import subprocess
import sys
from pathlib import Path
from shutil import copyfile

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables

RECORDING = Path(__file__).parents[2] / "data" / "hung_broker.jsonl.gz"
#: The session of the tests lives on: this is another process.
SCRIPT = """
import sys
from pathlib import Path
from pyspark import SparkContext
from spark_jobs.cli.loading import Loading
from spark_jobs.runtime.session import end_session

loads = Loading(sys.argv[1], Path(sys.argv[2]), 7 * 86400)
SparkContext._gateway.proc.kill()
for tries in range(4):
    loads.load(Path())
with loads:
    pass
loads.check()
end_session()
"""


@pytest.mark.slow
def test_loading_outlives_its_java_process(tmp_path: Path) -> None:
    recordings, warehouse = tmp_path / "recordings", tmp_path / "warehouse"
    recordings.mkdir()
    copyfile(RECORDING, recordings / RECORDING.name)
    command = [sys.executable, "-c", SCRIPT, str(warehouse), str(recordings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "no file was loaded in 3 tries: a new Spark session begins" in done.stderr
    assert [path.name for path in (recordings / "loaded").iterdir()] == [RECORDING.name]
    assert not list(recordings.glob("*.gz"))
    rows = DeltaTables(Location.parse(str(warehouse))).read(MEMBERSHIP_SNAPSHOTS, ("broker_name",), ())
    assert set(rows["broker_name"].to_pylist()) == {"broker-a", "broker-b"}
