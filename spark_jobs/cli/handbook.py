"""`python -m spark_jobs.cli.handbook` prints the reference of the command line, for the documentation site."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.cli.commands import COMMANDS, Command
from spark_jobs.cli.options import COMMON, OPTIONS, VARIABLE
from spark_jobs.errors import ExitCode

_FRAME = f"""# Command line

Every option can also be set by an environment variable: `--warehouse` by `{VARIABLE}WAREHOUSE`. Options in **bold** are
required; where a command takes `--last`, it can stand in the place of `--interval`. All commands take `--verbose` (log
every step on stderr) and `--debug` (show the traceback of an unexpected error).

| exit code | name |
|---|---|
"""


def handbook() -> str:
    """The page: the exit codes, and a section per command with its options and examples."""
    codes = "".join(f"| {code.value} | {code.name.lower()} |\n" for code in ExitCode)
    return _FRAME + codes + "\n" + "\n".join(line for name in COMMANDS for line in _section(name, COMMANDS[name]))


def _section(name: str, command: Command) -> Iterator[str]:
    yield from (f"## {name}", "", command.summary, "", "| option | meaning |", "|---|---|")
    for option, default in command.options.items():
        if option in COMMON:
            continue
        settings = OPTIONS[option]
        metavar = settings.get("metavar")
        written = f"{option} {metavar}" if option.startswith("--") and metavar else option
        shown = f"**`{written}`**" if option in command.required.split() else f"`{written}`"
        yield f"| {_cell(shown)} | {_cell(settings['help'])}{f' (default: {default})' if default else ''} |"
    yield from ("", "```console", *(f"$ rebalance-audit {name} {example}" for example in command.examples), "```", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(handbook())
