"""The commands of a schedule: tasks of a scheduled run, backfill, what came late, maintenance and what it did."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from schemas import TABLES
from spark_jobs.api.start import snapshots_of
from spark_jobs.cli.auditing import spark_for
from spark_jobs.cli.documents import answered, run_document
from spark_jobs.cli.exit_codes import backfill_exit_code, run_exit_code, worst
from spark_jobs.cli.show_incidents import findings_text
from spark_jobs.cli.terminal import (
    Column,
    is_quiet,
    measure,
    print_line,
    print_to_stderr,
    printable,
    progress_on,
    show_next,
    show_table,
)
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.errors import ExitCode, RebalanceAuditError
from spark_jobs.operate.backfill import Audited, Backfill, Failed, StepProgress, backfill, published_steps
from spark_jobs.operate.late import Reaudit, is_nothing_late, reaudit_late
from spark_jobs.operate.maintain import check_retention, maintain
from spark_jobs.operate.retention import ExpiredRows, Keep, delete_expired, expired_rows
from spark_jobs.operate.upgrade import Upgraded, upgrade
from spark_jobs.operate.upkeep import Maintained, nothing_to_maintain
from spark_jobs.pipeline.run import RunRequest
from spark_jobs.pipeline.tasks import TASKS, ScheduledRun
from spark_jobs.store.read.delta import bytes_in
from spark_jobs.store.warehouse import Warehouse


def task_command(arguments: Namespace) -> int:
    """Exit code 0 also with warnings: a scheduler takes any other for a failure."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    request = RunRequest(arguments.interval, arguments.cluster, arguments.group)
    with progress_on() as say:
        spark = spark_for(arguments, say, snapshots_of(arguments.interval))
        outcome = TASKS[arguments.TASK](ScheduledRun(spark, warehouse, request, configuration, arguments.run, say))
    print(printable(outcome.says))
    for warning in outcome.warnings:
        print_to_stderr(f"warning: {warning}")
    return ExitCode.CLEAN


def backfill_command(arguments: Namespace) -> int:
    """The `backfill_exit_code` of all steps."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    console = Console(stderr=True)
    with progress_on(console) as say:
        spark = spark_for(arguments, say, snapshots_of(arguments.interval))
        done = published_steps(spark, warehouse, arguments.interval, configuration) if arguments.only_missing else set()
    missing = [step for step in configuration.grid.steps(arguments.interval) if step not in done]
    with bar_on(console, len(missing)) as tell:
        result = backfill(spark, warehouse, missing, configuration, arguments.jobs, tell)
    if not answered(arguments, _backfill_document(arguments.interval, result, sorted(done))):
        show_backfill(Console(), result, len(done))
        show_next("report", arguments.warehouse, interval=str(arguments.interval))
    audited = result.audited.values()
    warnings = Counter(text for step in audited for text in (*step.warnings, *step.quality_warnings))
    for text, times in warnings.items():
        print_to_stderr(f"warning, in steps: {times}: {text}")
    return backfill_exit_code(result, arguments.fail_on)


def _backfill_document(interval: Interval, result: Backfill, left_out: Iterable[Interval]) -> dict[str, Any]:
    return {
        "interval": interval,
        "audited": [{"step": step} | vars(audited) for step, audited in result.audited.items()],
        "left_out": [*left_out],
        "failed": [{"step": step} | vars(failure) for step, failure in result.failed.items()],
        "findings": {
            severity: sum(audited.findings.get(severity, 0) for audited in result.audited.values())
            for severity in SEVERITIES
        },
    }


def late_command(arguments: Namespace) -> int:
    """The worst of the exit codes that the late steps have, each by itself."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    late: list[Reaudit] = []
    with progress_on() as say:
        say("looking for late snapshots")
        if not is_nothing_late(warehouse, configuration, arguments.interval):
            spark = spark_for(arguments, say, snapshots_of(arguments.interval))
            late = reaudit_late(spark, warehouse, configuration, arguments.interval, say)
    documents = [_reaudit_document(reaudit) for reaudit in late]
    if not answered(arguments, {"interval": arguments.interval, "late": documents}):
        for reaudit in late:
            if not isinstance(reaudit.outcome, RebalanceAuditError):
                print(f"{reaudit.step}: audited again, {len(reaudit.outcome.findings)} findings")
        print(f"{len(late)} published steps of {arguments.interval} were late.")
        show_next("status", arguments.warehouse)
    for reaudit in late:
        if isinstance(reaudit.outcome, RebalanceAuditError):
            print_to_stderr(f"{reaudit.step}: {reaudit.outcome}")
    return worst(
        outcome.exit_code if isinstance(outcome, RebalanceAuditError) else run_exit_code(outcome, arguments.fail_on)
        for outcome in (reaudit.outcome for reaudit in late)
    )


def _reaudit_document(reaudit: Reaudit) -> dict[str, Any]:
    outcome = reaudit.outcome
    of_step = {"error": str(outcome)} if isinstance(outcome, RebalanceAuditError) else run_document(outcome)
    return {"step": reaudit.step} | of_step


