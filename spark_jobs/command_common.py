"""What commands share: starting Spark, exit codes, and what a program reads."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from expectations.suite import Severity
from spark_jobs.command_options import NEVER
from spark_jobs.domain.intervals import format_utc
from spark_jobs.domain.severities import SEVERITIES
from spark_jobs.errors import ExitCode
from spark_jobs.jobs.run import RunResult
from spark_jobs.quality.validation import Result
from spark_jobs.session import JARS_DIR, get_session
from spark_jobs.setup_jars import check_jars, check_java


def exit_code(severities: Iterable[str], fail_on: str, *, doubtful: bool = False) -> ExitCode:
    """1 if a finding is at or above `fail_on`, else 2 if one is a warning or the data is `doubtful` (an expectation
    failed, but no critical one), else 0.
    """
    ranks = [SEVERITIES.index(severity) for severity in severities]
    if any(rank >= (*SEVERITIES, NEVER).index(fail_on) for rank in ranks):
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if doubtful or SEVERITIES.index("WARN") in ranks else ExitCode.CLEAN


def run_exit_code(result: RunResult, fail_on: str) -> ExitCode:
    """The `exit_code` of a run."""
    severities = (finding["severity"] for finding in result.findings)
    return exit_code(severities, fail_on, doubtful=bool(result.quality_warnings))


def quality_exit_code(failed: Iterable[Result]) -> ExitCode:
    """1 if a critical expectation failed, else 2 if any did, else 0."""
    severities = {one.severity for one in failed}
    if Severity.CRITICAL in severities:
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if severities else ExitCode.CLEAN


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Of many steps: nothing published is worse than wrong usage, that than findings, and they than warnings only."""
    found = set(codes)
    worst_first = (ExitCode.NOT_PUBLISHED, ExitCode.USAGE, ExitCode.FINDINGS, ExitCode.WARNINGS)
    return next((code for code in worst_first if code in found), ExitCode.CLEAN)


def as_json(document: Mapping[str, Any]) -> str:
    """The document as ASCII JSON; times as ISO 8601 in UTC with Z."""
    return json.dumps(document, indent=2, default=_json_value)


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return format_utc(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def run_document(result: RunResult) -> dict[str, Any]:
    """A run for `as_json`."""
    warnings = {"warnings": result.warnings, "quality_warnings": result.quality_warnings}
    return {"run": result.run, "findings": result.findings} | warnings


def start_spark(say: Callable[[str], None]) -> SparkSession:
    """A session; raises `SetupError` where Java or Delta's jars are missing (spark-submit brings its own)."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
        check_jars(JARS_DIR)
    say("starting Spark")
    # Ctrl-C while Java starts would leave it running alone. Later it ends this process, and Java follows: Spark's
    # own handler would talk to Java in the middle of another call.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    # What Java prints (Delta's VACUUM does) is no output of the command.
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return get_session()
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
