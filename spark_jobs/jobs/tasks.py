"""One audit as tasks, each a process of its own that a scheduler starts, retries and runs again.

What a task leaves for the next is staged under the name of the scheduled run. A task that is run again leaves the same
tables; one that is run out of turn refuses.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from schemas import AUDIT_RUNS, FINDINGS, OUTPUTS, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration
from spark_jobs.errors import QualityError, WarehouseError
from spark_jobs.jobs.audit import Progress, audit, window_of
from spark_jobs.jobs.check import Gate, used_sources
from spark_jobs.jobs.record import asked, not_evaluated, published, rejected, replace, what_was_not_audited
from spark_jobs.jobs.sources import pinned_versions, read_sources
from spark_jobs.publish.claims import claim
from spark_jobs.publish.publisher import publish, stage, unstage
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse


@dataclass(frozen=True)
class ScheduledRun:
    """What every task of one scheduled run is given; `name` is the scheduler's own for it."""

    spark: SparkSession
    warehouse: Warehouse
    request: RunRequest
    configuration: Configuration
    name: str
    progress: Progress = lambda _: None

    @property
    def staging(self) -> str:
        """Under which name its tasks stage: no other run of the same steps has it."""
        return hashlib.sha256(f"{self.name}\n{self.request.key}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """What a task has to say: in a sentence; the findings, as dicts, that it was the first to publish; warnings."""

    says: str
    new_findings: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Started:
    """What `check_sources` leaves. Sources are pinned: all tasks read what it read."""

    run_id: str
    started_at: str
    configuration_hash: str
    versions: dict[str, int]
    quarantined_from: list[str]
    warnings: list[str]


def check_sources(run: ScheduledRun) -> Outcome:
    """Begins a run: pins the sources, checks them, and sets rows aside that break a rule.

    Raises `QualityError` if a table has too many of those: `audit_runs` then says rejected.
    """
    run.configuration.grid.check_whole_steps(run.request.interval)
    versions = pinned_versions(run.spark, run.warehouse)
    started = _Started(
        run_id=uuid.uuid4().hex,
        started_at=datetime.now(UTC).isoformat(),
        configuration_hash=run.configuration.hash(),
        versions=versions,
        quarantined_from=[],
        warnings=[],
    )
    gate = _gate(run, started)
    run.progress("checking the sources")
    read = window_of(run.request, run.configuration).read
    _closes_the_gate(
        run, started, gate, lambda: gate.sources(read_sources(run.spark, run.warehouse, versions, read, run.request))
    )
    aside = sorted(gate.quarantined_rows)
    _leave(run, "started", asdict(started) | {"quarantined_from": aside, "warnings": gate.warnings})
    return Outcome(f"run {started.run_id} reads {_listed(versions)}", warnings=tuple(gate.warnings))


def audit_sources(run: ScheduledRun) -> Outcome:
    """Replays, finds what was wrong, and stages the results."""
    started = _started(run)
    window = window_of(run.request, run.configuration)
    read = read_sources(run.spark, run.warehouse, started.versions, window.read, run.request)
    sources = used_sources(read, run.request, run.configuration, started.quarantined_from)
    outputs = audit(sources, window, run.configuration, run.progress)
    run.progress("staging the results")
    staged = stage(run.spark, run.warehouse, run.staging, run.request, outputs)
    _leave(run, "audited", {"run_id": started.run_id, "not_evaluated": not_evaluated(sources)})
    return Outcome(f"staged {_listed({table.name: frame.count() for table, frame in staged.items()})} rows")


def validate_results(run: ScheduledRun) -> Outcome:
    """Checks what is staged; raises `QualityError` if a critical expectation fails: nothing will be published."""
    started = _started(run)
    _left(run, "audited", started)
    gate = _gate(run, started)
    run.progress("checking the results")
    _closes_the_gate(run, started, gate, lambda: gate.outputs(_staged(run)))
    _leave(run, "validated", {"run_id": started.run_id, "warnings": gate.warnings})
    return Outcome(f"{len(gate.results)} checks of run {started.run_id} passed", warnings=tuple(gate.warnings))


def publish_results(run: ScheduledRun) -> Outcome:
    """Replaces the request's steps in the tables by what was validated. Run again, it has nothing to do.

    Raises `PublishConflictError` where another run is publishing the same steps.
    """
    started = _started(run)
    if _is_published(run, started):
        return Outcome(f"run {started.run_id} is published already")
    evaluated, validated = _left(run, "audited", started), _left(run, "validated", started)
    staged = _staged(run)
    missing = evaluated["not_evaluated"]
    warnings = what_was_not_audited(staged[REBALANCE_INTERVALS], run.request, missing)
    run.progress("publishing")
    with claim(run.warehouse, run.request, started.run_id):
        tables = publish(run.spark, run.warehouse, run.request, staged, started.run_id)
        quality = started.warnings + validated["warnings"]
        replace(run.spark, run.warehouse, _asked(run, started) | published(tables, missing, warnings + quality))
    unstage(run.spark, run.warehouse, run.staging)
    rows = {name: one.content.rows for name, one in tables.items()}
    return Outcome(f"run {started.run_id} published {_listed(rows)} rows", warnings=tuple(warnings))


def report_findings(run: ScheduledRun) -> Outcome:
    """The findings that the run was the first to publish: one that a run before it published has been told."""
    started = _started(run)
    if not _is_published(run, started):
        raise _out_of_turn(run, "publish")
    before = run.warehouse.version_before(run.spark, FINDINGS, started.run_id)
    told = run.warehouse.read(run.spark, FINDINGS, before).where(run.request.replaces(FINDINGS)).select("finding_id")
    found = run.warehouse.read(run.spark, FINDINGS).where(run.request.replaces(FINDINGS))
    new = found.join(told, on="finding_id", how="left_anti").select(*FINDINGS.columns).orderBy("start", "finding_id")
    findings = tuple(row.asDict(recursive=True) for row in new.collect())
    return Outcome(f"run {started.run_id} has {len(findings)} findings that no run before it had", findings)


#: In the order in which they are run.
TASKS: Mapping[str, Callable[[ScheduledRun], Outcome]] = {
    "check_sources": check_sources,
    "audit": audit_sources,
    "validate": validate_results,
    "publish": publish_results,
    "report": report_findings,
}


def _gate(run: ScheduledRun, started: _Started) -> Gate:
    return Gate(run.spark, run.warehouse, run.request, run.configuration, started.run_id)


def _closes_the_gate(run: ScheduledRun, started: _Started, gate: Gate, check: Callable[[], object]) -> None:
    """Does the check and keeps what it saw, also where it fails."""
    try:
        check()
    except QualityError as error:
        replace(run.spark, run.warehouse, _asked(run, started) | rejected(error))
        raise
    finally:
        gate.record()


def _asked(run: ScheduledRun, started: _Started) -> dict[str, Any]:
    began = datetime.fromisoformat(started.started_at)
    return asked(started.run_id, began, run.request, started.versions, run.configuration)


def _is_published(run: ScheduledRun, started: _Started) -> bool:
    if not run.warehouse.exists(run.spark, AUDIT_RUNS):
        return False
    rows = run.warehouse.read(run.spark, AUDIT_RUNS)
    return not rows.where(f"run_id = '{started.run_id}' AND outcome = 'published'").isEmpty()


def _staged(run: ScheduledRun) -> dict[Table, DataFrame]:
    frames = {table: run.warehouse.staged(run.spark, f"{run.staging}_{table.name}") for table in OUTPUTS}
    return {table: _there(run, frame, "audit") for table, frame in frames.items()}


def _there(run: ScheduledRun, frame: DataFrame | None, task: str) -> DataFrame:
    if frame is None:
        raise _out_of_turn(run, task)
    return frame


def _leave(run: ScheduledRun, name: str, document: Mapping[str, Any]) -> None:
    rows = run.spark.createDataFrame([(json.dumps(document),)], "document string").coalesce(1)
    run.warehouse.stage(run.spark, f"{run.staging}_{name}", rows)


def _document(run: ScheduledRun, name: str, task: str) -> dict[str, Any]:
    row = _there(run, run.warehouse.staged(run.spark, f"{run.staging}_{name}"), task).head()
    if row is None:
        raise _out_of_turn(run, task)
    document: dict[str, Any] = json.loads(row.document)
    return document


def _started(run: ScheduledRun) -> _Started:
    started = _Started(**_document(run, "started", "check_sources"))
    if started.configuration_hash != run.configuration.hash():
        raise WarehouseError(
            f"run {run.name} was begun with another configuration than this one: run its task check_sources again"
        )
    return started


def _left(run: ScheduledRun, name: str, started: _Started) -> dict[str, Any]:
    task = {"audited": "audit", "validated": "validate"}[name]
    document = _document(run, name, task)
    if document["run_id"] != started.run_id:
        raise _out_of_turn(run, task)
    return document


def _out_of_turn(run: ScheduledRun, task: str) -> WarehouseError:
    return WarehouseError(
        f"the task {task} of run {run.name} has left nothing for {run.request.interval}: run it first"
    )


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())
