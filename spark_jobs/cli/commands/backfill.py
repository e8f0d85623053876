"""Audit the steps of a long history, with their progress, and show what became of each."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from spark_jobs.api.start import snapshots_of, spark_for
from spark_jobs.cli import terminal
from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import steps_exit_code
from spark_jobs.cli.show_incidents import findings_text
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.errors import RebalanceAuditError
from spark_jobs.operate.backfill import Outcome, StepProgress, audited, backfill, failed, published_steps
from spark_jobs.store.warehouse import Warehouse


def backfill_command(arguments: Namespace) -> int:
    """The `steps_exit_code` of all steps."""
    configuration, warehouse = arguments.config, Warehouse.parse(arguments.warehouse)
    console = Console(stderr=True)
    with terminal.progress_on(console) as say:
        spark = spark_for(warehouse, arguments.scale, say, snapshots_of(arguments.interval))
        done = published_steps(spark, warehouse, arguments.interval, configuration) if arguments.only_missing else set()
    missing = [step for step in configuration.grid.steps(arguments.interval) if step not in done]
    with bar_on(console, len(missing)) as tell:
        outcomes = backfill(spark, warehouse, missing, configuration, arguments.jobs, tell)
    if not answered(arguments, _backfill_document(arguments.interval, outcomes, sorted(done))):
        show_backfill(Console(), outcomes, len(done))
        terminal.show_next("report", arguments.warehouse, interval=str(arguments.interval))
    records = audited(outcomes).values()
    warnings = Counter(text for record in records for text in (*record.warnings, *record.quality_warnings))
    for text, times in warnings.items():
        terminal.print_to_stderr(f"warning, in steps: {times}: {text}")
    return steps_exit_code(outcomes.values(), arguments.fail_on)


#: A step that has come to its end, and what became of it.
Ended: TypeAlias = tuple[Interval, Outcome]
#: Of an audited step, what its JSON has besides its id.
_OF_STEP = ("warnings", "quality_warnings", "observed")


def _backfill_document(
    interval: Interval, outcomes: Mapping[Interval, Outcome], left_out: Iterable[Interval]
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
        "left_out": [*left_out],
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


def show_backfill(console: Console, outcomes: Mapping[Interval, Outcome], left_out: int) -> None:
    """Show what became of every step, its findings by severity or the reason it failed, and how many were left out."""
    counts = f"Steps: {len(audited(outcomes))} audited, {left_out} left out, {len(failed(outcomes))} failed. "
    ended: list[Ended] = [*audited(outcomes).items(), *failed(outcomes).items()]
    terminal.show_table(console, "Steps (UTC)", _STEP_COLUMNS, ended, counts + findings_text(_severities(outcomes)))


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


_STEP_COLUMNS: tuple[terminal.Column[Ended], ...] = (
    terminal.Column("", _ending, "{}", fold=True),
    terminal.Column("step", lambda ended: str(ended[0]), "{}", fold=True),
    terminal.Column("findings", _findings, _findings_word, fold=True),
)
