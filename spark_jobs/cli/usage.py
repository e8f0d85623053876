"""The list of commands that the help shows, and the nearest name for a command or option that does not exist."""

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from spark_jobs.cli.commands import COMMANDS, GROUPS, Command
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import UsageError

_HELP = ("-h", "--help", "--version")


def list_of_commands() -> str:
    """The commands by group, each with its summary, as wide as the terminal."""
    return "\n".join(line for title, names in GROUPS.items() for line in _group(title, names.split()))


def _group(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"{title}:"
    width = max(40, shutil.get_terminal_size().columns)
    for name in names:
        yield textwrap.fill(COMMANDS[name].summary, width, initial_indent=f"  {name:<11}", subsequent_indent=" " * 13)
    yield ""


def check_names(words: Sequence[str], commands: Mapping[str, Command]) -> None:
    """Raise `UsageError` if the first word is no command, or another one an option that the command does not have."""
    if not words or words[0] in _HELP:
        return
    name, *rest = words
    if name not in commands:
        hint = did_you_mean(name, commands) or "rebalance-audit --help lists them"
        raise UsageError(f"there is no command {name}: {hint}")
    options = commands[name].options
    for word in rest[: rest.index("--")] if "--" in rest else rest:
        option = word.partition("=")[0]
        if option.startswith("--") and option not in (*options, *_HELP):
            hint = did_you_mean(option, options) or f"rebalance-audit {name} --help lists them"
            raise UsageError(f"{name} has no option {option}: {hint}")
