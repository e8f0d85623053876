"""One run at a time publishes, and what one left half done is undone before the next one does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partialmethod
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter, SparkSession

from schemas import AUDIT_RUNS, REBALANCE_INTERVALS, Table
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.publish import turns
from spark_jobs.pipeline.publish.claims import claim, claims_of
from spark_jobs.pipeline.publish.publisher import publish
from spark_jobs.pipeline.publish.turns import Turn, publishing, undo_unfinished
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse
from tests.spark.publish.test_publisher import NEXT, intervals, topics
from tests.support.stored import audit_run
from tests.support.times import HOUR

pytestmark = pytest.mark.usefixtures("tables")


class KilledError(Exception):
    """Stands for the end of a process."""


@contextmanager
def turn_of(spark: SparkSession, warehouse: Warehouse, request: RunSpec, run_id: str) -> Iterator[Turn]:
    """The run holds its steps, and publishes."""
    with claim(warehouse, request, run_id) as held, publishing(spark, warehouse, request, run_id, held) as turn:
        yield turn


def publish_and_die(spark: SparkSession, warehouse: Warehouse, request: RunSpec, topic: str, run_id: str) -> None:
    """Its tables are published, and `audit_runs` does not say so."""
    rows = intervals(spark, request.interval.start, [topic])
    with suppress(KilledError), turn_of(spark, warehouse, request, run_id):
        publish(spark, warehouse, request, rows, run_id)
        raise KilledError


def test_what_a_run_published_and_did_not_finish_is_put_back(spark: SparkSession, warehouse: Warehouse) -> None:
    of_hour, of_next = RunSpec(HOUR), RunSpec(NEXT)
    with turn_of(spark, warehouse, of_hour, "first"):
        publish(spark, warehouse, of_hour, intervals(spark, HOUR.start, ["a", "b"]), "first")
    publish_and_die(spark, warehouse, of_hour, "half", "second")
    with turn_of(spark, warehouse, of_next, "third"):
        publish(spark, warehouse, of_next, intervals(spark, NEXT.start, ["c"]), "third")
    ten, eleven = (step.replace(tzinfo=None) for step in (HOUR.start, NEXT.start))
    assert topics(spark, warehouse) == {ten: ["a", "b"], eleven: ["c"]}
    publish_and_die(spark, warehouse, of_next, "half", "fourth")
    undo_unfinished(spark, warehouse)
    assert topics(spark, warehouse) == {ten: ["a", "b"], eleven: ["c"]}
    version = warehouse.version(spark, REBALANCE_INTERVALS)
    undo_unfinished(spark, warehouse)
    assert warehouse.version(spark, REBALANCE_INTERVALS) == version


def test_a_run_publishes_after_it_has_put_back_what_others_left(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are commits to one table in one turn, and Delta skips a commit that it takes for one that it has."""
    monkeypatch.setattr(turns, "are_leases", lambda _: True)
    request = RunSpec(HOUR)
    for run_id in ("first", "second"):
        publish_and_die(spark, warehouse, request, "half", run_id)
    with turn_of(spark, warehouse, request, "third") as turn:
        publish(spark, warehouse, request, intervals(spark, HOUR.start, ["whole"]), "third", turn=turn)
    assert [*topics(spark, warehouse).values()] == [["whole"]]


def test_one_that_died_before_its_first_table_changes_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    assert warehouse.local_path is not None
    folder = warehouse.local_path / "_claims"
    folder.mkdir(parents=True)
    (folder / "first.note").write_text("", encoding="utf-8")
    (folder / "second.note").write_text(RunSpec(HOUR).as_json(), encoding="utf-8")
    undo_unfinished(spark, warehouse)
    assert [path.name for path in folder.iterdir()] == ["all.lock"]


def test_the_second_waits_for_the_first(spark: SparkSession, warehouse: Warehouse) -> None:
    begun, order = threading.Event(), list[str]()

    def second() -> None:
        begun.set()
        with turn_of(spark, warehouse, RunSpec(NEXT), "second"):
            order.append("second")

    other = threading.Thread(target=second)
    with turn_of(spark, warehouse, RunSpec(HOUR), "first"):
        other.start()
        assert begun.wait(10)
        other.join(0.3)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_a_run_that_has_lost_its_claim_commits_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    """As one does that was suspended, and that others took for dead: neither its tables, nor what it undoes."""
    assert warehouse.local_path is not None
    folder, of_hour = warehouse.local_path / "_claims", RunSpec(HOUR)
    publish_and_die(spark, warehouse, of_hour, "half", "first")
    rows = intervals(spark, HOUR.start, ["a"])

    def lose_and_publish(lost: str, turn: Turn) -> None:
        (claimed,) = folder.glob(lost)
        claimed.unlink()
        publish(spark, warehouse, of_hour, rows, "second", turn=turn)

    for lost in ("turn-*.json", "run-*.json"):
        with (
            pytest.raises(WarehouseError, match="another process took over"),
            turn_of(spark, warehouse, of_hour, "second") as turn,
        ):
            lose_and_publish(lost, turn)
    assert warehouse.marked_version(spark, REBALANCE_INTERVALS, "second") is None
    notes = {path.name.partition(".")[0] for path in folder.glob("*.note")}
    assert notes == {"second"}, "its own: what the first one left is undone"


@pytest.mark.slow
def test_a_run_that_is_suspended_before_a_commit_commits_nothing(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has passed its last check when others take it for dead and undo what it did; then it goes on."""
    monkeypatch.setattr(turns, "are_leases", lambda _: True)
    request, folder, save = RunSpec(HOUR), Path(warehouse.location, "_claims"), Warehouse.save

    def run_to_its_end(run_id: str, topic: str) -> None:
        with turn_of(spark, warehouse, request, run_id) as turn:
            publish(spark, warehouse, request, intervals(spark, HOUR.start, [topic]), run_id, turn=turn)
            turn.check()
            SparkTables(spark, warehouse).append(AUDIT_RUNS, [audit_run(HOUR, {}, run_id=run_id)], turn.options())

    def take_over() -> None:
        for claimed in folder.glob("*-*.json"):
            claimed.unlink()
        claims = claims_of(warehouse)
        assert claims is not None
        turns._undo_unfinished(spark, warehouse, claims, "turn-of-others", Turn())

    def suspended(self: Warehouse, writer: DataFrameWriter, into: Table, before: Table) -> None:
        if into is before and list(folder.glob("turn-*.json")):
            take_over()
        save(self, writer, into)

    run_to_its_end("first", "a")
    for table in (REBALANCE_INTERVALS, AUDIT_RUNS):
        monkeypatch.setattr(Warehouse, "save", partialmethod(suspended, before=table))
        with pytest.raises(WarehouseError, match="another process took over"):
            run_to_its_end("second", "b")
        assert [*topics(spark, warehouse).values()] == [["a"]], table.name
        assert [row.run_id for row in warehouse.read(spark, AUDIT_RUNS).collect()] == ["first"], table.name
        assert list(folder.glob("*.note")) == [], table.name
        monkeypatch.setattr(Warehouse, "save", save)
    run_to_its_end("second", "b")
    assert [*topics(spark, warehouse).values()] == [["b"]]


def test_a_warehouse_that_has_vanished_is_not_begun_anew(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    root, request = Path(warehouse.location), RunSpec(HOUR)
    with claim(warehouse, request, "first") as held:
        root.rename(tmp_path / "elsewhere")
        with (
            pytest.raises(WarehouseError, match="is not there any more"),
            publishing(spark, warehouse, request, "first", held),
        ):
            pass
    assert not root.exists()
