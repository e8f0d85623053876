"""From a command's arguments to its exit code: start Spark, do one job, show the outcome."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console

from expectations.suite import Severity
from spark_jobs.cli import NEVER, SEVERITIES
from spark_jobs.config import load
from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.errors import ExitCode, RebalanceAuditError
from spark_jobs.jobs.backfill import Backfill, backfill, published_steps
from spark_jobs.jobs.demo import demo, example_files, next_steps
from spark_jobs.jobs.ingest import ingest
from spark_jobs.jobs.late import Reaudit, reaudit_late
from spark_jobs.jobs.run import RunRequest, RunResult, run
from spark_jobs.jobs.tasks import TASKS, ScheduledRun
from spark_jobs.jobs.validate import Validation, table_named, validate
from spark_jobs.quality.validation import Result
from spark_jobs.session import JARS_DIR, get_session
from spark_jobs.setup_jars import check_jars, check_java
from spark_jobs.terminal import printable, progress_on, show_findings, show_steps
from spark_jobs.terminal_backfill import bar_on, show_backfill
from spark_jobs.terminal_failures import show_failures
from spark_jobs.warehouse import Warehouse


def exit_code(severities: Iterable[str], fail_on: str, *, doubtful: bool = False) -> ExitCode:
    """1 if a finding is at or above `fail_on`, else 2 if one is a warning or the data is `doubtful` (an expectation
    failed, but no critical one), else 0.
    """
    ranks = [SEVERITIES.index(severity) for severity in severities]
    if any(rank >= (*SEVERITIES, NEVER).index(fail_on) for rank in ranks):
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if doubtful or SEVERITIES.index("WARN") in ranks else ExitCode.CLEAN


def backfill_exit_code(found: Backfill, fail_on: str) -> ExitCode:
    """The worst of all steps: `exit_code` of those that were audited, the error's of those that failed. Findings at or
    above `fail_on` are worse than warnings only.
    """
    codes = {exit_code(one.findings, fail_on, doubtful=bool(one.quality_warnings)) for one in found.audited.values()}
    codes |= {one.exit_code for one in found.failed.values()}
    worst_first = (ExitCode.NOT_PUBLISHED, ExitCode.USAGE, ExitCode.FINDINGS, ExitCode.WARNINGS)
    return next((code for code in worst_first if code in codes), ExitCode.CLEAN)


def quality_exit_code(failed: Iterable[Result]) -> ExitCode:
    """1 if a critical expectation failed, else 2 if any did, else 0."""
    severities = {one.severity for one in failed}
    if Severity.CRITICAL in severities:
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if severities else ExitCode.CLEAN


def as_json(document: Mapping[str, Any]) -> str:
    """The document as ASCII JSON; times as ISO 8601 in UTC with Z."""
    return json.dumps(document, indent=2, default=_json_value)


def _json_value(value: object) -> str:
    if isinstance(value, datetime):
        return format_utc(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _start_spark(say: Callable[[str], None]) -> SparkSession:
    """A session; raises `SetupError` where Java or Delta's jars are missing (spark-submit brings its own)."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
        check_jars(JARS_DIR)
    say("starting Spark")
    # Ctrl-C while Java starts would leave it running alone. Later it ends this process, and Java follows: Spark's
    # own handler would talk to Java in the middle of another call.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return get_session()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _ingest(arguments: Namespace) -> int:
    warehouse = Warehouse.parse(arguments.warehouse)
    with progress_on(Console(stderr=True)) as say:
        report = ingest(_start_spark(say), warehouse, arguments.FILE, arguments.cluster_name, progress=say)
    lines = [as_json(dataclasses.asdict(report))] if arguments.json else map(printable, str(report).splitlines())
    print(*lines, sep="\n")
    return ExitCode.CLEAN


def _run(arguments: Namespace) -> int:
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    configuration.grid.check_whole_steps(arguments.interval)
    request = RunRequest(arguments.interval, arguments.cluster, arguments.group, arguments.topic)
    with progress_on(Console(stderr=True)) as say:
        result = run(_start_spark(say), warehouse, request, configuration, say)
    _show(result, warehouse, as_document=arguments.json)
    return _run_exit_code(result, arguments.fail_on)


def _run_exit_code(result: RunResult, fail_on: str) -> ExitCode:
    severities = (finding["severity"] for finding in result.findings)
    return exit_code(severities, fail_on, doubtful=bool(result.quality_warnings))


