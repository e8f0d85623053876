"""What a person sees while a command works, and how text reaches a terminal.

Names come from clients and may hold anything: no control character, and no markup, reaches the terminal raw.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from spark_jobs.domain import phrases
from spark_jobs.domain.intervals import parse_utc

_NAME = "rebalance-audit"
SEVERITY_STYLES = {"ERROR": "bold red", "WARN": "yellow", "INFO": "cyan"}


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{3})?)?Z")
#: The zone in which times are shown, of the command that runs.
_zone: ContextVar[tzinfo] = ContextVar("_zone", default=UTC)


def show_times_in(zone: tzinfo) -> None:
    """From now on, this command shows times in this zone."""
    _zone.set(zone)


def local(moment: datetime) -> datetime:
    """The moment in the zone in which times are shown."""
    return moment.astimezone(_zone.get())


def zone_name() -> str:
    """What the zone in which times are shown is called."""
    return str(_zone.get())


def printable(text: str) -> str:
    """The text with every character that could steer a terminal (or hide) as an escape, and its times in the zone."""
    inert = phrases.printable(text)
    return inert if _zone.get() is UTC else _TIME.sub(_shown, inert)


def _shown(found: re.Match[str]) -> str:
    """The same moment, as exactly as it was told."""
    precision = {17: "minutes", 20: "seconds"}.get(len(found[0]), "milliseconds")
    return local(parse_utc(found[0])).isoformat(timespec=precision)


def print_line(console: Console, text: str) -> None:
    """The text as one line, as it is: no markup, no emoji codes, nothing that could steer a terminal."""
    console.print(Text(printable(text)), soft_wrap=True)


@contextmanager
def progress_on(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that says what is being done: a spinner with its time on a terminal, else one line each."""
    if not console.is_terminal:
        yield lambda message: print_line(console, message)
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as display:

        def done() -> None:
            for task in display.task_ids:
                display.update(task, total=1, completed=1)

        def say(message: str) -> None:
            done()
            display.add_task(printable(message), total=None)

        yield say
        done()


def own_command() -> str:
    """How this command is called here, as one would type it: by its name only where the shell finds it by that."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py" and called.parent == Path(__file__).parent:
        return f"{shlex.quote(from_here(Path(sys.executable)))} -m {__package__}"
    found = shutil.which(_NAME)
    if called.name != _NAME or (found and called.exists() and called.samefile(found)):
        return _NAME
    return shlex.quote(from_here(called))


def from_here(path: Path) -> str:
    """The path as one would type it in the working directory."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def show_next(command: str, options: Mapping[str, str | None]) -> None:
    """The command to type next, ready to be copied, on stderr: what is piped on is the answer alone."""
    told = "".join(f" --{name}{_joined(value)}" for name, value in options.items() if value)
    print(f"Next: {own_command()} {command}{printable(told)}", file=sys.stderr)


def _joined(value: str) -> str:
    """The value after its option; one that begins like an option must not be taken for one."""
    return f"{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


def show_steps(console: Console, steps: Iterable[tuple[str, str]]) -> None:
    """What to try next: what it is for, and below it the command, ready to be copied."""
    console.print(Text("\nTry next", style="bold"))
    for purpose, command in steps:
        console.print(Text(f"# {purpose}", style="dim"))
        console.print(Text(command), soft_wrap=True)
