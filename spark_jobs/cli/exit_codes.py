"""Which exit code an outcome has."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from expectations.suite import Severity
from spark_jobs.cli.options import NEVER
from spark_jobs.domain.model.severities import ERROR, SEVERITIES, WARN
from spark_jobs.errors import ExitCode, RebalanceAuditError

if TYPE_CHECKING:
    from spark_jobs.domain.coverage import Coverage
    from spark_jobs.operate.backfill import Outcome
    from spark_jobs.pipeline.run_record import RunRecord


def exit_code(severities: Iterable[str], fail_on: str, coverage: Coverage, *, doubtful: bool = False) -> ExitCode:
    """1 for an incident or finding at or above `fail_on`, or a cluster of which nothing was recorded, an ERROR; else 2
    for one from WARN on, `doubtful` data (an expectation), or an answer that is not about the whole; else 0.
    """
    silent = [ERROR] if coverage.silent else []
    worst = max((SEVERITIES.index(severity) for severity in (*severities, *silent)), default=-1)
    if worst >= (*SEVERITIES, NEVER).index(fail_on):
        return ExitCode.FINDINGS
    doubtful = doubtful or not coverage.is_whole
    return ExitCode.WARNINGS if doubtful or worst >= SEVERITIES.index(WARN) else ExitCode.CLEAN


def run_exit_code(record: RunRecord, fail_on: str) -> ExitCode:
    """The `exit_code` of a run; findings that are silenced do not count, nor does what follows from them."""
    doubtful = bool(record.quality_warnings) or not record.observed
    return exit_code(record.severities, fail_on, record.coverage, doubtful=doubtful)


def steps_exit_code(outcomes: Iterable[Outcome], fail_on: str) -> ExitCode:
    """The worst code of all steps: nothing published > wrong usage > findings > warnings only."""
    codes = {
        outcome.exit_code if isinstance(outcome, RebalanceAuditError) else run_exit_code(outcome, fail_on)
        for outcome in outcomes
    }
    worst_first = (ExitCode.NOT_PUBLISHED, ExitCode.USAGE, ExitCode.FINDINGS, ExitCode.WARNINGS)
    return next((code for code in worst_first if code in codes), ExitCode.CLEAN)


def quality_exit_code(severities: Collection[str]) -> ExitCode:
    """1 if something that failed is critical, else 2 if something is a warning, else 0."""
    if Severity.CRITICAL in severities:
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if Severity.WARNING in severities else ExitCode.CLEAN
