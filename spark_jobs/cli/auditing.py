"""The commands that load, audit and check: each starts Spark, does one job and shows the outcome."""

from __future__ import annotations

import dataclasses
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console

from schemas import OUTPUTS, SOURCES, Table
from spark_jobs.api.start import is_small, snapshots_of, start_spark
from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.cli.before import table_named
from spark_jobs.cli.documents import as_json, run_document
from spark_jobs.cli.exit_codes import quality_exit_code, run_exit_code
from spark_jobs.cli.reading import opened
from spark_jobs.cli.show_failures import show_failures
from spark_jobs.cli.show_findings import show_findings
from spark_jobs.cli.show_incidents import show_incidents
from spark_jobs.cli.terminal import from_here, own_command, printable, progress_on, show_next, show_steps
from spark_jobs.config.file import load
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import EVER, Interval, StepGrid
from spark_jobs.errors import ExitCode, NothingPublishedError
from spark_jobs.ingest.load import ingest
from spark_jobs.operate.demo import INTERVAL, demo, example_files, next_steps
from spark_jobs.operate.validate import Validation, validate
from spark_jobs.operate.verify import verify
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.run import RunResult
from spark_jobs.show.text.incident_text import worst_first
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, bytes_in
from spark_jobs.store.read.published import published_run
from spark_jobs.store.warehouse import Warehouse


def ingest_command(arguments: Namespace) -> int:
    """Exit code 2 where lines were quarantined, or nothing was there to be loaded."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with progress_on() as say:
        spark = start_spark(
            say, is_small(warehouse, arguments.scale, lambda _: sum(map(os.path.getsize, arguments.FILE)))
        )
        report = ingest(spark, warehouse, arguments.FILE, arguments.cluster_name, progress=say)
    lines = [as_json(vars(report))] if arguments.json else map(printable, str(report).splitlines())
    print(*lines, sep="\n")
    if report.span is None:
        print("rebalance-audit: warning: the files hold no snapshot: there is nothing to audit", file=sys.stderr)
    elif not arguments.json:
        show_next("run", {"warehouse": arguments.warehouse, "interval": str(_hours(*report.span))})
    return ExitCode.WARNINGS if report.quarantined or report.span is None else ExitCode.CLEAN


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
    _show(result, warehouse.location, incidents, as_document=arguments.json)
    if not arguments.json:
        show_next("report", {"warehouse": arguments.warehouse, "interval": str(arguments.interval)})
    return run_exit_code(result, arguments.fail_on)


def validate_command(arguments: Namespace) -> int:
    """The `quality_exit_code` of the expectations that failed."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    table = table_named(arguments.table) if arguments.table is not None else None
    if arguments.interval:
        configuration.grid.check_whole_steps(arguments.interval)
    with progress_on() as say:
        spark = start_spark(
            say,
            is_small(warehouse, arguments.scale, lambda tables: _bytes_to_validate(tables, table, arguments.interval)),
            checks=True,
        )
        validation = validate(spark, warehouse, configuration, table, arguments.interval, say)
    failed = [result for result in validation.results if not result.success]
    if arguments.json:
        print(as_json(_document(validation, failed)))
    else:
        show_failures(Console(), [result._asdict() for result in failed], len(validation.results))
        if validation.pages:
            print(f"The pages are in {printable(str(validation.pages))}")
    if not any(result.unexpected_count is not None for result in validation.results):
        print(f"rebalance-audit: warning: there is nothing in {validation.interval or 'the tables'}", file=sys.stderr)
    if not arguments.json:
        show_next("status", {"warehouse": arguments.warehouse})
    return quality_exit_code(failed)


def _document(validation: Validation, failed: Sequence[Result]) -> dict[str, Any]:
    checked = Counter(result.table_name for result in validation.results)
    return {
        "run_id": validation.run_id,
        "interval": str(validation.interval) if validation.interval else None,
        "checked": dict(checked),
        "failed": [result._asdict() for result in failed],
        "pages": str(validation.pages) if validation.pages else None,
    }


def _bytes_to_validate(tables: DeltaTables, table: Table | None, interval: Interval | None) -> int:
    return bytes_in(tables, [table] if table else (*SOURCES, *OUTPUTS), interval or EVER)


def verify_command(arguments: Namespace) -> int:
    """Exit code 0 where everything is as it was published, else 1."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with progress_on() as say:
        spark = start_spark(
            say,
            is_small(warehouse, arguments.scale, lambda tables: _bytes_to_verify(tables, arguments.RUN_ID)),
            checks=True,
        )
        result = verify(spark, warehouse, arguments.RUN_ID, say)
    if arguments.json:
        print(as_json(dataclasses.asdict(result)))
    else:
        same_code = (
            "the same code" if result.code_then == result.code_now else f"{result.code_then}, now {result.code_now}"
        )
        for name, contents in result.differs.items():
            texts = (f"{content['rows']:,} rows ({content['hash']})" for content in contents.values())
            print(f"{name} differs: published were {', now it is '.join(texts)}")
        outcome = "not as it was published" if result.differs else "as it was published, row by row"
        print(f"The run {printable(result.run_id)} of {result.interval} is {outcome}; {same_code}.")
        show_next("report", {"warehouse": arguments.warehouse, "interval": result.interval})
    return ExitCode.FINDINGS if result.differs else ExitCode.CLEAN


def _bytes_to_verify(tables: DeltaTables, run_id: str) -> int:
    run = published_run(tables, run_id)
    return bytes_in(tables, SOURCES, Interval(run["interval_start"], run["interval_end"]))


def demo_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: the recording is full of them, and the demo has worked."""
    warehouse, files = Warehouse.parse(arguments.warehouse), example_files()
    with progress_on() as say:
        spark = start_spark(say, is_small(warehouse, arguments.scale, snapshots_of(INTERVAL)), checks=True)
        outcome = demo(spark, warehouse, files, say)
        audited = open_warehouse(arguments.warehouse, progress=say)
        incidents = None if arguments.findings else _incidents(audited, INTERVAL)
    _show(outcome.result, warehouse, incidents, as_document=False)
    print(f"The report is in {printable(from_here(outcome.report))}: open it in a browser")
    show_steps(Console(), next_steps(arguments.warehouse, own_command()))
    return ExitCode.CLEAN


def _incidents(
    warehouse: AuditedWarehouse, interval: Interval, group: str | None = None, cluster: str | None = None
) -> list[Incident]:
    """What was seen in the interval, from its beginning: it may be long before."""
    try:
        return worst_first(warehouse.incidents(group, cluster=cluster, since=interval.start, until=interval.end))
    except NothingPublishedError:
        return []  # of a name that nothing was recorded of


def _show(result: RunResult, warehouse: Location, incidents: Sequence[Incident] | None, *, as_document: bool) -> None:
    if as_document:
        print(as_json(run_document(result)))
    else:
        if incidents is None:
            show_findings(Console(), result.findings)
        else:
            show_incidents(Console(), incidents)
        print(f"The tables are in {printable(warehouse.location)}")
    for warning in result.warnings + result.quality_warnings:
        print(f"rebalance-audit: warning: {printable(warning)}", file=sys.stderr)
