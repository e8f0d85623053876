"""A history of three steps, audited a run per step: what comes of it, of steps that fail, and of going on later."""

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, INCIDENTS, MEMBERSHIP_SNAPSHOTS, OUTPUTS, SIGHTINGS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import PublishConflictError, QualityError
from spark_jobs.operate import backfill as module
from spark_jobs.operate.backfill import VersionsRead, audited, backfill, failed, filling
from spark_jobs.operate.late import changed_steps
from spark_jobs.pipeline.publish.claims import claim
from spark_jobs.pipeline.publish.content import Content, content
from spark_jobs.pipeline.run import RunRecord, RunSpec, run
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load, membership, sighting
from tests.support.times import at

#: Ten minutes a step.
TEN_MINUTES = Configuration(step_seconds=600)
OTHER = Configuration(step_seconds=600, cadence_seconds=30)
WHOLE = Interval(at(0), at(1800))
FIRST, SECOND, THIRD = STEPS = [Interval(at(start), at(start + 600)) for start in (0, 600, 1200)]
#: The shared id is an error; queues owned twice and the one nobody owns hurt no message, as nothing is produced.
TWINS = {"ERROR": 1, "INFO": 2}


def history() -> dict[Table, list[dict[str, Any]]]:
    """A group whose second step has twins for 300 s; the last snapshots hold to the end."""
    rows = healthy_group(range(0, 1800, 20), "c1", "c2", "c3")
    twins = [membership(second, "c1", "c1", "c3") for second in range(700, 1000, 20)]
    kept = [row for row in rows[MEMBERSHIP_SNAPSHOTS] if not at(700) <= row["captured_at"] < at(1000)]
    return rows | {MEMBERSHIP_SNAPSHOTS: kept + twins}


def contents(spark: SparkSession, warehouse: Warehouse) -> dict[str, Content]:
    return {table.name: content(warehouse.read(spark, table)) for table in OUTPUTS}


def severities(records: Iterable[RunRecord]) -> list[dict[str, int]]:
    return [dict(record.severities) for record in records]


@pytest.fixture(scope="module")
def in_one_run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Content]:
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("whole") / "warehouse"))
    load(spark, warehouse, history())
    run(spark, warehouse, RunSpec(WHOLE), TEN_MINUTES)
    return contents(spark, warehouse)


@pytest.mark.slow
def test_two_steps_at_a_time_publish_what_one_run_does(
    spark: SparkSession, warehouse: Warehouse, in_one_run: dict[str, Content]
) -> None:
    load(spark, warehouse, history())
    messages: list[tuple[Interval, str, bool]] = []
    outcomes = backfill(spark, warehouse, STEPS, TEN_MINUTES, jobs=2, progress=lambda *words: messages.append(words))
    assert contents(spark, warehouse) == in_one_run
    records = audited(outcomes)
    assert (list(records), failed(outcomes)) == (STEPS, {})
    assert severities(records.values()) == [{}, TWINS, {}]
    assert [row.rule for row in warehouse.read(spark, INCIDENTS).collect()] == ["DUPLICATE_CLIENT_ID"]
    runs = {row.run_id for row in warehouse.read(spark, AUDIT_RUNS).collect()}
    assert runs == {record.run["run_id"] for record in records.values()}
    begun = [step for step, message, _ in messages if message == "reading the snapshots"]
    ended = [step for step, message, has_ended in messages if has_ended and message == "audited"]
    assert (sorted(begun), sorted(ended)) == (STEPS, STEPS)
    assert set(begun[:2]) == {FIRST, SECOND}
    assert messages.index((begun[1], "reading the snapshots", False)) < messages.index((ended[0], "audited", True))


