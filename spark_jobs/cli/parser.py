"""The parser of all commands. Nothing heavy is imported here: the help does not wait for Spark."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from rich_argparse import RawDescriptionRichHelpFormatter

from spark_jobs.cli.commands import Command
from spark_jobs.cli.options import COMMON, EXCLUSIVE, OPTIONS, REQUIRED, VARIABLE, VERBATIM
from spark_jobs.errors import ExitCode

_SUMMARY = "Replays RocketMQ consumer load balancing from recorded snapshots and says what went wrong."
_EXIT_CODES = """every option can also be set by an environment variable, such as REBALANCE_AUDIT_WAREHOUSE

exit codes:
  0 clean; 1 findings at or above --fail-on, or a critical expectation failed; 2 warnings only;
  3 wrong usage, configuration or data; 4 nothing was published"""
_STYLE: Mapping[str, Any] = {"formatter_class": RawDescriptionRichHelpFormatter, "allow_abbrev": False}


_YES = ("1", "true", "yes")


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n")


def build_parser(commands: Mapping[str, Command]) -> ArgumentParser:
    """The parser of these commands; each takes the options that it names, and the common ones."""
    parser = _Parser("rebalance-audit", description=_SUMMARY, epilog=_EXIT_CODES, **_STYLE)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", dest="name")
    for name, command in commands.items():
        examples = (f"  {parser.prog} {name} {example}".rstrip() for example in command.examples)
        epilog = "\n".join(("examples:", *examples, "", _EXIT_CODES))
        summary = command.summary
        sub = subparsers.add_parser(name, help=summary, description=summary, epilog=epilog, **_STYLE)
        pairs = [pair for pair in EXCLUSIVE if set(pair) <= set(command.options)]
        for option in (*command.options, *COMMON):
            if not any(option in pair for pair in pairs):
                sub.add_argument(option, **_settings(command, option))
        for pair in pairs:
            settings = {option: _settings(command, option) for option in pair}
            required = [one.pop("required", False) for one in settings.values()]
            one_of = sub.add_mutually_exclusive_group(required=any(required))
            for option in pair:
                one_of.add_argument(option, **settings[option])
    return parser


def with_environment(argv: Sequence[str], commands: Mapping[str, Command], environment: Mapping[str, str]) -> list[str]:
    """The arguments, behind the command's name those options of it that the environment gives: what is typed comes
    later, and so counts. An option without a value is given by 1, true or yes.
    """
    command = commands.get(argv[0]) if argv else None
    given = []
    for option in (*command.options, *COMMON) if command else ():
        value = environment.get(VARIABLE + option.strip("-").replace("-", "_").upper(), "")
        if option.startswith("--") and value:
            is_switch = OPTIONS[option].get("action") == "store_true"
            given += ([option] if value.lower() in _YES else []) if is_switch else [f"{option}={value}"]
    return [*argv[:1], *given, *_joined(argv[1:])]


def _joined(words: Sequence[str]) -> Iterator[str]:
    """`--case X` as `--case=X`: argparse takes an X such as --unique-ids for an option of the command."""
    left = iter(words)
    for word in left:
        value = next(left, None) if word in VERBATIM else None
        yield word if value is None else f"{word}={value}"


def _settings(command: Command, option: str) -> dict[str, Any]:
    settings = dict(OPTIONS[option])
    if default := command.defaults.get(option):
        return settings | {"default": default, "help": f"{settings['help']} (default: {default})"}
    required = option in command.required or (option in REQUIRED and option not in command.optional)
    return settings | ({"required": True} if required else {})
