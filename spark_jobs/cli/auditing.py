"""The commands that load, audit and check: each starts Spark, does one job and shows the outcome."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.text import Text

from schemas import OUTPUTS, SOURCES
from spark_jobs.api.start import is_small, snapshots_of, start_spark
from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.cli.before import table_named
from spark_jobs.cli.documents import answered, as_json, run_document
from spark_jobs.cli.exit_codes import quality_exit_code, run_exit_code
from spark_jobs.cli.reading import opened
from spark_jobs.cli.show_incidents import show_findings, show_incidents
from spark_jobs.cli.terminal import (
    Column,
    from_here,
    own_command,
    print_to_stderr,
    printable,
    progress_on,
    show_next,
    show_table,
)
from spark_jobs.config.file import load
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, Interval, StepGrid, format_utc
from spark_jobs.errors import ExitCode, NothingPublishedError
from spark_jobs.ingest.load import ingest
from spark_jobs.ingest.logs.recorded import LogRecording, recording_of_logs, write_recording
from spark_jobs.ingest.logs.snapshots import recorded_spans
from spark_jobs.ingest.logs.sources import LogFolder
from spark_jobs.operate.demo import INTERVAL, demo, example_files
from spark_jobs.operate.validate import Validation, validate
from spark_jobs.operate.verify import verify
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.run import RunResult
from spark_jobs.show.text.incident_text import worst_first
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, bytes_in
from spark_jobs.store.read.published import published_run
from spark_jobs.store.warehouse import Warehouse


def spark_for(
    arguments: Namespace, say: Callable[[str], None], amount: Callable[[DeltaTables], int], *, checks: bool = True
) -> SparkSession:
    """A session for work on so many bytes, as `start_spark` starts it."""
    return start_spark(say, is_small(Location.parse(arguments.warehouse), arguments.scale, amount), checks=checks)


def ingest_command(arguments: Namespace) -> int:
    """Exit code 2 where lines were quarantined, or nothing was there to be loaded."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with TemporaryDirectory() as folder, progress_on() as say:
        logs = _recorded_by_logs(arguments, say) if arguments.logs else None
        spark = spark_for(arguments, say, lambda _: sum(map(os.path.getsize, arguments.FILE)), checks=False)
        report = ingest(spark, warehouse, arguments.FILE, arguments.cluster_name, progress=say)
        if logs is not None:
            recorded = recorded_spans(spark, warehouse, arguments.cluster_name)
            file = write_recording(logs, Path(folder) / "logs.jsonl.gz", recorded)
            report += ingest(spark, warehouse, [file], progress=say)
    lines = [as_json(vars(report))] if arguments.json else map(printable, str(report).splitlines())
    print(*lines, sep="\n")
    if report.span is None:
        print_to_stderr("warning: the files hold no snapshot: there is nothing to audit")
    elif not arguments.json:
        show_next("run", arguments.warehouse, interval=str(_hours(*report.span)))
    return ExitCode.WARNINGS if report.quarantined or report.span is None else ExitCode.CLEAN


def _recorded_by_logs(arguments: Namespace, say: Callable[[str], None]) -> LogRecording:
    """The recording that the logs make; says what was read of them."""
    say("reading the logs")
    folders = [LogFolder.parse(text) for text in arguments.logs]
    recordings = list(map(Path, arguments.FILE))
    recording = recording_of_logs(folders, arguments.cluster_name, arguments.log_zone, recordings, arguments.state_at)
    for line in str(recording).splitlines():
        print_to_stderr(line)
    return recording


def _hours(earliest: datetime, latest: datetime) -> Interval:
    """The whole hours around these times, which `run` audits unless configured otherwise."""
    grid = StepGrid(timedelta(hours=1))
    return Interval(grid.floor(earliest), grid.floor(latest) + grid.length)


def run_command(arguments: Namespace) -> int:
    """The `run_exit_code` of one run."""
    names = {"cluster": arguments.cluster, "group": arguments.group}
    with opened(arguments) as warehouse:
        result = warehouse.run(arguments.interval, **names, topic=arguments.topic, scale=arguments.scale)
        incidents = None if arguments.findings or arguments.json else _incidents(warehouse, arguments.interval, **names)
    if not answered(arguments, run_document(result)):
        _show(result, warehouse.location, incidents)
    _warn(result)
    if not arguments.json:
        show_next("report", arguments.warehouse, interval=str(arguments.interval))
    return run_exit_code(result, arguments.fail_on)


def validate_with_spark(arguments: Namespace) -> int:
    """The `quality_exit_code` of the expectations that failed."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    table = table_named(arguments.table) if arguments.table is not None else None
    tables = [table] if table else [*SOURCES, *OUTPUTS]
    with progress_on() as say:
        spark = spark_for(arguments, say, lambda stored: bytes_in(stored, tables, arguments.interval or EVER))
        validation = validate(spark, warehouse, configuration, table, arguments.interval, say)
    failed = [result for result in validation.results if not result.success]
    if not answered(arguments, _validation_document(validation, failed)):
        show_failures(Console(), [result._asdict() for result in failed], len(validation.results))
        if validation.pages:
            print(f"The pages are in {printable(str(validation.pages))}")
    if not any(result.unexpected_count is not None for result in validation.results):
        print_to_stderr(f"warning: there is nothing in {validation.interval or 'the tables'}")
    if not arguments.json:
        show_next("status", arguments.warehouse)
    return quality_exit_code(failed)


def _validation_document(validation: Validation, failed: Sequence[Result]) -> dict[str, Any]:
    return {
        "run_id": validation.run_id,
        "interval": validation.interval,
        "checked": Counter(result.table_name for result in validation.results),
        "failed": [result._asdict() for result in failed],
        "pages": str(validation.pages) if validation.pages else None,
    }


def verify_command(arguments: Namespace) -> int:
    """Exit code 0 where everything is as it was published, else 1."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with progress_on() as say:
        spark = spark_for(arguments, say, lambda tables: _bytes_to_verify(tables, arguments.RUN_ID))
        result = verify(spark, warehouse, arguments.RUN_ID, say)
    if not answered(arguments, vars(result)):
        same_code = (
            "the same code" if result.code_then == result.code_now else f"{result.code_then}, now {result.code_now}"
        )
        for name, contents in result.differs.items():
            texts = (f"{content['rows']:,} rows ({content['hash']})" for content in contents.values())
            print(f"{name} differs: published were {', now it is '.join(texts)}")
        outcome = "not as it was published" if result.differs else "as it was published, row by row"
        print(f"The run {printable(result.run_id)} of {result.interval} is {outcome}; {same_code}.")
        show_next("report", arguments.warehouse, interval=str(result.interval))
    return ExitCode.FINDINGS if result.differs else ExitCode.CLEAN


