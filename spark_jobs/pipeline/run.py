"""The main job: read the snapshots of whole steps, replay, find what was wrong, publish.

`run` is the list of its steps, each a function of what the one before gave; `tasks` does the same in two processes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from expectations.suite import Severity
from schemas import CLIENT_SNAPSHOTS, OUTPUTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.incidents.team_routes import findings_with_teams
from spark_jobs.domain.model.mutes import unreported_ids
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.pipeline.audit_run import AuditRun, Progress, published_row, write
from spark_jobs.pipeline.check import (
    check,
    record_results,
    reject_if_critical,
    set_rejected_aside,
    unused_sources,
    usual_of,
)
from spark_jobs.pipeline.gather.gather import Gathered
from spark_jobs.pipeline.gather.judged import judged_steps, unpacked
from spark_jobs.pipeline.publish.claims import Claimed, claim
from spark_jobs.pipeline.publish.publisher import publish
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.publish.turns import Turn, publishing
from spark_jobs.pipeline.quality.checks import CheckResults, failures
from spark_jobs.pipeline.quality.counted import Counted, counted_in
from spark_jobs.pipeline.quality.drift import Usual
from spark_jobs.pipeline.sightings import with_sightings, with_unanswered
from spark_jobs.pipeline.sources import read_sources
from spark_jobs.store.parallel import beside
from spark_jobs.store.warehouse import Warehouse

__all__ = ["JudgedRun", "RunRequest", "RunResult", "judge", "publish_judged", "run"]

_LOG = logging.getLogger(__name__)
#: Makes a frame stay, as it is or as what was written of it.
Keep = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class JudgedRun:
    """Result of one pass over the sources: the rows of every output table, packed and kept, and what was counted; names
    of the rules that could not be evaluated; what the checks of the sources saw, and what failed in words.
    """

    packed: DataFrame
    counted: Counted
    not_evaluated: list[str]
    checked: CheckResults
    quality_warnings: list[str]

    def outputs(self) -> dict[Table, DataFrame]:
        """The output tables that have rows."""
        return {table: unpacked(self.packed, table) for table in OUTPUTS if self.counted.facts[table]}


@dataclass(frozen=True)
class RunResult:
    """Result of a run: its row of `audit_runs`, its findings as dicts with their `team`, what the reader should know of
    what was not audited, which expectations failed without keeping the run from being published, and whether anything
    was observed.
    """

    run: dict[str, Any]
    findings: list[dict[str, Any]]
    warnings: list[str]
    quality_warnings: list[str]
    observed: bool = True

    def reported_severities(self) -> list[str]:
        """The severities of the findings that are reported: neither they are silenced nor their roots."""
        muted = unreported_ids((row["finding_id"], row["root_finding_id"], row["muted"]) for row in self.findings)
        return [row["severity"] for row in self.findings if row["finding_id"] not in muted]


def run(
    spark: SparkSession,
    warehouse: Warehouse,
    request: RunRequest,
    configuration: Configuration,
    progress: Progress = lambda _: None,
) -> RunResult:
    """Audit the request's steps and publish them; the same run again gives the same tables.

    Raises `IntervalError` off the grid, `WarehouseError` or `SchemaMismatchError` for sources that cannot be read,
    `PublishConflictError` where another run has the same steps, `QualityError` where a critical expectation fails:
    nothing is published then, and `audit_runs` says so.
    """
    this = AuditRun.begin(spark, warehouse, request, configuration, progress)
    with claim(warehouse.folder(spark), request, this.run_id) as claimed:
        usual = usual_of(this)
        judged = judge(this, usual)
        reject_if_critical(this, judged.checked)
        return publish_judged(this, judged, usual, claimed)


def in_memory(frame: DataFrame) -> DataFrame:
    """The frame, kept by the executors."""
    return frame.localCheckpoint()


def judge(this: AuditRun, usual: Usual | None, keep: Keep = in_memory) -> JudgedRun:
    """Reads, folds, gathers, checks and evaluates every group in one pass over the sources, and sets rows aside that
    break a rule. `keep` makes the evaluated rows stay.
    """
    this.progress("reading the snapshots")
    gathered = with_unanswered(this, with_sightings(this, Gathered.of(read_sources(this))))
    this.progress("checking and auditing every group")
    packed = keep(judged_steps(gathered, this.request, this.configuration, this.check_settings))
    _LOG.info("%s: audited", this.request.interval)
    this.progress("checking what was counted")
    counted = counted_in(packed)
    checked = check(this, SOURCES, counted.facts, usual)
    quarantined = set_rejected_aside(this, packed, counted.facts)
    unused = unused_sources(counted.facts)
    if len(unused) == len(SOURCES) and not len(gathered.beside["consumer_group"].drop_null()):
        counted = counted.without_outputs()
    not_evaluated = sorted(rule.name for rule in RULES if not unused.isdisjoint(rule.needs))
    aside = [f"{count} rows of {name} are in quarantine" for name, count in quarantined.items()]
    return JudgedRun(packed, counted, not_evaluated, checked, aside + failures(checked.results, Severity.WARNING))


def publish_judged(this: AuditRun, judged: JudgedRun, usual: Usual | None, claimed: Claimed) -> RunResult:
    """Checks the evaluated rows, publishes them, and records the run and the results of its checks. `claimed`: the
    run's `claim`.

    Raises `QualityError` if a critical expectation fails, `WarehouseError`, `PublishConflictError` or `PublishError`
    where they cannot be published.
    """
    of_outputs = check(this, OUTPUTS, judged.counted.facts, usual)
    checked = judged.checked + of_outputs
    reject_if_critical(this, checked)
    warnings = not_audited_warnings(judged, this.request)
    quality_warnings = judged.quality_warnings + failures(of_outputs.results, Severity.WARNING)
    this.progress("publishing")
    recording = beside(lambda: record_results(this.spark, this.warehouse, this.run_id, checked))
    with publishing(this.spark, this.warehouse, this.request, this.run_id, claimed) as turn, recording:
        row = _published(this, judged, warnings + quality_warnings, turn)
    findings = findings_with_teams(this.configuration.routes, judged.counted.findings)
    return RunResult(row, findings, warnings, quality_warnings, judged.counted.observed)


def _published(this: AuditRun, judged: JudgedRun, warnings: list[str], turn: Turn) -> dict[str, Any]:
    """The row of `audit_runs`, written when every table is."""
    one_step = this.configuration.grid.is_one_step(this.request.interval)
    outputs = judged.outputs()
    tables = publish(this.spark, this.warehouse, this.request, outputs, this.run_id, turn=turn, one_step=one_step)
    row = published_row(this, tables, judged.not_evaluated, warnings)
    this.progress("recording the run")
    turn.check()  # nor is a run recorded in a place from which the warehouse has vanished
    write(this, row, turn.options())
    return row


def not_audited_warnings(judged: JudgedRun, request: RunRequest) -> list[str]:
    """Return what the reader of the findings should know of what was not audited."""
    counted = judged.counted
    if not counted.observed:
        return [
            f"nothing was observed in {request.interval}: there are no snapshots, so nothing is known about that time"
        ]
    warnings = [
        f"{cluster}/{group} could not be replayed for {', '.join(topics)}: {reason}"
        for cluster, group, reason, topics in counted.skipped
    ]
    if counted.assumed:
        warnings.append(
            f"AVG was assumed for {counted.assumed} groups, as neither clients nor configuration name their strategy, "
            "and no client reports its queues (see strategy_source)"
        )
    if judged.not_evaluated:
        warnings.append(f"not evaluated, as {CLIENT_SNAPSHOTS.name} has no rows: {', '.join(judged.not_evaluated)}")
    return warnings
