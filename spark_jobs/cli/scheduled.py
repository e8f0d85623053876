"""The commands of a schedule: tasks of a scheduled run, backfill, what came late, maintenance and what it did."""

from __future__ import annotations

import dataclasses
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from rich.console import Console

from schemas import TABLES
from spark_jobs.api.start import is_small, snapshots_of, start_spark
from spark_jobs.cli.documents import as_json, run_document
from spark_jobs.cli.exit_codes import backfill_exit_code, run_exit_code, worst
from spark_jobs.cli.show_backfill import bar_on, show_backfill
from spark_jobs.cli.terminal import Column, printable, progress_on, show_next, show_table
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.errors import ExitCode, RebalanceAuditError
from spark_jobs.operate.backfill import Backfill, backfill, published_steps
from spark_jobs.operate.late import Reaudit, is_nothing_late, reaudit_late
from spark_jobs.operate.maintain import check_retention, maintain
from spark_jobs.operate.upgrade import Upgraded, upgrade
from spark_jobs.operate.upkeep import Maintained, untouched
from spark_jobs.pipeline.run import RunRequest, RunResult
from spark_jobs.pipeline.tasks import TASKS, ScheduledRun
from spark_jobs.store.read.delta import bytes_in
from spark_jobs.store.warehouse import Warehouse


def task_command(arguments: Namespace) -> int:
    """Exit code 0 also with warnings: a scheduler takes any other for a failure."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    configuration.grid.check_whole_steps(arguments.interval)
    request = RunRequest(arguments.interval, arguments.cluster, arguments.group)
    with progress_on() as say:
        spark = start_spark(say, is_small(warehouse, arguments.scale, snapshots_of(arguments.interval)), checks=True)
        scheduled = ScheduledRun(spark, warehouse, request, configuration, arguments.run, say)
        outcome = TASKS[arguments.TASK](scheduled)
    print(printable(outcome.says))
    for warning in outcome.warnings:
        print(f"rebalance-audit: warning: {printable(warning)}", file=sys.stderr)
    return ExitCode.CLEAN


def backfill_command(arguments: Namespace) -> int:
    """The `backfill_exit_code` of all steps."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    steps, console = list(configuration.grid.steps(arguments.interval)), Console(stderr=True)
    with progress_on(console) as say:
        spark = start_spark(say, is_small(warehouse, arguments.scale, snapshots_of(arguments.interval)), checks=True)
        done = published_steps(spark, warehouse, arguments.interval, configuration) if arguments.only_missing else set()
    missing = [step for step in steps if step not in done]
    with bar_on(console, len(missing)) as tell:
        result = backfill(spark, warehouse, missing, configuration, arguments.jobs, tell)
    if arguments.json:
        print(as_json(_backfill_document(arguments.interval, result, sorted(done))))
    else:
        show_backfill(Console(), result, len(done))
        show_next("report", {"warehouse": arguments.warehouse, "interval": str(arguments.interval)})
    warnings = Counter(
        text for audited in result.audited.values() for text in (*audited.warnings, *audited.quality_warnings)
    )
    for text, times in warnings.items():
        print(f"rebalance-audit: warning, in steps: {times}: {printable(text)}", file=sys.stderr)
    return backfill_exit_code(result, arguments.fail_on)


def _backfill_document(interval: Interval, result: Backfill, left_out: Iterable[Interval]) -> dict[str, Any]:
    return {
        "interval": str(interval),
        "audited": [{"step": str(step)} | dataclasses.asdict(audited) for step, audited in result.audited.items()],
        "left_out": [str(step) for step in left_out],
        "failed": [{"step": str(step)} | dataclasses.asdict(failure) for step, failure in result.failed.items()],
        "findings": {
            severity: sum(audited.findings.get(severity, 0) for audited in result.audited.values())
            for severity in SEVERITIES
        },
    }


