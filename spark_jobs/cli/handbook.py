"""The reference of the command line: `python -m spark_jobs.cli.handbook` writes docs/cli.md."""

from collections.abc import Iterator

from spark_jobs.cli.commands import COMMANDS, GROUPS, Command
from spark_jobs.cli.main import EXIT_CODES
from spark_jobs.cli.options import COMMON, OPTIONS, VARIABLE
from spark_jobs.installation import ROOT

PAGE = ROOT / "docs" / "cli.md"

_FRAME = f"""<!-- Made by python -m spark_jobs.cli.handbook: change the commands, not this page. -->
# Command line

`rebalance-audit COMMAND --help` shows the same, with examples. All commands take `--verbose` (log every step on
stderr), `--quiet` (no progress there), `--debug` (show the traceback of an unexpected error), `--no-color` and
`--language` (en, zh, or auto: that of `LANG`).

- Options in **bold** are required. `--last` can replace `--interval`, and `--store` of `validate` `--warehouse`.
- The environment can set every option: `--warehouse` by `{VARIABLE}WAREHOUSE`.
- The answer is on stdout; progress, warnings and the next command are on stderr.
- Reading commands [start no Java](performance.md#reading-without-java). Others start it
  [for small or for large work](performance.md#small-and-large-work).

## Exit codes

"""


#: By option, its default in each command that has it. If more commands than defaults have it, it is explained once.
_DEFAULTS = {
    option: [command.options[option] for command in COMMANDS.values() if option in command.options]
    for option in OPTIONS
}


def handbook() -> str:
    """The page: exit codes, shared options, and a section per command in the order of the help."""
    codes = "".join(f"- `{code.value}`: {meaning}\n" for code, meaning in EXIT_CODES.items())
    note = (
        "\n`backfill` and `late` exit with the worst code of their steps, and with 2 instead of 0 if steps are still "
        "missing.\n\n## Shared options\n\n"
    )
    defaults = {option: {*_DEFAULTS[option]} for option in OPTIONS if _is_shared(option)}
    shared = [_item(option, *(each if len(each) == 1 else [""])) for option, each in defaults.items()]
    return _FRAME + codes + note + "\n".join([*shared, "", *(line for title in GROUPS for line in _group(title))])


def _is_shared(option: str) -> bool:
    return len(_DEFAULTS[option]) > len({*_DEFAULTS[option]}) and option not in COMMON


def _group(title: str) -> Iterator[str]:
    yield from (f"## {title}", "")
    for name in GROUPS[title].split():
        yield from _section(name, COMMANDS[name])


def _section(name: str, command: Command) -> Iterator[str]:
    required = command.required.split()
    yield from (f"### {name}", "", command.summary, "")
    own = [option for option in command.options if option not in COMMON and not _is_shared(option)]
    if own:
        yield from (*(_item(option, command.options[option], option in required) for option in own), "")
    shared = [_bold(f"`{option}`", option in required) for option in command.options if _is_shared(option)]
    if shared:
        yield from (f"Shared: {', '.join(shared)}.", "")


def _item(option: str, default: str, is_required: bool = False) -> str:
    settings = OPTIONS[option]
    metavar = settings.get("metavar")
    written = f"`{option} {metavar}`" if option.startswith("--") and metavar else f"`{option}`"
    shown = f" (default: {default})" if default else ""
    return f"- {_bold(written, is_required)}: {settings['help']}{shown}"


def _bold(text: str, is_required: bool) -> str:
    return f"**{text}**" if is_required else text


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
