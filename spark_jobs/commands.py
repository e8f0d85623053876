"""From a command's arguments to its exit code: start Spark, do one job, show the outcome."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console

from spark_jobs.cli import SEVERITIES
from spark_jobs.config import load
from spark_jobs.domain.intervals import format_utc
from spark_jobs.errors import ExitCode
from spark_jobs.jobs.demo import demo, example_files, next_steps
from spark_jobs.jobs.ingest import ingest
from spark_jobs.jobs.run import RunRequest, RunResult, run
from spark_jobs.session import JARS_DIR, get_session
from spark_jobs.setup_jars import check_jars, check_java
from spark_jobs.terminal import printable, progress_on, show_findings, show_steps
from spark_jobs.warehouse import Warehouse


def exit_code(severities: Iterable[str], fail_on: str) -> ExitCode:
    """1 if a finding is at or above `fail_on`, else 2 if one is a warning, else 0."""
    ranks = [SEVERITIES.index(severity) for severity in severities]
    if any(rank >= SEVERITIES.index(fail_on) for rank in ranks):
        return ExitCode.FINDINGS
    return ExitCode.WARNINGS if SEVERITIES.index("WARN") in ranks else ExitCode.CLEAN


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
    return exit_code((finding["severity"] for finding in result.findings), arguments.fail_on)


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
        print(as_json({"run": result.run, "findings": result.findings, "warnings": result.warnings}))
    else:
        show_findings(Console(), result.findings)
        print(f"The tables are in {printable(warehouse.location)}")
    for warning in result.warnings:
        print(f"rebalance-audit: warning: {printable(warning)}", file=sys.stderr)


COMMANDS: Mapping[str, Callable[[Namespace], int]] = {"ingest": _ingest, "run": _run, "demo": _demo}
