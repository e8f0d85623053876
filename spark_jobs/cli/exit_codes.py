"""Which exit code an outcome has."""

from __future__ import annotations

from collections.abc import Iterable

from expectations.suite import Severity
from spark_jobs.cli.options import NEVER
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.errors import ExitCode
from spark_jobs.operate.backfill import Audited, Backfill
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.run import RunResult


def exit_code(severities: Iterable[str], fail_on: str, *, doubtful: bool = False) -> ExitCode:
    """1 if a finding is at or above `fail_on`, else 2 if one is a warning or the data is `doubtful` (an expectation
    failed, but no critical one; nothing was observed), else 0.
    """
    ranks = [SEVERITIES.index(severity) for severity in severities]
    if any(rank >= (*SEVERITIES, NEVER).index(fail_on) for rank in ranks):
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if doubtful or SEVERITIES.index("WARN") in ranks else ExitCode.CLEAN


def run_exit_code(result: RunResult, fail_on: str) -> ExitCode:
    """The `exit_code` of a run; findings that are silenced do not count, nor does what follows from them."""
    return exit_code(result.reported_severities(), fail_on, doubtful=_is_doubtful(result))


def _is_doubtful(audit: RunResult | Audited) -> bool:
    return bool(audit.quality_warnings) or not audit.observed


def backfill_exit_code(result: Backfill, fail_on: str) -> ExitCode:
    """The worst of all steps: `exit_code` of those that were audited, the error's of those that failed. Findings at or
    above `fail_on` are worse than warnings only.
    """
    audited = result.audited.values()
    codes = {exit_code(step.findings, fail_on, doubtful=_is_doubtful(step)) for step in audited}
    return worst(codes | {failure.exit_code for failure in result.failed.values()})


def quality_exit_code(failed: Iterable[Result]) -> ExitCode:
    """1 if a critical expectation failed, else 2 if any did, else 0."""
    severities = {result.severity for result in failed}
    if Severity.CRITICAL in severities:
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if severities else ExitCode.CLEAN


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Of many steps: nothing published is worse than wrong usage, that than findings, and they than warnings only."""
    distinct = set(codes)
    worst_first = (ExitCode.NOT_PUBLISHED, ExitCode.USAGE, ExitCode.FINDINGS, ExitCode.WARNINGS)
    return next((code for code in worst_first if code in distinct), ExitCode.CLEAN)
