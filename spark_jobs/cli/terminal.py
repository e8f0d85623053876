"""Progress and text on terminals: of clients' names no control character and no markup gets there raw; and signals."""

import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from spark_jobs.domain import phrases
from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.show.language import translated

_NAME = "rebalance-audit"
#: Of findings, failed expectations, and problems of source tables; others are dim.
SEVERITY_STYLES = {ERROR: "bold red", WARN: "yellow", INFO: "cyan", "critical": "bold red", "warning": "yellow"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{3})?)?Z")
#: Of the command that runs: the zone in which it shows times, and whether it shows no progress and no next command.
ZONE: ContextVar[tzinfo] = ContextVar("ZONE", default=UTC)
QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)


def local(moment: datetime) -> datetime:
    """The moment in the zone in which times are shown."""
    return moment.astimezone(ZONE.get())


def zone_name() -> str:
    """The name of the zone in which times are shown."""
    return str(ZONE.get())


def printable(text: str) -> str:
    """The text in the language, with every character that could steer a terminal (or hide) as an escape, and its times
    in the zone.
    """
    inert = translated(phrases.printable(text))
    return inert if ZONE.get() is UTC else _TIME.sub(_shown, inert)


def _shown(match: re.Match[str]) -> str:
    """Return the same moment in local time, with the same precision."""
    precision = {17: "minutes", 20: "seconds"}.get(len(match[0]), "milliseconds")
    return local(parse_utc(match[0])).isoformat(timespec=precision)


def print_line(console: Console, text: str) -> None:
    """The text as one line, as it is: no markup, no emoji codes, nothing that could steer a terminal."""
    console.print(Text(printable(text)), soft_wrap=True)


@contextmanager
def progress_on(console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """A function that shows on the console (default: stderr) what is being done: a timed spinner, or a line each.

    A message that it has shown is not shown again.
    """
    console = console or Console(stderr=True)
    if QUIET.get():
        yield lambda _: None
        return
    if not console.is_terminal:
        yield _once(lambda message: print_line(console, message))
        return
    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console) as display:

        def done() -> None:
            for task in display.task_ids:
                display.update(task, total=1, completed=1)

        def say(message: str) -> None:
            done()
            display.add_task(printable(message), total=None)

        yield _once(say)
        done()


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    shown = set[str]()

    def say_once(message: str) -> None:
        if message not in shown:
            shown.add(message)
            say(message)

    return say_once


def own_command() -> str:
    """How this command is called here, as one would type it: by its name only where the shell finds it by that."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py" and called.parent == Path(__file__).parent:
        return f"{shlex.quote(from_here(Path(sys.executable)))} -m {__package__}"
    installed = shutil.which(_NAME)
    if called.name != _NAME or (installed and called.exists() and called.samefile(installed)):
        return _NAME
    return shlex.quote(from_here(called))


def from_here(path: Path) -> str:
    """The path as one would type it in the working directory."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def print_to_stderr(message: str) -> None:
    """Says on stderr, in one line, what a person should know who pipes on the answer."""
    print(f"{_NAME}: {printable(message)}", file=sys.stderr)


def show_next(command: str, warehouse: str, **options: str | None) -> None:
    """The command to type next, ready to be copied, on stderr: what is piped on is the answer alone."""
    if QUIET.get():
        return
    given = {"warehouse": warehouse, **options}
    words = "".join(f" --{name}{_joined(value)}" for name, value in given.items() if value)
    print(f"Next: {own_command()} {command}{printable(words)}", file=sys.stderr)


def _joined(value: str) -> str:
    """The value after its option; one that begins like an option must not be taken for one."""
    return f"{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


@contextmanager
def until_told(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and Ctrl-C call `stop`; a second Ctrl-C ends the process."""

    def on_signal(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