def late_command(arguments: Namespace) -> int:
    """The worst of the exit codes that the late steps have, each by itself."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    configuration.grid.check_whole_steps(arguments.interval)
    with progress_on() as say:
        say("looking for late snapshots")
        late = []
        if not is_nothing_late(warehouse, configuration, arguments.interval):
            spark = start_spark(
                say, is_small(warehouse, arguments.scale, snapshots_of(arguments.interval)), checks=True
            )
            late = reaudit_late(spark, warehouse, configuration, arguments.interval, say)
    if arguments.json:
        print(as_json({"interval": str(arguments.interval), "late": [_reaudit_document(reaudit) for reaudit in late]}))
    else:
        for reaudit in late:
            if isinstance(reaudit.outcome, RunResult):
                print(f"{reaudit.step}: audited again, {len(reaudit.outcome.findings)} findings")
        print(f"{len(late)} published steps of {arguments.interval} were late.")
        show_next("status", {"warehouse": arguments.warehouse})
    for reaudit in late:
        if isinstance(reaudit.outcome, RebalanceAuditError):
            print(f"rebalance-audit: {reaudit.step}: {printable(str(reaudit.outcome))}", file=sys.stderr)
    return worst(_reaudit_exit_code(reaudit.outcome, arguments.fail_on) for reaudit in late)


def _reaudit_document(reaudit: Reaudit) -> dict[str, Any]:
    if isinstance(reaudit.outcome, RebalanceAuditError):
        return {"step": str(reaudit.step), "error": str(reaudit.outcome)}
    return {"step": str(reaudit.step)} | run_document(reaudit.outcome)


def _reaudit_exit_code(outcome: RunResult | RebalanceAuditError, fail_on: str) -> ExitCode:
    return outcome.exit_code if isinstance(outcome, RebalanceAuditError) else run_exit_code(outcome, fail_on)


def maintain_command(arguments: Namespace) -> int:
    """Exit code 0 where every table was maintained; what does not hold is an error."""
    warehouse, retention = Warehouse.parse(arguments.warehouse), timedelta(days=arguments.retention_days)
    check_retention(retention)
    with progress_on() as say:
        say("looking for what is to be done")
        maintained, upgraded = None if arguments.upgrade else untouched(warehouse, retention), list[Upgraded]()
        if maintained is None:
            spark = start_spark(say, is_small(warehouse, arguments.scale, lambda tables: bytes_in(tables, TABLES)))
            upgraded = upgrade(spark, warehouse, say) if arguments.upgrade else []
            maintained = maintain(spark, warehouse, retention, say)
    if arguments.json:
        document = {"tables": [dataclasses.asdict(table) for table in maintained]}
        changes = {"upgraded": [dataclasses.asdict(change) for change in upgraded]} if arguments.upgrade else {}
        print(as_json(document | changes))
    else:
        if arguments.upgrade:
            show_upgraded(Console(), upgraded)
        show_maintained(Console(), maintained)
        show_next("status", {"warehouse": arguments.warehouse})
    return ExitCode.CLEAN


_MAINTAINED: tuple[Column[Maintained], ...] = (
    Column("table", lambda table: table.table, "{}", fold=True),
    Column("files", lambda table: f"{table.files_before}→{table.files_after}", "files={}", right=True, fixed=True),
    Column(
        "MB",
        lambda table: f"{table.bytes_before / 1e6:.1f}→{table.bytes_after / 1e6:.1f}",
        "MB={}",
        right=True,
        fixed=True,
    ),
    Column(
        "version", lambda table: f"{table.version_before}→{table.version_after}", "version={}", right=True, fixed=True
    ),
    Column("days kept", lambda table: str(table.retention_days), "days_kept={}", right=True, fixed=True),
)


def show_maintained(console: Console, maintained: Sequence[Maintained]) -> None:
    """Files and MB before and after, and how long versions stay readable."""
    summary = f"{len(maintained)} tables maintained; their constraints hold."
    show_table(console, "Maintained tables", _MAINTAINED, maintained, summary)


def show_upgraded(console: Console, upgraded: Sequence[Upgraded]) -> None:
    """A line per change, or that there was none."""
    for table in upgraded:
        console.print(f"{table.table}: {table.change}", markup=False, highlight=False, soft_wrap=True)
    if not upgraded:
        console.print("All tables are up to date.", highlight=False)
