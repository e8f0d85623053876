"""SIGKILL to Python alone, while its Java commits: the next run begins when that Java has ended."""

import shutil
import threading
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from schemas import OUTPUTS
from spark_jobs.config import Configuration
from spark_jobs.errors import PublishConflictError
from spark_jobs.pipeline.publish import claim_files
from spark_jobs.pipeline.publish.claims import claim, claims_of
from spark_jobs.pipeline.publish.turns import undo_unfinished
from spark_jobs.pipeline.run import RunRecord, RunSpec, run
from spark_jobs.store.delta_log import LocalLog, user_metadata
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.killing import Started, started
from tests.support.snapshots import healthy_group, load
from tests.support.times import HOUR

#: Seconds in which a run that does not wait has its claims.
WAITS = 8.0


def commits(warehouse: Warehouse) -> dict[str, list[str | None]]:
    """Of every output table the runs that committed to it, in order; None where it was made."""
    assert warehouse.local_path is not None
    logs = {table.name: LocalLog(warehouse.local_path / table.name) for table in OUTPUTS}
    return {
        name: [user_metadata(log.commit(version) or "") for version in range(log.version() + 1)]
        for name, log in logs.items()
    }


def suspend_java(process: Started, killed: Warehouse, before: dict[str, list[str | None]]) -> psutil.Process:
    """Its Java, stopped while it publishes: the first table of the run has a commit."""
    (java,) = (one for one in process.family() if one.name() == "java")
    until = time.monotonic() + 300
    while commits(killed) == before:
        assert process.process.poll() is None, process.said()
        assert time.monotonic() < until
        time.sleep(0.002)
    java.suspend()
    return java


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_no_run_begins_while_the_java_of_a_killed_one_may_commit(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    spec = RunSpec(HOUR)
    load(spark, warehouse, healthy_group(range(0, 3600, 20), "a", "a", "b"))
    shutil.copytree(warehouse.location, tmp_path / "killed")
    expected = run(spark, warehouse, spec, Configuration())
    killed, records = Warehouse.parse(str(tmp_path / "killed")), list[RunRecord]()
    before = commits(killed)
    arguments = ["run", "--warehouse", killed.location, "--interval", str(HOUR), "--scale", "small"]
    with started(arguments, tmp_path) as process:
        process.wait_for("publishing")
        java = suspend_java(process, killed, before)
        claims = claims_of(killed)
        assert claims is not None
        held = claims.active()
        assert sorted(name.partition("-")[0] for name in held) == ["run", "turn"]
        process.process.kill()
        process.process.wait()
        next_run = threading.Thread(target=lambda: records.append(run(spark, killed, spec, Configuration())))
        next_run.start()
        next_run.join(WAITS)
        assert (records, claims.active()) == ([], held)
        java.resume()
        next_run.join(120)
        assert not java.is_running()
    (record,) = records
    assert record.run["content_hashes"] == expected.run["content_hashes"]
    for name, runs in commits(killed).items():
        of_runs = runs[len(before[name]) :]
        assert record.run["run_id"] in of_runs, name
        assert of_runs[of_runs.index(record.run["run_id"]) :] == [record.run["run_id"]], f"{name}: it is the last one"
    undo_unfinished(spark, killed)
    assert [path.name for path in Path(killed.location, "_claims").iterdir()] == ["all.lock"]


def test_java_that_does_not_end_holds_its_claims_further_on(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_files, "_JAVA_ENDS", 0.2)
    folder, spec = Path(warehouse.location, "_claims"), RunSpec(HOUR)
    folder.mkdir(parents=True)
    (folder / "run-killed.1.json").write_text(spec.as_json(), encoding="utf-8")
    with (
        claim_files._locked_by_java(folder / "run-killed.1.java"),
        pytest.raises(PublishConflictError, match="run killed is auditing"),
        claim(warehouse, spec, "next"),
    ):
        pass
    with claim(warehouse, spec, "next") as held:
        files = {path.name for path in folder.iterdir()}
        assert files == {"all.lock", f"{held.name}.json", f"{held.name}.java"}
