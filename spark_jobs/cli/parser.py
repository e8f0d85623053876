"""The parser of all commands. Nothing heavy is imported here: the help does not wait for Spark."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, NoReturn

from rich_argparse import RawDescriptionRichHelpFormatter

from spark_jobs.cli.commands import Command
from spark_jobs.cli.options import COMMON, OPTIONS, REQUIRED
from spark_jobs.errors import ExitCode

_SUMMARY = "Replays RocketMQ consumer load balancing from recorded snapshots and says what went wrong."
_EXIT_CODES = """exit codes:
  0 clean; 1 findings at or above --fail-on, or a critical expectation failed; 2 warnings only;
  3 wrong usage, configuration or data; 4 nothing was published"""
_STYLE: Mapping[str, Any] = {"formatter_class": RawDescriptionRichHelpFormatter, "allow_abbrev": False}


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
        for option in (*command.options, *COMMON):
            sub.add_argument(option, **_settings(command, option))
    return parser


def _settings(command: Command, option: str) -> dict[str, Any]:
    settings = dict(OPTIONS[option])
    if default := command.defaults.get(option):
        return settings | {"default": default, "help": f"{settings['help']} (default: {default})"}
    required = option in command.required or (option in REQUIRED and option not in command.optional)
    return settings | ({"required": True} if required else {})
