"""One audit as two tasks, each a process of its own that a scheduler starts, retries and runs again.

`audit` checks the sources, judges and stages, with what its checks have counted; `publish` lets the gate judge that,
and publishes. Run again, `audit` stages anew and `publish` has nothing to do; out of turn, or while another process
does a task of the run, it refuses.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pyspark.sql import DataFrame, Row, SparkSession

from schemas import AUDIT_RUNS
from spark_jobs.config import Configuration
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline import record
from spark_jobs.pipeline.audit import JudgedRun, Progress, audit, window_of
from spark_jobs.pipeline.check import Gate
from spark_jobs.pipeline.outcome import Write, publish_checked, rejected_if_closed
from spark_jobs.pipeline.publish.claims import claim, claim_task
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.sightings import EarlierHistory
from spark_jobs.pipeline.sources import pinned_versions, read_sources
from spark_jobs.store.warehouse import Warehouse


@dataclass(frozen=True)
class Outcome:
    """What a task has to say: in a sentence; warnings."""

    says: str
    warnings: tuple[str, ...] = ()


def audit_sources(run: ScheduledRun) -> Outcome:
    """Begins a run: checks the sources, sets rows aside that break a rule, audits, and stages the results.

    Raises `QualityError` if a table has too many of those: `audit_runs` then says rejected.
    """
    run.configuration.grid.check_whole_steps(run.request.interval)
    drop_audited(run)
    versions = pinned_versions(run.spark, run.warehouse)
    begun = StagedAudit(uuid.uuid4().hex, datetime.now(UTC).isoformat(), run.configuration.hash(), versions)
    window, gate = window_of(run.request, run.configuration), _gate(run, begun)
    with rejected_if_closed(gate, _asked(run, begun)):
        past = EarlierHistory(run.spark, run.warehouse, versions, run.request, run.configuration)
        sources = read_sources(run.spark, run.warehouse, versions, window.read, run.request)
        found = audit(gate, sources, past, run.progress, lambda judged: leave_results(run, judged))
    gate.record()
    missing, observed = record.not_evaluated(gate.empty_sources), bool(found.outputs())
    leave_audited(run, replace(begun, observed=observed, not_evaluated=missing, warnings=gate.warnings))
    read = ", ".join(f"{name} {version}" for name, version in versions.items())
    return Outcome(f"run {begun.run_id} has read {read}, and staged its results", tuple(gate.warnings))


def publish_results(run: ScheduledRun) -> Outcome:
    """Judges what was counted of the staged rows, and replaces the request's steps in the tables by them; run again, it
    only says the same.

    Raises `QualityError` if a critical expectation fails: nothing is published, and `audit_runs` says rejected;
    `PublishConflictError` where another run is publishing the same steps.
    """
    audited = audited_by(run)
    row, warnings = _row(run, audited.run_id), list[str]()
    if row is not None and row.outcome == "published":
        says = f"run {audited.run_id} is already published"
    else:
        with claim(run.warehouse.folder(run.spark), run.request, audited.run_id):
            counts, warnings = _publish(run, audited, record.append if row is None else record.replace)
        rows = ", ".join(f"{name} {count}" for name, count in counts.items())
        says = f"run {audited.run_id} published {rows} rows"
    drop_results(run)
    return Outcome(says, tuple(warnings))


def _alone(task: Callable[[ScheduledRun], Outcome]) -> Callable[[ScheduledRun], Outcome]:
    """The task, which raises `PublishConflictError` while another process does one of the same run."""

    def done(run: ScheduledRun) -> Outcome:
        with claim_task(run.warehouse.folder(run.spark), run.name, run.staging):
            return task(run)

    return done


#: In the order in which they are run.
TASKS: Mapping[str, Callable[[ScheduledRun], Outcome]] = {
    "audit": _alone(audit_sources),
    "publish": _alone(publish_results),
}


def _publish(run: ScheduledRun, audited: StagedAudit, write: Write) -> tuple[dict[str, int], list[str]]:
    """How many rows were published, by table name, and what the reader should know of them."""
    gate, asks, missing = _gate(run, audited), _asked(run, audited), audited.not_evaluated
    run.progress("checking what was counted")
    found = JudgedRun.of(staged_results(run), is_observed=audited.observed)
    with rejected_if_closed(gate, asks, write):
        gate.outputs(found.counted.facts)
    warnings = record.what_was_not_audited(found.counted, run.request, missing)
    row = publish_checked(gate, found.outputs(), asks, missing, warnings + audited.warnings, run.progress, write)
    return row["row_counts"], warnings + gate.warnings


def _gate(run: ScheduledRun, audited: StagedAudit) -> Gate:
    return Gate(run.spark, run.warehouse, run.request, run.configuration, audited.run_id)


def _asked(run: ScheduledRun, audited: StagedAudit) -> dict[str, Any]:
    began = datetime.fromisoformat(audited.started_at)
    return record.asked(audited.run_id, began, run.request, audited.versions, run.configuration)


def _row(run: ScheduledRun, run_id: str) -> Row | None:
    """What `audit_runs` says of the run so far."""
    if not run.warehouse.exists(run.spark, AUDIT_RUNS):
        return None
    return run.warehouse.read(run.spark, AUDIT_RUNS).where(f"run_id = '{run_id}'").head()


T = TypeVar("T")


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
class StagedAudit:
    """Which run an audit was, what it read, and what the reader of its results should know."""

    run_id: str
    started_at: str
    configuration_hash: str
    versions: dict[str, int]
    #: Whether there was anything to judge: where there was not, there are no results.
    observed: bool = False
    not_evaluated: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def leave_results(run: ScheduledRun, judged: DataFrame) -> DataFrame:
    """Stages the judged steps, over those of an earlier try; as they were written."""
    return run.warehouse.stage(run.spark, _results(run), judged)


def leave_audited(run: ScheduledRun, audited: StagedAudit) -> None:
    """Says that all is staged: from now on it can be published."""
    rows = run.spark.createDataFrame([(json.dumps(asdict(audited)),)], "document string").coalesce(1)
    run.warehouse.stage(run.spark, _document(run), rows)


def drop_audited(run: ScheduledRun) -> None:
    """Nothing can be published before the next `leave_audited`."""
    run.warehouse.drop_stage(run.spark, _document(run))


def drop_results(run: ScheduledRun) -> None:
    """Removes the results, once they are published and `audit_runs` says so."""
    run.warehouse.drop_stage(run.spark, _results(run))


def audited_by(run: ScheduledRun) -> StagedAudit:
    """What its task `audit` left; raises `WarehouseError` where it left nothing, or had another configuration."""
    row = _there(run, _there(run, run.warehouse.staged(run.spark, _document(run))).head())
    audited = StagedAudit(**json.loads(row.document))
    if audited.configuration_hash != run.configuration.hash():
        raise WarehouseError(
            f"run {run.name} was audited with another configuration than this one: run its task audit again"
        )
    return audited


def staged_results(run: ScheduledRun) -> DataFrame:
    """The judged steps that its task `audit` left."""
    return _there(run, run.warehouse.staged(run.spark, _results(run)))


def _document(run: ScheduledRun) -> str:
    return f"{run.staging}_audited"


def _results(run: ScheduledRun) -> str:
    return f"{run.staging}_results"


def _there(run: ScheduledRun, staged: T | None) -> T:
    if staged is None:
        raise WarehouseError(
            f"the task audit of run {run.name} has staged nothing for {run.request.interval}: run it first"
        )
    return staged
