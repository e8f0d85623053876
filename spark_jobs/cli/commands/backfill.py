"""Audit the steps of a long history, with their progress, and show what became of each."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from spark_jobs.api.start import snapshots_of
from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import backfill_exit_code
from spark_jobs.cli.session import spark_for
from spark_jobs.cli.show_incidents import findings_text
from spark_jobs.cli.terminal import (
    Column,
    is_quiet,
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
from spark_jobs.operate.backfill import Audited, Backfill, Failed, StepProgress, backfill, published_steps
from spark_jobs.store.warehouse import Warehouse


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