def maintain_command(arguments: Namespace) -> int:
    """Exit code 0 where every table was maintained; what does not hold is an error."""
    warehouse, retention = Warehouse.parse(arguments.warehouse), timedelta(days=arguments.retention_days)
    keep = Keep(arguments.keep_snapshots, arguments.keep_results)
    check_retention(retention)
    if arguments.dry_run:
        return _show_expired(arguments, warehouse, keep)
    changes: dict[str, Sequence[Upgraded | ExpiredRows]] = {}
    with progress_on() as say:
        say("looking for what is to be done")
        maintained = None if arguments.upgrade or keep != Keep() else nothing_to_maintain(warehouse, retention)
        if maintained is None:
            spark = _spark_for_all(arguments, say)
            if arguments.upgrade:
                changes["upgraded"] = upgrade(spark, warehouse, say)
            if keep != Keep():
                changes["deleted"] = delete_expired(spark, warehouse, keep, say)
            maintained = maintain(spark, warehouse, retention, say)
    if not answered(arguments, {"tables": maintained} | changes):
        _show_changes(changes)
        show_maintained(Console(), maintained)
        show_next("status", arguments.warehouse)
    return ExitCode.CLEAN


def _spark_for_all(arguments: Namespace, say: Callable[[str], None]) -> SparkSession:
    return spark_for(arguments, say, lambda tables: bytes_in(tables, TABLES), checks=False)


def _show_expired(arguments: Namespace, warehouse: Warehouse, keep: Keep) -> int:
    """Show the rows that the same command without --dry-run deletes."""
    with progress_on() as say:
        expired = expired_rows(_spark_for_all(arguments, say), warehouse, keep, say)
    if not answered(arguments, {"would_delete": expired}):
        _show_changes({"would_delete": expired})
    return ExitCode.CLEAN


def _show_changes(changes: Mapping[str, Sequence[Upgraded | ExpiredRows]]) -> None:
    for kind, of_kind in changes.items():
        verb, nothing = _CHANGES[kind]
        for change in of_kind:
            print_line(Console(), f"{verb}{change}")
        if not of_kind:
            print(nothing)


_NOTHING_EXPIRED = "No rows are older than they are kept."
#: How a change of each kind begins, and what is shown where there is none.
_CHANGES = {
    "upgraded": ("", "All tables are up to date."),
    "deleted": ("deleted from ", _NOTHING_EXPIRED),
    "would_delete": ("would delete from ", _NOTHING_EXPIRED),
}


def show_maintained(console: Console, maintained: Sequence[Maintained]) -> None:
    """Files and MB before and after, and how long versions stay readable."""
    summary = f"{len(maintained)} tables maintained; their constraints hold."
    show_table(console, "Maintained tables", _MAINTAINED, maintained, summary)


_MAINTAINED: tuple[Column[Maintained], ...] = (
    Column("table", lambda table: table.table, "{}", fold=True),
    measure("files", "files", lambda table: f"{table.files_before}→{table.files_after}", fixed=True),
    measure("MB", "MB", lambda table: f"{table.bytes_before / 1e6:.1f}→{table.bytes_after / 1e6:.1f}", fixed=True),
    measure("version", "version", lambda table: f"{table.version_before}→{table.version_after}", fixed=True),
    measure("days kept", "days_kept", lambda table: str(table.retention_days), fixed=True),
)


#: A step that has come to its end, and what became of it.
Ended: TypeAlias = tuple[Interval, Audited | Failed]


@contextmanager
def bar_on(console: Console, total: int) -> Iterator[StepProgress]:
    """A function that shows the progress of `total` steps: a bar with each step's stage on a terminal, else one line
    per finished step.
    """
    ended = count(1)
    if is_quiet():
        yield lambda *_: None
        return
    if not console.is_terminal:

        def line(step: Interval, message: str, has_ended: bool) -> None:
            if has_ended:
                print_line(console, f"{next(ended)} of {total}: {step} {' '.join(message.split())}")

        yield line
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        BarColumn(bar_width=10),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as display:
        total_bar = display.add_task(f"0 of {total} steps", total=total)
        under_way: dict[Interval, TaskID] = {}

        def tell(step: Interval, message: str, has_ended: bool) -> None:
            description = printable(f"{format_utc(step.start)} {message}")
            if step in under_way:
                display.update(under_way[step], description=description)
            else:
                under_way[step] = display.add_task(description, total=None)
            if has_ended:
                display.remove_task(under_way.pop(step))
                display.update(total_bar, advance=1, description=f"{next(ended)} of {total} steps")

        yield tell


def show_backfill(console: Console, result: Backfill, left_out: int) -> None:
    """Show what became of every step, its findings by severity or the reason it failed, and how many were left out."""
    severities = sum((Counter(audited.findings) for audited in result.audited.values()), Counter[str]())
    counts = f"Steps: {len(result.audited)} audited, {left_out} left out, {len(result.failed)} failed. "
    ended: list[Ended] = [*result.audited.items(), *result.failed.items()]
    show_table(console, "Steps (UTC)", _STEP_COLUMNS, ended, counts + findings_text(severities))


def _ending(ended: Ended) -> Text:
    return Text("failed", "bold red") if isinstance(ended[1], Failed) else Text("audited")


def _findings(ended: Ended) -> str | tuple[str, ...]:
    _, outcome = ended
    if isinstance(outcome, Failed):
        return outcome.error, *outcome.reason.splitlines()
    return findings_text(outcome.findings)


def _findings_word(ended: Ended) -> str:
    _, outcome = ended
    if isinstance(outcome, Failed):
        return f"{outcome.error}: {' '.join(outcome.reason.split())}"
    return f"run={outcome.run_id} {findings_text(outcome.findings)}"


_STEP_COLUMNS = (
    Column("", _ending, "{}", fold=True),
    Column[Ended]("step", lambda ended: str(ended[0]), "{}", fold=True),
    Column("findings", _findings, _findings_word, fold=True),
)
