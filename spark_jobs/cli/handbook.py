"""The reference of the command line: `python -m spark_jobs.cli.handbook` writes docs/cli.md."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.cli.commands import COMMANDS, GROUPS, Command
from spark_jobs.cli.options import COMMON, OPTIONS, VARIABLE
from spark_jobs.errors import ExitCode
from spark_jobs.installation import ROOT

PAGE = ROOT / "docs" / "cli.md"

_MEANINGS = {
    ExitCode.CLEAN: "nothing is wrong, or the command only answers",
    ExitCode.FINDINGS: "findings at or above `--fail-on` (`ERROR`), or a critical expectation failed; `verify`: "
    "something differs",
    ExitCode.WARNINGS: "findings below `--fail-on`, rows in quarantine, an expectation that is not critical failed, or "
    "the answer is not known",
    ExitCode.USAGE: "wrong usage, configuration or data; nothing was published",
    ExitCode.NOT_PUBLISHED: "another run has the same steps, or the disk, memory, Java or a notification failed",
}
_FRAME = f"""<!-- Made by python -m spark_jobs.cli.handbook: change the commands, not this page. -->
# Command line

`rebalance-audit COMMAND --help` shows the same with examples. All commands take `--verbose` (log every step on
stderr), `--quiet` (no progress there) and `--debug` (show the traceback of an unexpected error).

- Options in **bold** are required. Where a command takes `--last`, it can stand in place of `--interval`.
- Every option can be set by an environment variable: `--warehouse` by `{VARIABLE}WAREHOUSE`.
- A warehouse is a path, a URI, or `catalog.schema` ([S3 and catalogs](object-stores.md)).
- Times are UTC, and intervals exclude their end. `--tz ZONE` shows times of another zone.
- The answer is on stdout; progress, warnings and the next command to type are on stderr.
- Commands that only read [start no Java](performance.md#reading-without-java). Others start it
  [for small or for large work](performance.md#small-and-large-work), which `--scale` overrules.

## Exit codes

| code | meaning |
|---|---|
"""


def handbook() -> str:
    """The page: the exit codes, and a section per command with its options and examples, in the order of the help."""
    codes = "".join(f"| {code.value} | {_MEANINGS[code]} |\n" for code in ExitCode)
    note = "\nCommands of many steps (`backfill`, `late`) exit with the worst code of their steps.\n\n"
    return _FRAME + codes + note + "\n".join(line for title in GROUPS for line in _group(title))


def _group(title: str) -> Iterator[str]:
    yield from (f"## {title}", "")
    for name in GROUPS[title].split():
        yield from _section(name, COMMANDS[name])


def _section(name: str, command: Command) -> Iterator[str]:
    yield from (f"### {name}", "", command.summary, "", "| option | meaning |", "|---|---|")
    for option, default in command.options.items():
        if option in COMMON:
            continue
        settings = OPTIONS[option]
        metavar = settings.get("metavar")
        written = f"{option} {metavar}" if option.startswith("--") and metavar else option
        shown = f"**`{written}`**" if option in command.required.split() else f"`{written}`"
        yield f"| {_cell(shown)} | {_cell(settings['help'])}{f' (default: {default})' if default else ''} |"
    yield from ("", "```console", *(f"$ rebalance-audit {name} {example}".rstrip() for example in command.examples))
    yield from ("```", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
