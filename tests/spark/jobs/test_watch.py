"""`watch` audits what is missing, waits for the snapshots of the newest step, and survives errors."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import IncompleteError, SetupError, UnexpectedError, WarehouseError
from spark_jobs.ingest.sightings import merge_sightings, sightings_of_sources
from spark_jobs.operate import watch as module
from spark_jobs.operate.retention import Keep
from spark_jobs.operate.watch import Watch
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load
from tests.support.stored import stored_rows
from tests.support.times import at

#: 01:00 on the day after: what is daily comes later in the day.
ONE = 15 * 3600
STEP = 300


@dataclass
class Watched:
    """A watch on a warehouse, the clock that it reads, and what it did."""

    spark: SparkSession
    warehouse: Warehouse
    second: float = ONE + 3 * STEP + 5
    sessions: int = 0
    told: int = 0
    ended: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = Watch(
            self.warehouse,
            Configuration(step_seconds=STEP),
            self._session,
            Keep(),
            timedelta(days=30),
            self._tell,
            self._progress,
            now=lambda: at(self.second),
        )

    def _session(self) -> SparkSession:
        self.sessions += 1
        return self.spark

    def _tell(self, _stored: StoredTables) -> None:
        self.told += 1

    def _progress(self, step: Interval, message: str, has_ended: bool) -> None:
        if has_ended:
            self.ended.append((round((step.start - at(ONE)).total_seconds()), message))


@pytest.fixture
def watched(spark: SparkSession, warehouse: Warehouse) -> Watched:
    return Watched(spark, warehouse)


def load_seen(watched: Watched, rows: dict[Table, list[dict[str, Any]]]) -> None:
    """Append snapshots, and remember what they show, as `ingest` does."""
    spark, warehouse = watched.spark, watched.warehouse
    load(spark, warehouse, rows)
    warehouse.create(spark, [SIGHTINGS])
    memberships, routes = (warehouse.read(spark, table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS))
    merge_sightings(spark, warehouse, sightings_of_sources(memberships, routes), F.lit(True))


def test_the_newest_step_is_audited_when_its_snapshots_are_there(watched: Watched) -> None:
    """Two earlier ones at once. The last snapshot of a step comes at most a collection interval before its end."""
    assert watched.watch.turn() == 30  # there is no table yet
    load_seen(watched, healthy_group(range(ONE, ONE + 860, 20), "c1", "c2"))
    assert watched.watch.turn() == 10
    assert watched.ended == [(0, "audited"), (STEP, "audited")]
    watched.second += 10
    assert watched.watch.turn() == 10
    assert (len(watched.ended), watched.told) == (2, 1)
    load_seen(watched, healthy_group(range(ONE + 860, ONE + 900, 20), "c1", "c2"))
    watched.second += 10
    assert watched.watch.turn() == STEP - 25
    assert watched.ended[2:] == [(2 * STEP, "audited")]
    assert (watched.sessions, watched.told) == (1, 2)
    assert {row["outcome"] for row in stored_rows(watched.warehouse, AUDIT_RUNS)} == {"published"}
    assert len(stored_rows(watched.warehouse, AUDIT_RUNS)) == 3


def test_before_anything_is_published_there_is_nothing_to_say(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ingest` makes the tables first, and no step is missing yet."""
    watched.warehouse.create(watched.spark, [*SOURCES, SIGHTINGS])
    monkeypatch.setattr(module, "filling", lambda *_, **__: SimpleNamespace(steps=[]))
    watched.watch.turn()
    assert (watched.told, watched.ended) == (0, [])


@pytest.mark.slow
def test_without_sightings_the_steps_of_the_last_minutes_are_audited(watched: Watched) -> None:
    """It is unknown since when there are snapshots: the table is there, as `ingest` makes it first, and empty."""
    watched.warehouse.create(watched.spark, [SIGHTINGS])
    load(watched.spark, watched.warehouse, healthy_group(range(ONE, ONE + 900, 20), "c1"))
    assert watched.watch.turn() == STEP - 5
    assert [start for start, _ in watched.ended] == [0, STEP, 2 * STEP]