@pytest.mark.slow
def test_steps_that_fail_fail_alone_and_are_what_is_missing(
    spark: SparkSession, warehouse: Warehouse, in_one_run: dict[str, Content]
) -> None:
    """A thirtieth of the second step's rows break a rule (1 % may), and another run holds the third."""
    rows = history() | {SIGHTINGS: [sighting(0, 1799, consumer_group="g")]}
    rows[MEMBERSHIP_SNAPSHOTS].append(membership(705, "", group="broken"))
    load(spark, warehouse, rows)
    assert to_fill(spark, warehouse) == (STEPS, [], [])
    with claim(warehouse, RunSpec(THIRD), "other"):
        outcomes = backfill(spark, warehouse, STEPS, TEN_MINUTES)
    assert list(audited(outcomes)) == [FIRST]
    errors = failed(outcomes)
    assert {step: type(error) for step, error in errors.items()} == {SECOND: QualityError, THIRD: PublishConflictError}
    assert "few_rows_are_quarantined failed in the step 2026-03-01T10:10Z" in str(errors[SECOND])
    assert str(errors[THIRD]).startswith("run other is auditing 2026-03-01T10:20Z/2026-03-01T10:30Z")

    assert to_fill(spark, warehouse, OTHER) == (STEPS, [], [])
    # Snapshots of later times do not change what the rejected step reads.
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(1900, "c1")]})
    assert to_fill(spark, warehouse) == ([THIRD], [SECOND], [FIRST])
    warehouse.delta_table(spark, MEMBERSHIP_SNAPSHOTS).delete("consumer_group = 'broken'")
    assert to_fill(spark, warehouse) == ([SECOND, THIRD], [], [FIRST])
    outcomes = backfill(spark, warehouse, [SECOND, THIRD], TEN_MINUTES)
    assert severities(audited(outcomes).values()) == [TWINS, {}]
    assert contents(spark, warehouse) == in_one_run
    assert to_fill(spark, warehouse) == ([], [], STEPS)


def to_fill(
    spark: SparkSession, warehouse: Warehouse, configuration: Configuration = TEN_MINUTES
) -> tuple[Sequence[Interval], Sequence[Interval], Sequence[Interval]]:
    """The steps to audit, those not tried again, and those left out."""
    stored = stored_in(spark, warehouse)

    def changed(versions: VersionsRead) -> set[Interval]:
        return changed_steps(spark, warehouse, stored, configuration, versions)

    found = filling(stored, configuration, at(1800), changed, WHOLE)
    return found.steps, found.rejected, found.left_out


Run = Callable[[Interval, Callable[[str], None]], None]


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Puts something else in the place of a run, told of its step and given a way to say what it does."""

    def put(act: Run) -> None:
        def fake(_: Any, __: Any, spec: RunSpec, ___: Any, progress: Callable[[str], None]) -> RunRecord:
            act(spec.interval, progress)
            return RunRecord({"run_id": "r"})

        monkeypatch.setattr(module, "run", fake)
        monkeypatch.setattr(module, "publish_incidents", lambda *_: None)

    return put


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), KeyboardInterrupt()])
def test_a_bug_or_an_interrupt_stops_and_says_how_to_go_on(
    error: BaseException, spark: SparkSession, tmp_path: Path, running: Callable[[Run], None]
) -> None:
    """The first of two steps at a time is under way when the second fails: it ends at its next stage, and the third
    never begins."""
    begun, stages, both = [], threading.Semaphore(1000), threading.Barrier(2)

    def act(step: Interval, progress: Callable[[str], None]) -> None:
        begun.append(step)
        both.wait(timeout=10)
        if step == SECOND:
            raise error
        while stages.acquire(blocking=False):
            progress("a stage")
            threading.Event().wait(0.01)

    running(act)
    with pytest.raises(type(error)) as raised:
        backfill(spark, Warehouse.parse(str(tmp_path)), STEPS, TEN_MINUTES, jobs=2)
    assert sorted(begun) == [FIRST, SECOND]
    assert stages.acquire(blocking=False)
    (note,) = raised.value.__notes__
    assert "stay published: the same command does the rest, a backfill with --only-missing" in note


def test_outcomes_are_in_the_order_of_time_whichever_step_ends_first(
    spark: SparkSession, tmp_path: Path, running: Callable[[Run], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    later, folded = threading.Event(), list[Interval]()

    def act(step: Interval, _: Callable[[str], None]) -> None:
        if step == FIRST:
            later.wait(timeout=10)
        elif step.start == at(600):
            raise PublishConflictError("held")
        else:
            later.set()

    running(act)
    monkeypatch.setattr(module, "publish_incidents", lambda *about: folded.append(about[-1]))
    fourth = Interval(THIRD.start + timedelta(seconds=600), THIRD.end + timedelta(seconds=600))
    outcomes = backfill(spark, Warehouse.parse(str(tmp_path)), [*STEPS, fourth], TEN_MINUTES, jobs=2)
    assert list(outcomes) == [*STEPS, fourth]
    assert folded == [Interval(FIRST.start, fourth.end)]
    assert {step: str(error) for step, error in failed(outcomes).items()} == {SECOND: "held"}
