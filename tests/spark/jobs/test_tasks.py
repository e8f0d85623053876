"""One audit as two tasks, each of which may be run again, leaves the tables of one `run`; `verify` audits it again."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from schemas import (
    AUDIT_RUNS,
    FINDINGS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
)
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.errors import NothingPublishedError, PublishConflictError, QualityError, WarehouseError
from spark_jobs.operate.verify import Verified, verify
from spark_jobs.pipeline import tasks
from spark_jobs.pipeline.publish.claims import claim_task
from spark_jobs.pipeline.publish.content import content
from spark_jobs.pipeline.run import RunRecord, RunSpec, run
from spark_jobs.pipeline.tasks import staging_of
from spark_jobs.runtime.version import code_version
from spark_jobs.store.staging import staged
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import copy_empty, load, membership, offsets, route
from tests.support.times import HOUR

CONFIGURATION = Configuration()
#: 4 queues over the members a, a, b: both a own the first two, b the last, and nobody the third.
RULES = ["DOUBLE_OWNED_QUEUE", "DUPLICATE_CLIENT_ID", "UNASSIGNED_QUEUE"]


class Scheduled(NamedTuple):
    """What each task of a scheduled run is given."""

    spark: SparkSession
    warehouse: Warehouse
    spec: RunSpec = RunSpec(HOUR)
    configuration: Configuration = CONFIGURATION
    name: str = "scheduled__1"


def history(spark: SparkSession, warehouse: Warehouse, *, broken_rows: int = 1, hours: int = 1) -> None:
    """Twins, so that there are findings, and rows that break a rule: a run allows for 1 %, which is one of 181."""
    times = range(0, hours * 3600, 20)
    broken = [membership(10 * number + 5, "x", group="") for number in range(broken_rows)]
    load(
        spark,
        warehouse,
        {
            MEMBERSHIP_SNAPSHOTS: [*(membership(second, "a", "a", "b") for second in times), *broken],
            ROUTE_SNAPSHOTS: [route(second, 4) for second in times],
            OFFSET_SNAPSHOTS: [offsets(second, *[(100 + second, 100 + second, 1)] * 4) for second in times],
        },
    )


@pytest.fixture(scope="module")
def scheduled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Scheduled:
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("tasks") / "warehouse"))
    history(spark, warehouse)
    return Scheduled(spark, warehouse)


def hashes(scheduled: Scheduled) -> dict[str, str]:
    return {t.name: content(scheduled.warehouse.read(scheduled.spark, t)).hash for t in OUTPUTS}


def do(scheduled: Scheduled, name: str) -> RunRecord:
    return {"audit": tasks.audit_task, "publish": tasks.publish_task}[name](*scheduled)


def test_a_task_out_of_turn_says_which_one_to_run(scheduled: Scheduled) -> None:
    with pytest.raises(WarehouseError, match="task audit of run scheduled__1 has staged nothing for 2026"):
        do(scheduled, "publish")
    assert not scheduled.warehouse.exists(scheduled.spark, FINDINGS)


def test_a_task_waits_until_nobody_does_one_of_the_run(scheduled: Scheduled) -> None:
    with claim_task(scheduled.warehouse, scheduled.name, staging_of(scheduled.name, scheduled.spec)):
        for name in ("audit", "publish"):
            with pytest.raises(PublishConflictError, match="still doing a task of run scheduled__1"):
                do(scheduled, name)


@pytest.mark.slow
def test_tasks_run_again_leave_the_tables_of_one_run(scheduled: Scheduled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is done again, as a retry or a clear would; both are killed first, publishing before it is written down."""
    spark, warehouse = scheduled.spark, scheduled.warehouse
    do(scheduled, "audit")
    with monkeypatch.context() as patch:
        patch.setattr("spark_jobs.pipeline.run.evaluated_steps", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            do(scheduled, "audit")
    with pytest.raises(WarehouseError, match="task audit of run"):
        do(scheduled, "publish")
    do(scheduled, "audit")
    with pytest.raises(WarehouseError, match="audited with another configuration"):
        do(scheduled._replace(configuration=Configuration(max_gap_seconds=61)), "publish")
    with monkeypatch.context() as patch:
        patch.setattr("spark_jobs.pipeline.run_context.RunContext.write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            do(scheduled, "publish")
    assert not warehouse.exists(spark, AUDIT_RUNS)
    do(scheduled, "publish")
    assert sorted(row.rule for row in warehouse.read(spark, FINDINGS).collect()) == RULES
    assert staged(spark, warehouse, f"{staging_of(scheduled.name, scheduled.spec)}_results") is None
    (row,) = warehouse.read(spark, AUDIT_RUNS).collect()
    assert (row.outcome, row.content_hashes) == ("published", hashes(scheduled))
    assert "1 rows of membership_snapshots are in quarantine" in row.message
    by_tasks = hashes(scheduled)
    run(spark, warehouse, RunSpec(HOUR), CONFIGURATION)
    assert hashes(scheduled) == by_tasks
    version = warehouse.version(spark, FINDINGS)
    assert do(scheduled, "publish").run["run_id"] == row.run_id
    assert warehouse.version(spark, FINDINGS) == version


@pytest.fixture(scope="module")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, RunRecord]:
    """By the tasks, between which snapshots came."""
    scheduled = Scheduled(spark, Warehouse.parse(str(tmp_path_factory.mktemp("published") / "warehouse")))
    copy_empty(spark, scheduled.warehouse, (*OUTPUTS, AUDIT_RUNS, QUALITY_RESULTS))
    history(*scheduled[:2])
    do(scheduled, "audit")
    load(*scheduled[:2], {MEMBERSHIP_SNAPSHOTS: [membership(1805, "a", "a", "b", "c")]})
    return scheduled.warehouse, do(scheduled, "publish")


@pytest.mark.slow
def test_snapshots_that_come_between_the_tasks_are_audited_before_anything_is_published(
    spark: SparkSession, published: tuple[Warehouse, RunRecord]
) -> None:
    warehouse, record = published
    assert record.warnings[0] == "audited again, as membership_snapshots changed since the task audit"
    (row,) = warehouse.read(spark, AUDIT_RUNS).collect()
    newest = warehouse.version(spark, MEMBERSHIP_SNAPSHOTS)
    assert (row.run_id, row.source_versions[MEMBERSHIP_SNAPSHOTS.name]) == (record.run["run_id"], newest)


@pytest.fixture
def again(published: tuple[Warehouse, RunRecord], tmp_path: Path) -> Warehouse:
    """The same, to be changed."""
    shutil.copytree(published[0].location, tmp_path / "warehouse")
    return Warehouse.parse(str(tmp_path / "warehouse"))


def test_what_was_published_comes_out_again_whatever_was_loaded_since(
    spark: SparkSession, again: Warehouse, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what somebody has changed in the table. Nothing is written, neither rows nor quarantine nor a page."""
    shutil.rmtree(Path(again.location, QUARANTINE.name))
    load(spark, again, {MEMBERSHIP_SNAPSHOTS: [membership(7, "late")]})
    counts = "map_concat(map_filter(row_counts, (k, v) -> k != 'findings'), map('findings', 1L))"
    spark.sql(f"UPDATE {again.identifier(AUDIT_RUNS.name)} SET row_counts = {counts}")
    files = sorted(Path(again.location).rglob("*"))
    monkeypatch.setattr("spark_jobs.api.start.start_spark", lambda *_, **__: spark)
    (run_id,) = (row.run_id for row in again.read(spark, AUDIT_RUNS).collect())
    command = ["verify", run_id, "--warehouse", again.location]
    assert main([*command, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    found = document.pop("differs")
    code = {"code_then": code_version(), "code_now": code_version()}
    assert document == {"run_id": run_id, "interval": "2026-03-01T10:00:00Z/2026-03-01T11:00:00Z"} | code
    assert sorted(Path(again.location).rglob("*")) == files
    with pytest.raises(NothingPublishedError, match="no run nobody has published anything in"):
        verify(spark, again, "nobody")

    # Without another audit: what is printed of this one, and where nothing differs.
    same = Verified(run_id, HOUR, {}, **code)
    monkeypatch.setattr("spark_jobs.cli.commands.verify.verify", lambda *_: replace(same, differs=found))
    assert main(command) == 1
    difference, whole = capsys.readouterr().out.splitlines()
    rows = again.read(spark, FINDINGS).count()
    expected = rf"findings differs: published were 1 rows \(\w+\), now it is {rows} rows \(\w+\)"
    assert re.fullmatch(expected, difference)
    assert whole.endswith("is not as it was published; the same code.")
    monkeypatch.setattr("spark_jobs.cli.commands.verify.verify", lambda *_: same)
    assert main(command) == 0


@pytest.mark.slow
def test_what_the_tasks_publish_after_late_snapshots_is_what_a_run_publishes(
    spark: SparkSession, again: Warehouse
) -> None:
    by_tasks = hashes(Scheduled(spark, again))
    run(spark, again, RunSpec(HOUR), CONFIGURATION)
    assert hashes(Scheduled(spark, again)) == by_tasks


@pytest.mark.slow
def test_snapshots_of_other_steps_are_not_waited_for(spark: SparkSession, warehouse: Warehouse) -> None:
    history(spark, warehouse)
    scheduled = Scheduled(spark, warehouse)
    began = do(scheduled, "audit").run
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: [membership(7200, "a")]})
    published = do(scheduled, "publish").run
    assert (published["run_id"], published["outcome"]) == (began["run_id"], "published")


@pytest.mark.slow
def test_a_closed_gate_leaves_a_rejected_run_and_no_later_task(spark: SparkSession, warehouse: Warehouse) -> None:
    history(spark, warehouse, broken_rows=3)
    scheduled = Scheduled(spark, warehouse)
    with pytest.raises(QualityError, match="few_rows_are_quarantined"):
        do(scheduled, "audit")
    assert [row.outcome for row in warehouse.read(spark, AUDIT_RUNS).collect()] == ["rejected"]
    with pytest.raises(WarehouseError, match="task audit of run"):
        do(scheduled, "publish")


@pytest.mark.slow
@pytest.mark.usefixtures("broken_intervals")
def test_results_that_break_a_law_are_not_published(spark: SparkSession, warehouse: Warehouse) -> None:
    history(spark, warehouse)
    scheduled = Scheduled(spark, warehouse)
    do(scheduled, "audit")
    for _ in ("once", "again"):
        with pytest.raises(QualityError, match="rebalance_intervals: trigger_is_known"):
            do(scheduled, "publish")
    assert [row.outcome for row in warehouse.read(spark, AUDIT_RUNS).collect()] == ["rejected"]
    assert not warehouse.exists(spark, FINDINGS)
