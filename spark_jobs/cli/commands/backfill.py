"""Audit the steps of a long history, with their progress, and show what became of each."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import count
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from spark_jobs.api.start import snapshots_of, spark_for
from spark_jobs.cli import terminal
from spark_jobs.cli.commands.run import findings_text
from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import steps_exit_code
from spark_jobs.cli.tables import Column, show_table
from spark_jobs.domain.model.intervals import EVER, Interval, format_utc
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.phrases import count as count_of
from spark_jobs.errors import ExitCode, RebalanceAuditError
from spark_jobs.operate.backfill import Filling, Outcome, StepProgress, VersionsRead, audited, backfill, failed, filling
from spark_jobs.operate.late import changed_steps
from spark_jobs.store.read.through_spark import readable_tables
from spark_jobs.store.warehouse import Warehouse


def backfill_command(arguments: Namespace) -> int:
    """The `steps_exit_code` of all steps; 2 in the place of 0 if steps are still missing."""
    configuration, warehouse = arguments.config, Warehouse.parse(arguments.warehouse)
    console = Console(stderr=True)
    with terminal.progress_on(console) as say:
        spark = cache(lambda: spark_for(warehouse, arguments.scale, say, snapshots_of(arguments.interval or EVER)))
        if arguments.only_missing:
            chosen = _missing(arguments, warehouse, spark)
        else:
            chosen = Filling([*configuration.grid.steps(arguments.interval)])
        outcomes: Mapping[Interval, Outcome] = {}
        if chosen.steps:
            spark()
    if chosen.steps:
        with bar_on(console, len(chosen.steps)) as tell:
            outcomes = backfill(spark(), warehouse, chosen.steps, configuration, arguments.jobs, tell)
    if not answered(arguments, _backfill_document(arguments.interval, outcomes, chosen)):
        show_backfill(Console(), outcomes, chosen)
        terminal.show_next("report", arguments.warehouse, interval=arguments.interval and str(arguments.interval))
    records = audited(outcomes).values()
    warnings = Counter(text for record in records for text in (*record.warnings, *record.quality_warnings))
    for text, times in warnings.items():
        terminal.print_to_stderr(f"warning, in steps: {times}: {text}")
    code = steps_exit_code(outcomes.values(), arguments.fail_on)
    return code or (ExitCode.WARNINGS if chosen.rejected or chosen.postponed else code)


def _missing(arguments: Namespace, warehouse: Warehouse, spark: Callable[[], SparkSession]) -> Filling:
    """Spark starts only if it alone reads the warehouse, or compares what rejected steps would read."""
    configuration = arguments.config
    stored = readable_tables(warehouse, spark)

    def changed(versions: VersionsRead) -> set[Interval]:
        return changed_steps(spark(), warehouse, stored, configuration, versions)

    return filling(stored, configuration, datetime.now(UTC), changed, arguments.interval, arguments.most)


#: A step that has come to its end, and what became of it.
Ended: TypeAlias = tuple[Interval, Outcome]
#: Of an audited step, what its JSON has besides its id.
_OF_STEP = ("warnings", "quality_warnings", "observed")


def _backfill_document(
    interval: Interval | None, outcomes: Mapping[Interval, Outcome], chosen: Filling
) -> dict[str, Any]:
    records, errors = audited(outcomes), failed(outcomes)
    severities = _severities(outcomes)
    return {
        "interval": interval,
        "audited": [
            {"step": step, "run_id": record.run["run_id"], "findings": record.severities}
            | {name: getattr(record, name) for name in _OF_STEP}
            for step, record in records.items()
        ],
        "left_out": [*chosen.left_out],
        "rejected": [*chosen.rejected],
        "postponed": chosen.postponed,
        "failed": [
            {"step": step, "error": type(error).__name__, "reason": str(error), "exit_code": error.exit_code}
            for step, error in errors.items()
        ],
        "findings": {severity: severities[severity] for severity in SEVERITIES},
    }


def _severities(outcomes: Mapping[Interval, Outcome]) -> Counter[str]:
    """The findings of all steps by severity."""
    return sum((Counter(record.severities) for record in audited(outcomes).values()), Counter[str]())


@contextmanager
def bar_on(console: Console, total: int) -> Iterator[StepProgress]:
    """A function that shows the progress of `total` steps: bars on a terminal, else a line per finished step."""
    ended = count(1)
    if terminal.QUIET.get():
        yield lambda *_: None
        return
    if not console.is_terminal:

        def line(step: Interval, message: str, has_ended: bool) -> None:
            if has_ended:
                terminal.print_line(console, f"{next(ended)} of {total}: {step} {' '.join(message.split())}")

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
            description = terminal.printable(f"{format_utc(step.start)} {message}")
            if step in under_way:
                display.update(under_way[step], description=description)
            else:
                under_way[step] = display.add_task(description, total=None)
            if has_ended:
                display.remove_task(under_way.pop(step))
                display.update(total_bar, advance=1, description=f"{next(ended)} of {total} steps")

        yield tell


def show_backfill(console: Console, outcomes: Mapping[Interval, Outcome], chosen: Filling) -> None:
    """Show what became of every step, its findings by severity or the reason it failed, and how many were left out."""
    left_out = len(chosen.left_out)
    counts = f"Steps: {len(audited(outcomes))} audited, {left_out} left out, {len(failed(outcomes))} failed. "
    ended: list[Ended] = [*audited(outcomes).items(), *failed(outcomes).items()]
    show_table(console, "Steps (UTC)", _STEP_COLUMNS, ended, counts + findings_text(_severities(outcomes)))
    if chosen.rejected:
        number = count_of(len(chosen.rejected), "rejected step")
        terminal.print_line(console, f"Not tried again, as the snapshots did not change: {number}.")
    if chosen.postponed:
        terminal.print_line(console, f"Still missing: {count_of(chosen.postponed, 'step')}.")


def _ending(ended: Ended) -> Text:
    return Text("failed", "bold red") if isinstance(ended[1], RebalanceAuditError) else Text("audited")


def _findings(ended: Ended) -> str | tuple[str, ...]:
    _, outcome = ended
    if isinstance(outcome, RebalanceAuditError):
        return type(outcome).__name__, *str(outcome).splitlines()
    return findings_text(outcome.severities)


def _findings_word(ended: Ended) -> str:
    _, outcome = ended
    if isinstance(outcome, RebalanceAuditError):
        return f"{type(outcome).__name__}: {' '.join(str(outcome).split())}"
    return f"run={outcome.run['run_id']} {findings_text(outcome.severities)}"


_STEP_COLUMNS: tuple[Column[Ended], ...] = (
    Column("", _ending, "{}", fold=True),
    Column("step", lambda ended: str(ended[0]), "{}", fold=True),
    Column("findings", _findings, _findings_word, fold=True),
)