def _late(arguments: Namespace) -> int:
    """The highest of the exit codes that the late steps have, each by itself."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    configuration.grid.check_whole_steps(arguments.interval)
    with progress_on(Console(stderr=True)) as say:
        late = reaudit_late(_start_spark(say), warehouse, configuration, arguments.interval, say)
    if arguments.json:
        print(as_json({"interval": str(arguments.interval), "late": [_reaudit_document(one) for one in late]}))
    else:
        for one in late:
            found = one.outcome
            told = f"audited again, {len(found.findings)} findings" if isinstance(found, RunResult) else str(found)
            print(f"{one.step}: {printable(told)}")
        print(f"{len(late)} published steps of {arguments.interval} were late.")
    return max((_reaudit_exit_code(one.outcome, arguments.fail_on) for one in late), default=ExitCode.CLEAN)


def _reaudit_document(one: Reaudit) -> dict[str, Any]:
    if isinstance(one.outcome, RebalanceAuditError):
        return {"step": str(one.step), "error": str(one.outcome)}
    return {"step": str(one.step)} | _run_document(one.outcome)


def _reaudit_exit_code(outcome: RunResult | RebalanceAuditError, fail_on: str) -> ExitCode:
    return outcome.exit_code if isinstance(outcome, RebalanceAuditError) else _run_exit_code(outcome, fail_on)


def _task(arguments: Namespace) -> int:
    """Exit code 0 also with warnings: a scheduler takes any other for a failure."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    configuration.grid.check_whole_steps(arguments.interval)
    request = RunRequest(arguments.interval, arguments.cluster, arguments.group)
    with progress_on(Console(stderr=True)) as say:
        scheduled = ScheduledRun(_start_spark(say), warehouse, request, configuration, arguments.run, say)
        outcome = TASKS[arguments.TASK](scheduled)
    if arguments.TASK == "report":
        show_findings(Console(), outcome.new_findings)
    print(printable(outcome.says))
    for warning in outcome.warnings:
        print(f"rebalance-audit: warning: {printable(warning)}", file=sys.stderr)
    if arguments.new_findings:
        Path(arguments.new_findings).write_text(as_json({"findings": outcome.new_findings}), encoding="utf-8")
    code = exit_code((finding["severity"] for finding in outcome.new_findings), arguments.fail_on)
    return ExitCode.CLEAN if code is ExitCode.WARNINGS else code


def _backfill(arguments: Namespace) -> int:
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    steps, console = list(configuration.grid.steps(arguments.interval)), Console(stderr=True)
    with progress_on(console) as say:
        spark = _start_spark(say)
        done = published_steps(spark, warehouse, arguments.interval, configuration) if arguments.only_missing else set()
    missing = [step for step in steps if step not in done]
    with bar_on(console, len(missing)) as tell:
        found = backfill(spark, warehouse, missing, configuration, arguments.jobs, tell)
    if arguments.json:
        print(as_json(_backfill_document(arguments.interval, found, sorted(done))))
    else:
        show_backfill(Console(), found, len(done))
    warnings = Counter(text for one in found.audited.values() for text in (*one.warnings, *one.quality_warnings))
    for text, times in warnings.items():
        print(f"rebalance-audit: warning, in steps: {times}: {printable(text)}", file=sys.stderr)
    return backfill_exit_code(found, arguments.fail_on)


def _backfill_document(interval: Interval, found: Backfill, left_out: Iterable[Interval]) -> dict[str, Any]:
    return {
        "interval": str(interval),
        "audited": [{"step": str(step)} | dataclasses.asdict(one) for step, one in found.audited.items()],
        "left_out": [str(step) for step in left_out],
        "failed": [{"step": str(step)} | dataclasses.asdict(one) for step, one in found.failed.items()],
        "findings": {
            severity: sum(one.findings.get(severity, 0) for one in found.audited.values()) for severity in SEVERITIES
        },
    }


def _validate(arguments: Namespace) -> int:
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    table = table_named(arguments.table) if arguments.table is not None else None
    if arguments.interval:
        configuration.grid.check_whole_steps(arguments.interval)
    with progress_on(Console(stderr=True)) as say:
        found = validate(_start_spark(say), warehouse, configuration, table, arguments.interval, say)
    failed = [one for one in found.results if not one.success]
    if arguments.json:
        print(as_json(_document(found, failed)))
    else:
        show_failures(Console(), [one._asdict() for one in failed], len(found.results))
        if found.pages:
            print(f"The pages are in {printable(str(found.pages))}")
    if not any(one.unexpected_count is not None for one in found.results):
        print(f"rebalance-audit: warning: nothing is in {found.interval or 'the tables'}", file=sys.stderr)
    return quality_exit_code(failed)


def _document(found: Validation, failed: Sequence[Result]) -> dict[str, Any]:
    checked = Counter(one.table_name for one in found.results)
    return {
        "run_id": found.run_id,
        "interval": str(found.interval) if found.interval else None,
        "checked": dict(checked),
        "failed": [one._asdict() for one in failed],
        "pages": str(found.pages) if found.pages else None,
    }


def _demo(arguments: Namespace) -> int:
    """Exit code 0 also with findings: the recording is full of them, and the demo has worked."""
    warehouse, files = Warehouse.parse(arguments.warehouse), example_files()
    with progress_on(Console(stderr=True)) as say:
        result = demo(_start_spark(say), warehouse, files, say)
    _show(result, warehouse, as_document=False)
    show_steps(Console(), next_steps(warehouse))
    return ExitCode.CLEAN


def _show(result: RunResult, warehouse: Warehouse, *, as_document: bool) -> None:
    if as_document:
        print(as_json(_run_document(result)))
    else:
        show_findings(Console(), result.findings)
        print(f"The tables are in {printable(warehouse.location)}")
    for warning in result.warnings + result.quality_warnings:
        print(f"rebalance-audit: warning: {printable(warning)}", file=sys.stderr)


def _run_document(result: RunResult) -> dict[str, Any]:
    warnings = {"warnings": result.warnings, "quality_warnings": result.quality_warnings}
    return {"run": result.run, "findings": result.findings} | warnings


COMMANDS: Mapping[str, Callable[[Namespace], int]] = {
    "ingest": _ingest,
    "run": _run,
    "task": _task,
    "backfill": _backfill,
    "late": _late,
    "validate": _validate,
    "demo": _demo,
}
