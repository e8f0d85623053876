"""One audit as two tasks, each a process of its own that a scheduler starts, retries and runs again.

`audit` checks the sources, judges and stages, with what its checks have counted; `publish` lets the gate judge that,
and publishes. Run again, `audit`
stages anew and `publish` has nothing to do; out of turn, or while another process does a task of the run, it refuses.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Row

from schemas import AUDIT_RUNS
from spark_jobs.jobs import record
from spark_jobs.jobs.audit import JudgedRun, audit, window_of
from spark_jobs.jobs.check import Gate
from spark_jobs.jobs.outcome import Write, publish_checked, rejected_if_closed
from spark_jobs.jobs.scheduled_run import (
    ScheduledRun,
    StagedAudit,
    audited_by,
    drop_audited,
    drop_results,
    leave_audited,
    leave_results,
    staged_results,
)
from spark_jobs.jobs.sightings import Past
from spark_jobs.jobs.sources import pinned_versions, read_sources
from spark_jobs.publish.claims import claim, claim_task


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
        past = Past(run.spark, run.warehouse, versions, run.request, run.configuration)
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
