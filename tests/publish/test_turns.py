"""One run at a time publishes, and what one left half done is undone before the next one does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import REBALANCE_INTERVALS
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.publish.publisher import publish
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.publish.turns import publishing, undo_unfinished
from spark_jobs.store.warehouse import Warehouse
from tests.publish.test_publisher import NEXT, intervals, topics
from tests.snapshots import HOUR


class KilledError(Exception):
    """Stands for the end of a process."""


def publish_and_die(spark: SparkSession, warehouse: Warehouse, request: RunRequest, topic: str, run_id: str) -> None:
    """Its tables are published, and `audit_runs` does not say so."""
    rows = intervals(spark, request.interval.start, [topic])
    with (
        suppress(KilledError),
        claim(warehouse, request, run_id) as held,
        publishing(spark, warehouse, request, run_id, held),
    ):
        publish(spark, warehouse, request, rows, run_id)
        raise KilledError


def test_what_a_run_published_and_did_not_finish_is_put_back(spark: SparkSession, warehouse: Warehouse) -> None:
    of_hour, of_next = RunRequest(HOUR), RunRequest(NEXT)
    with claim(warehouse, of_hour, "first") as held, publishing(spark, warehouse, of_hour, "first", held):
        publish(spark, warehouse, of_hour, intervals(spark, HOUR.start, ["a", "b"]), "first")
    publish_and_die(spark, warehouse, of_hour, "half", "second")
    with claim(warehouse, of_next, "third") as held, publishing(spark, warehouse, of_next, "third", held):
        publish(spark, warehouse, of_next, intervals(spark, NEXT.start, ["c"]), "third")
    ten, eleven = (step.replace(tzinfo=None) for step in (HOUR.start, NEXT.start))
    assert topics(spark, warehouse) == {ten: ["a", "b"], eleven: ["c"]}
    publish_and_die(spark, warehouse, of_next, "half", "fourth")
    undo_unfinished(spark, warehouse)
    assert topics(spark, warehouse) == {ten: ["a", "b"], eleven: ["c"]}
    version = warehouse.version(spark, REBALANCE_INTERVALS)
    undo_unfinished(spark, warehouse)
    assert warehouse.version(spark, REBALANCE_INTERVALS) == version


def test_one_that_died_before_its_first_table_changes_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    assert warehouse.local_path is not None
    folder = warehouse.local_path / "_claims"
    folder.mkdir(parents=True)
    (folder / "first.note").write_text("", encoding="utf-8")
    (folder / "second.note").write_text(RunRequest(HOUR).as_json(), encoding="utf-8")
    undo_unfinished(spark, warehouse)
    assert [path.name for path in folder.iterdir()] == ["all.lock"]


def test_the_second_waits_for_the_first(spark: SparkSession, warehouse: Warehouse) -> None:
    begun, order = threading.Event(), list[str]()

    def second() -> None:
        begun.set()
        with (
            claim(warehouse, RunRequest(NEXT), "second") as held,
            publishing(spark, warehouse, RunRequest(NEXT), "second", held),
        ):
            order.append("second")

    other = threading.Thread(target=second)
    with (
        claim(warehouse, RunRequest(HOUR), "first") as held,
        publishing(spark, warehouse, RunRequest(HOUR), "first", held),
    ):
        other.start()
        assert begun.wait(10)
        other.join(0.3)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]


def test_a_run_that_has_lost_its_claim_commits_nothing(spark: SparkSession, warehouse: Warehouse) -> None:
    """As one does that was suspended, and that others took for dead: neither its tables, nor what it undoes."""
    assert warehouse.local_path is not None
    folder, of_hour = warehouse.local_path / "_claims", RunRequest(HOUR)
    publish_and_die(spark, warehouse, of_hour, "half", "first")
    rows = intervals(spark, HOUR.start, ["a"])

    def lose_and_publish(lost: str, check: Callable[[], None]) -> None:
        (claimed,) = folder.glob(lost)
        claimed.unlink()
        publish(spark, warehouse, of_hour, rows, "second", check=check)

    for lost in ("turn-*.json", "run-*.json"):
        with (
            pytest.raises(WarehouseError, match="another process took over"),
            claim(warehouse, of_hour, "second") as held,
            publishing(spark, warehouse, of_hour, "second", held) as check,
        ):
            lose_and_publish(lost, check)
    assert warehouse.marked_version(spark, REBALANCE_INTERVALS, "second") is None
    assert [path.name for path in folder.glob("*.note")] == ["second.note"]


def test_a_warehouse_that_has_vanished_is_not_begun_anew(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    root, request = Path(warehouse.location), RunRequest(HOUR)
    with claim(warehouse, request, "first") as held:
        root.rename(tmp_path / "elsewhere")
        with (
            pytest.raises(WarehouseError, match="is not there any more"),
            publishing(spark, warehouse, request, "first", held),
        ):
            pass
    assert not root.exists()