@pytest.mark.slow
def test_a_recorder_that_is_dead_is_awaited_for_ten_minutes(watched: Watched) -> None:
    load_seen(watched, healthy_group(range(ONE, ONE + 700, 20), "c1"))
    watched.second = ONE + 3 * STEP + 290
    assert watched.watch.turn() == 10
    assert [start for start, _ in watched.ended] == [0, STEP]
    watched.second = ONE + 5 * STEP - 5
    assert watched.watch.turn() == 10
    assert len(watched.ended) == 2
    watched.second = ONE + 5 * STEP + 5  # two further steps are over, and awaited
    assert watched.watch.turn() == 10
    assert [start for start, _ in watched.ended] == [0, STEP, 2 * STEP]


def test_a_stop_ends_the_step_that_is_under_way_and_publishes_nothing(watched: Watched) -> None:
    load_seen(watched, healthy_group(range(ONE, ONE + 900, 20), "c1"))
    watched.watch.progress = lambda *_: watched.watch.stopped.set()
    watched.watch.run()
    assert not watched.warehouse.exists(watched.spark, AUDIT_RUNS)


def test_after_an_error_of_java_a_new_session_begins_and_the_tenth_in_a_row_ends_it(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    load_seen(watched, healthy_group(range(ONE, ONE + 900, 20), "c1"))
    errors = [UnexpectedError("Java has ended"), WarehouseError("no such table")]
    ended: list[str] = []
    monkeypatch.setattr(module, "_AFTER_ERROR", 0.0)
    monkeypatch.setattr(module, "end_session", lambda: ended.append("session"))

    def failing() -> SparkSession:
        if errors:
            raise errors.pop()
        watched.watch.stopped.set()
        raise SetupError("Java is missing")

    watched.watch.session = failing
    watched.watch.run()
    assert ended == ["session"]
    assert caplog.messages[-3:] == ["no such table", "Java has ended", "Java is missing"]

    def broken() -> SparkSession:
        watched.sessions += 1
        raise SetupError("Java is missing")

    watched.watch.stopped.clear()
    watched.watch.session = broken
    with pytest.raises(SetupError, match="Java is missing"):
        watched.watch.run()
    assert watched.sessions == 10


def test_a_process_that_holds_too_much_memory_ends_between_two_steps(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = module.memory_held()
    assert 50_000_000 < held < 20_000_000_000  # a Python with Spark's client
    monkeypatch.setattr(module, "_MEMORY", held - 1)
    with pytest.raises(IncompleteError, match="start it again"):
        watched.watch.run()


@pytest.mark.slow
def test_what_could_not_be_sent_is_sent_at_the_next_turn(watched: Watched) -> None:
    load_seen(watched, healthy_group(range(ONE, ONE + 900, 20), "c1"))
    tell = watched.watch.tell

    def refused(_stored: StoredTables) -> None:
        raise WarehouseError("refused")

    watched.watch.tell = refused
    with pytest.raises(WarehouseError, match="refused"):
        watched.watch.turn()
    watched.watch.tell = tell
    watched.watch.turn()
    assert (len(watched.ended), watched.told) == (3, 1)


@pytest.mark.slow
def test_late_steps_are_audited_again_before_the_tables_are_maintained(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_seen(watched, healthy_group(range(ONE, ONE + 900, 20), "c1"))
    watched.watch.turn()
    assert len(watched.ended) == 3
    load_seen(watched, healthy_group(range(ONE + 310, ONE + 320, 20), "c1", "c2"))
    monkeypatch.setattr(module, "_UPKEEP_HOUR", 0)
    watched.watch.turn()
    assert [start for start, _ in watched.ended[3:]].count(STEP) == 1


@pytest.mark.slow
def test_sigterm_ends_the_process_well(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    """Steps of the last hour, up to now."""
    now = datetime.now(UTC)
    hour = round((now - at(0)).total_seconds()) // STEP * STEP
    load(spark, warehouse, healthy_group(range(hour - 600, hour, 20), "c1"))
    config = tmp_path / "audit.yaml"
    config.write_text(f"step_seconds: {STEP}\n")
    with watching(warehouse, "--config", str(config)) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert " audited, " in line, line
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err.count("Traceback")) == (0, 0), err


@contextmanager
def watching(warehouse: Warehouse, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The process of the command."""
    line = [sys.executable, "-m", "spark_jobs.cli", "watch", "--warehouse", warehouse.location, *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            yield process
        finally:
            process.kill()
