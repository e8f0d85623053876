"""Files are loaded as they are closed; others are tried again, in another session, until the recording ends."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.cli import loading
from spark_jobs.cli.loading import Loading
from spark_jobs.errors import NotLoadedError, PublishConflictError

WEEK = 7 * 86400


class Spark:
    """Spark in which files can be loaded or not. `sessions`: how many began; `tried`: (session, file) of each try."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sessions, self.tried = 0, list[tuple[int, str]]()
        #: Raises what loading the file raises.
        self.before: Any = lambda session, name: None
        monkeypatch.setattr(loading, "start_spark", self._start)
        monkeypatch.setattr(loading, "end_session", lambda: None)
        monkeypatch.setattr(loading, "ingest", self._ingest)

    def _start(self, _say: object) -> int:
        self.sessions += 1
        return self.sessions

    def _ingest(self, session: int, _warehouse: object, files: list[Path]) -> None:
        (file,) = files
        self.tried.append((session, file.name))
        self.before(session, file.name)


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    return Spark(monkeypatch)


def begun(folder: Path) -> Loading:
    return Loading(str(folder / "warehouse"), folder, WEEK)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jsonl.gz"))


def closed(loads: Loading, *files: Path) -> None:
    """Close the files, each after the pass of the one before has ended."""
    for file in files:
        file.touch()
        loads.load(file)
        loads._thread.submit(lambda: None).result()


def test_files_are_loaded_in_order_moved_and_retried(tmp_path: Path, spark: Spark) -> None:
    def conflict_once(_session: int, name: str) -> None:
        if name == "2.jsonl.gz" and [file for _, file in spark.tried].count(name) == 1:
            raise PublishConflictError("other writers leave no gap")

    spark.before = conflict_once
    for name in ("2.jsonl.gz", "1.jsonl.gz", "3.jsonl.gz.partial"):
        (tmp_path / name).touch()
    with begun(tmp_path) as loads:
        (tmp_path / "3.jsonl.gz.partial").rename(tmp_path / "3.jsonl.gz")
        loads.load(tmp_path / "3.jsonl.gz")
    tried = [name for _, name in spark.tried]
    assert tried[:2] == ["1.jsonl.gz", "2.jsonl.gz"]
    assert sorted(set(tried)) == ["1.jsonl.gz", "2.jsonl.gz", "3.jsonl.gz"]
    assert tried.count("2.jsonl.gz") == 2
    assert names(tmp_path / "loaded") == ["1.jsonl.gz", "2.jsonl.gz", "3.jsonl.gz"]
    assert names(tmp_path) == []


@pytest.mark.slow
def test_another_session_loads_what_the_first_one_could_not(tmp_path: Path, spark: Spark) -> None:
    def first_is_gone(session: int, _name: str) -> None:
        if session == 1:
            raise ConnectionRefusedError("Connection refused")

    spark.before = first_is_gone
    loads = begun(tmp_path)
    closed(loads, *(tmp_path / f"{number}.jsonl.gz" for number in range(4)))
    loads.check()
    assert spark.sessions == 2
    assert [session for session, _ in spark.tried] == [1] * (1 + 2 + 3) + [2] * 4
    assert names(tmp_path / "loaded") == [f"{number}.jsonl.gz" for number in range(4)]


def test_loading_that_never_works_ends_the_recording_with_exit_code_4(tmp_path: Path, spark: Spark) -> None:
    def gone(_session: int, _name: str) -> None:
        raise PublishConflictError("other writers leave no gap")

    spark.before = gone
    loads = begun(tmp_path)
    for number in range(6):
        loads.check()
        closed(loads, tmp_path / f"{number}.jsonl.gz")
    with pytest.raises(NotLoadedError, match=r"^6 recorded files in \S+ could not be loaded: other writers") as raised:
        loads.check()
    assert raised.value.exit_code == 4
    assert spark.sessions == 2
    assert names(tmp_path) == [f"{number}.jsonl.gz" for number in range(6)]


def test_a_file_that_cannot_be_loaded_costs_no_other(tmp_path: Path, spark: Spark) -> None:
    """It stays, which the end of the recording reports."""

    def bad(_session: int, name: str) -> None:
        if name == "0.jsonl.gz":
            raise ValueError("a bug")

    spark.before = bad
    loads = begun(tmp_path)
    for number in range(9):
        closed(loads, tmp_path / f"{number}.jsonl.gz")
        loads.check()
    with pytest.raises(NotLoadedError, match=r"^1 recorded file in .*ValueError: a bug"), loads:
        pass
    assert spark.sessions == 1
    assert names(tmp_path) == ["0.jsonl.gz"]


def test_the_metric_is_the_age_of_the_oldest_file_that_is_not_loaded(tmp_path: Path, spark: Spark) -> None:
    loads, metric = begun(tmp_path), tmp_path / "capture.prom"
    for name, age in (("2.jsonl.gz", 600), ("1.jsonl.gz", 1200), ("3.jsonl.gz.partial", 9999)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, time.time() - age))
    loads.write_metric(metric)
    (value,) = [line.split() for line in metric.read_text().splitlines() if not line.startswith("#")]
    assert value[0] == "rebalance_audit_capture_unloaded_seconds"
    assert 1200 <= float(value[1]) < 1260
    with loads:
        pass
    loads.write_metric(metric)
    assert metric.read_text().splitlines()[-1] == "rebalance_audit_capture_unloaded_seconds 0.0"
    loads.write_metric(tmp_path / "no" / "capture.prom")


def test_loaded_files_are_deleted_after_their_time(tmp_path: Path, spark: Spark) -> None:
    (tmp_path / "loaded").mkdir()
    for name, days in (("1.jsonl.gz", 8), ("2.jsonl.gz", 6), ("notes.txt", 8)):
        (tmp_path / "loaded" / name).touch()
        os.utime(tmp_path / "loaded" / name, (0, time.time() - days * 86400))
    with begun(tmp_path) as loads:
        closed(loads, tmp_path / "3.jsonl.gz")
    assert names(tmp_path / "loaded") == ["2.jsonl.gz", "3.jsonl.gz"]
    assert (tmp_path / "loaded" / "notes.txt").exists()
