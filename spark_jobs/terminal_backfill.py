"""What a person sees of a backfill: a bar while it goes on, then what became of every step; plain lines where nobody
watches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from spark_jobs.domain.intervals import Interval, format_utc
from spark_jobs.jobs import backfill
from spark_jobs.jobs.backfill import Backfill
from spark_jobs.terminal import findings_text, print_line, printable, stacked, titled_table


@contextmanager
def bar_on(console: Console, total: int) -> Iterator[backfill.Progress]:
    """A function that is told of the steps, of which there are so many: a bar, and what is being done to each step, on
    a terminal, else one line per step that has come to its end.
    """
    ended = count(1)
    if not console.is_terminal:

        def line(step: Interval, message: str, has_ended: bool) -> None:
            if has_ended:
                words = f"{next(ended)} of {total}: {step} {' '.join(message.split())}"
                print_line(console, words)

        yield line
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        BarColumn(bar_width=10),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as display:
        whole = display.add_task(f"0 of {total} steps", total=total)
        under_way: dict[Interval, TaskID] = {}

        def tell(step: Interval, message: str, has_ended: bool) -> None:
            words = printable(f"{format_utc(step.start)} {message}")
            if step in under_way:
                display.update(under_way[step], description=words)
            else:
                under_way[step] = display.add_task(words, total=None)
            if has_ended:
                display.remove_task(under_way.pop(step))
                display.update(whole, advance=1, description=f"{next(ended)} of {total} steps")

        yield tell


def show_backfill(console: Console, found: Backfill, left_out: int) -> None:
    """What became of every step, its findings by severity or the reason it failed, and how many were left out."""
    if (found.audited or found.failed) and console.is_terminal:
        console.print(_table(found))
    else:
        for words in _lines(found):
            print_line(console, words)
    together = sum((Counter(one.findings) for one in found.audited.values()), Counter[str]())
    told = f"Steps: {len(found.audited)} audited, {left_out} left out, {len(found.failed)} failed. "
    console.print(told + findings_text(together), soft_wrap=True, highlight=False)


def _table(found: Backfill) -> Table:
    table = titled_table("Steps (UTC)")
    for heading in ("", "step", "findings"):
        table.add_column(heading, overflow="fold")
    for step, audited in found.audited.items():
        table.add_row("audited", str(step), findings_text(audited.findings))
    for step, failed in found.failed.items():
        table.add_row(Text("failed", "bold red"), str(step), stacked(failed.error, *failed.reason.splitlines()))
    return table


def _lines(found: Backfill) -> Iterator[str]:
    for step, audited in found.audited.items():
        yield f"audited {step} run={audited.run_id} {findings_text(audited.findings)}"
    for step, failed in found.failed.items():
        yield f"failed {step} {failed.error}: {' '.join(failed.reason.split())}"
