"""The output of `backfill`: a progress bar, then the outcome of every step; plain lines where there is no terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from spark_jobs.cli.show_findings import findings_text
from spark_jobs.cli.terminal import Column, print_line, printable, show_table
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.operate import backfill
from spark_jobs.operate.backfill import Audited, Backfill, Failed

#: A step that has come to its end, and what became of it.
Ended: TypeAlias = tuple[Interval, Audited | Failed]


@contextmanager
def bar_on(console: Console, total: int) -> Iterator[backfill.Progress]:
    """A function that shows the progress of `total` steps: a bar with each step's stage on a terminal, else one line
    per finished step.
    """
    ended = count(1)
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
    """What became of every step, its findings by severity or the reason it failed, and how many were left out."""
    severities = sum((Counter(audited.findings) for audited in result.audited.values()), Counter[str]())
    counts = f"Steps: {len(result.audited)} audited, {left_out} left out, {len(result.failed)} failed. "
    ended: list[Ended] = [*result.audited.items(), *result.failed.items()]
    show_table(console, "Steps (UTC)", _COLUMNS, ended, counts + findings_text(severities))


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


_COLUMNS = (
    Column("", _ending, "{}", fold=True),
    Column[Ended]("step", lambda ended: str(ended[0]), "{}", fold=True),
    Column("findings", _findings, _findings_word, fold=True),
)
