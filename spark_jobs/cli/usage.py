"""The list of commands that the help shows, and the nearest name for a command or option that does not exist."""

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from spark_jobs.cli.commands import COMMANDS, GROUPS, Command
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import ExitCode, UsageError

_HELP = ("-h", "--help", "--version", "--completion")
#: The meaning of every exit code, in Markdown.
EXIT_CODES: Mapping[ExitCode, str] = {
    ExitCode.CLEAN: "nothing is wrong in all that the question is about, or the command only answers",
    ExitCode.FINDINGS: "incidents or findings at or above `--fail-on` (`ERROR`), nothing is recorded of a cluster any "
    "more, or a critical expectation failed; `verify`: something differs",
    ExitCode.WARNINGS: "incidents or findings from WARN on, but below `--fail-on`; the answer is unknown, too old, or "
    "not about the whole: groups were not audited, or observed for less than `complete_share`; rows in quarantine, or "
    "an expectation that is not critical failed",
    ExitCode.USAGE: "wrong usage, configuration or data; nothing was published",
    ExitCode.NOT_PUBLISHED: "another run has the same steps, or the disk, memory, Java, a notification or OTLP failed",
}


def list_of_commands() -> str:
    """The commands by group, each with its summary, as wide as the terminal."""
    return "\n".join(line for title, names in GROUPS.items() for line in _group(title, names.split()))


def _group(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"{title}:"
    yield from (_entry(f"{name:<11}", COMMANDS[name].summary) for name in names)
    yield ""


def list_of_exit_codes() -> str:
    """The exit codes, each with its meaning, as wide as the terminal."""
    meanings = (_entry(f"{code.value} ", meaning.replace("`", "")) for code, meaning in EXIT_CODES.items())
    return "\n".join(("exit codes:", *meanings))


def _entry(head: str, text: str) -> str:
    """The text behind the head, indented where it is more than a line."""
    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=f"  {head}", subsequent_indent=" " * (2 + len(head)))


def check_names(words: Sequence[str], commands: Mapping[str, Command]) -> None:
    """Raise `UsageError` if the first word is no command, or another one an option that the command does not have."""
    if not words or words[0].partition("=")[0] in _HELP:
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
