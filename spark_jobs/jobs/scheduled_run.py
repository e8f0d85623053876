"""A scheduled run, and what its task `audit` stages for its task `publish`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config import Configuration
from spark_jobs.errors import WarehouseError
from spark_jobs.jobs.audit import Progress
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse

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