def _bytes_to_verify(tables: DeltaTables, run_id: str) -> int:
    run = published_run(tables, run_id)
    return bytes_in(tables, SOURCES, Interval(run["interval_start"], run["interval_end"]))


def demo_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: the recording is full of them, and the demo has worked."""
    warehouse, files = Warehouse.parse(arguments.warehouse), example_files()
    with progress_on() as say:
        spark = spark_for(arguments, say, snapshots_of(INTERVAL))
        result, report = demo(spark, warehouse, files, say)
        audited = open_warehouse(arguments.warehouse, progress=say)
        incidents = None if arguments.findings else _incidents(audited, INTERVAL)
    _show(result, warehouse, incidents)
    _warn(result)
    print(f"The report is in {printable(from_here(report))}: open it in a browser")
    show_next_steps(Console(), arguments.warehouse)
    return ExitCode.CLEAN


def show_next_steps(console: Console, warehouse: str) -> None:
    """Show what to try after the demo: a line for each command, ready to be copied, with what it is for."""
    of_warehouse = f"--warehouse {shlex.quote(warehouse)}"
    console.print(Text("\nTry next", style="bold"))
    for command, purpose in (
        (f"status {of_warehouse}", "what needs attention"),
        (f"explain {of_warehouse} --group payment-service --at 2026-11-21T02:10", "one group at one moment"),
        ("--help", "everything else"),
    ):
        console.print(Text.assemble(f"{own_command()} {command}", (f"  # {purpose}", "dim")), soft_wrap=True)


def _incidents(
    warehouse: AuditedWarehouse, interval: Interval, group: str | None = None, cluster: str | None = None
) -> list[Incident]:
    """Return what was seen in the interval, from its beginning: it may be long before."""
    try:
        return worst_first(
            warehouse.incidents(group, cluster=cluster, since=interval.start, until=interval.end).incidents
        )
    except NothingPublishedError:
        return []  # of a name that nothing was recorded of


def _show(result: RunResult, warehouse: Location, incidents: Sequence[Incident] | None) -> None:
    if incidents is None:
        show_findings(Console(), result.findings)
    else:
        show_incidents(Console(), incidents)
    print(f"The tables are in {printable(warehouse.location)}")


def _warn(result: RunResult) -> None:
    for warning in result.warnings + result.quality_warnings:
        print_to_stderr(f"warning: {warning}")


#: A result of an expectation that failed in a step, as its row of `quality_results`.
Failure = Mapping[str, Any]

_FAILURE_STYLES = {"critical": "bold red", "warning": "yellow"}


def show_failures(console: Console, failures: Sequence[Failure], checked: int) -> None:
    """Which expectations failed, of so many checked, critical ones first: each with its first step, what was seen
    there, and a key.
    """
    in_order = sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"]))
    per_expectation = by_key(in_order, itemgetter("table_name", "expectation", "column_name"))
    outcome = f"{len(per_expectation)} failed" if per_expectation else "all hold"
    summary = f"{checked} expectations × steps checked: {outcome}."
    show_table(console, "Failed expectations", _FAILURE_COLUMNS, [*per_expectation.values()], summary, ruled=True)


def _expectation(failures: Sequence[Failure]) -> tuple[str, str]:
    first = failures[0]
    column = f"({first['column_name']})" if first["column_name"] else ""
    return f"{first['expectation']}{column}", first["table_name"]


def _observed(failures: Sequence[Failure]) -> str:
    first, rows = failures[0], failures[0]["unexpected_count"]
    return f"{first['observed_value']:g}" if rows is None else f"{rows} rows ({first['unexpected_percent']:.2g} %)"


def _example(failures: Sequence[Failure]) -> str:
    return next(iter(failures[0]["examples"]), "")


def _severity(failures: Sequence[Failure]) -> Text:
    return Text(failures[0]["severity"], _FAILURE_STYLES[failures[0]["severity"]])


def _first_and_count(failures: Sequence[Failure]) -> tuple[str, str]:
    return format_utc(failures[0]["step_start"]), str(len(failures))


def _example_word(failures: Sequence[Failure]) -> str:
    return f"example={_example(failures)}" if failures[0]["examples"] else ""


#: Of the failures of one expectation, the first step first.
_FAILURE_COLUMNS: tuple[Column[Sequence[Failure]], ...] = (
    Column("", _severity, "{}", fixed=True),
    Column("expectation\ntable", _expectation, "{} table={}", fold=True),
    Column("first step\nfailed steps", _first_and_count, "steps={1} first={0}", fixed=True),
    Column("observed", _observed, "observed={}", fold=True),
    Column("for example", _example, _example_word, fold=True),
)
