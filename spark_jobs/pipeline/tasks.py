"""One audit as two tasks, each a process of its own that a scheduler starts, retries and runs again.

They do what `run` does, with its results staged in between: `audit` evaluates and stages, `publish` checks and
publishes. Run again, `audit` stages again and `publish` has nothing to do; out of turn, or while another process does a
task of the run, it refuses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TypeVar

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS
from spark_jobs.config import Configuration
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.audit_run import AuditRun, Progress
from spark_jobs.pipeline.check import record_results, reject_if_critical, usual_of
from spark_jobs.pipeline.publish.claims import claim, claim_task
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.quality.checks import CheckResults
from spark_jobs.pipeline.quality.counted import counted_in
from spark_jobs.pipeline.run import JudgedRun, judge, publish_judged
from spark_jobs.pipeline.sources import changed_sources
from spark_jobs.store.staging import drop_staged, stage, staged
from spark_jobs.store.warehouse import Warehouse

T = TypeVar("T")


@dataclass(frozen=True)
class ScheduledRun:
    """Input of every task of one scheduled run; `name` is the scheduler's own for it."""

    spark: SparkSession
    warehouse: Warehouse
    request: RunRequest
    configuration: Configuration
    name: str
    progress: Progress = lambda _: None

    @property
    def staging(self) -> str:
        """Under which name its tasks stage: no other run of the same steps has it."""
        return hashlib.sha256(f"{self.name}\n{self.request.as_json()}".encode()).hexdigest()[:16]

    @property
    def results(self) -> str:
        """Under which name the evaluated rows are staged."""
        return f"{self.staging}_results"

    @property
    def document(self) -> str:
        """Under which name the `StagedAudit` is staged: it is there when everything is, and only then."""
        return f"{self.staging}_audited"


@dataclass(frozen=True)
class StagedAudit:
    """Which run an audit was, what it read, and what the task `publish` should know of it."""

    run_id: str
    started_at: str
    configuration_hash: str
    versions: dict[str, int]
    #: Whether there was anything to judge.
    observed: bool
    not_evaluated: list[str]
    warnings: list[str]


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task: in a sentence; warnings."""

    says: str
    warnings: tuple[str, ...] = ()


def audit_sources(scheduled: ScheduledRun) -> Outcome:
    """Begins a run: checks the sources, sets rows aside that break a rule, audits, and stages the results.

    Raises `QualityError` if a table has too many of those: `audit_runs` then says rejected.
    """
    spark, warehouse, configuration = scheduled.spark, scheduled.warehouse, scheduled.configuration
    drop_staged(spark, warehouse, scheduled.document)
    run = AuditRun.begin(spark, warehouse, scheduled.request, configuration, scheduled.progress)
    judged = judge(run, usual_of(run), lambda packed: stage(spark, warehouse, scheduled.results, packed))
    reject_if_critical(run, judged.checked)
    record_results(spark, warehouse, run.run_id, judged.checked)
    audited = StagedAudit(
        run.run_id,
        run.started_at.isoformat(),
        configuration.hash(),
        dict(run.versions),
        bool(judged.outputs()),
        judged.not_evaluated,
        judged.quality_warnings,
    )
    document = spark.createDataFrame([(json.dumps(asdict(audited)),)], "document string").coalesce(1)
    stage(spark, warehouse, scheduled.document, document)
    read = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    return Outcome(f"run {run.run_id} has read {read}, and staged its results", tuple(judged.quality_warnings))


def publish_results(scheduled: ScheduledRun) -> Outcome:
    """Evaluates what was counted of the staged rows, and replaces the request's steps in the tables by them; run again,
    it only says the same. Snapshots of the steps that came or changed since the task `audit` are audited first.

    Raises `QualityError` if a critical expectation fails: nothing is published, and `audit_runs` says rejected;
    `PublishConflictError` where another run is publishing the same steps.
    """
    run, audited = _audited(scheduled)
    outcome = _outcome(run)
    if outcome == "published":
        says, warnings = f"run {run.run_id} is already published", list[str]()
    else:
        if changed := changed_sources(run):
            run.progress(f"auditing again, as {' and '.join(changed)} changed since the task audit")
            audit_sources(scheduled)
            run, audited = _audited(scheduled)
            outcome = None
        with claim(run.warehouse.folder(run.spark), run.request, run.run_id) as claimed:
            run.progress("checking what was counted")
            judged = _judged(scheduled, audited)
            begun = replace(run, is_recorded=outcome is not None)
            result = publish_judged(begun, judged, usual_of(run), claimed)
        rows = ", ".join(f"{name} {count}" for name, count in result.run["row_counts"].items())
        says = f"run {run.run_id} published {rows} rows"
        if changed:
            says += f"; it was audited again, as {' and '.join(changed)} changed since the task audit"
        # The task `audit` has printed the warnings about the sources.
        printed = set(judged.quality_warnings)
        warnings = result.warnings + [warning for warning in result.quality_warnings if warning not in printed]
    drop_staged(run.spark, run.warehouse, scheduled.results)
    return Outcome(says, tuple(warnings))


def _alone(task: Callable[[ScheduledRun], Outcome]) -> Callable[[ScheduledRun], Outcome]:
    """The task, which raises `PublishConflictError` while another process does one of the same run."""

    def done(scheduled: ScheduledRun) -> Outcome:
        with claim_task(scheduled.warehouse.folder(scheduled.spark), scheduled.name, scheduled.staging):
            return task(scheduled)

    return done


#: In the order in which they are run.
TASKS: Mapping[str, Callable[[ScheduledRun], Outcome]] = {
    "audit": _alone(audit_sources),
    "publish": _alone(publish_results),
}


def _audited(scheduled: ScheduledRun) -> tuple[AuditRun, StagedAudit]:
    """The run that the task `audit` began; raises `WarehouseError` where it has staged nothing, or had another
    configuration.
    """
    spark, warehouse, configuration = scheduled.spark, scheduled.warehouse, scheduled.configuration
    document = _required(scheduled, staged(spark, warehouse, scheduled.document))
    audited = StagedAudit(**json.loads(_required(scheduled, document.head()).document))
    if audited.configuration_hash != configuration.hash():
        raise WarehouseError(
            f"run {scheduled.name} was audited with another configuration than this one: run its task audit again"
        )
    began = datetime.fromisoformat(audited.started_at)
    run = AuditRun(
        spark, warehouse, scheduled.request, configuration, audited.run_id, began, audited.versions, scheduled.progress
    )
    return run, audited


def _judged(scheduled: ScheduledRun, audited: StagedAudit) -> JudgedRun:
    """Return what the task `audit` gave; the results of its checks are recorded already."""
    packed = _required(scheduled, staged(scheduled.spark, scheduled.warehouse, scheduled.results))
    counted = counted_in(packed)
    if not audited.observed:
        counted = counted.without_outputs()
    return JudgedRun(packed, counted, audited.not_evaluated, CheckResults(), audited.warnings)


def _required(scheduled: ScheduledRun, staged: T | None) -> T:
    if staged is None:
        raise WarehouseError(
            f"the task audit of run {scheduled.name} has staged nothing for {scheduled.request.interval}: run it first"
        )
    return staged


def _outcome(run: AuditRun) -> str | None:
    """Return what `audit_runs` says has become of the run so far."""
    if not run.warehouse.exists(run.spark, AUDIT_RUNS):
        return None
    row = run.warehouse.read(run.spark, AUDIT_RUNS).where(f"run_id = '{run.run_id}'").head()
    return None if row is None else row.outcome
