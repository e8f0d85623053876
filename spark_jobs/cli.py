"""The command line: text → values → one job → exit code. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, NoReturn

from rich_argparse import RawDescriptionRichHelpFormatter

from spark_jobs.domain.intervals import Interval
from spark_jobs.errors import ExitCode, RebalanceAuditError

SEVERITIES = ("INFO", "WARN", "ERROR")
NEVER = "NEVER"
#: As a shell says it: 128 + number of the signal.
INTERRUPTED, READER_GONE = 130, 141

#: Every option and argument, once; a command names those it takes.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "FILE": {"nargs": "+", "metavar": "FILE", "help": "recording to load: .jsonl or .jsonl.gz"},
    "TASK": {
        "choices": ("check_sources", "audit", "validate", "publish", "report"),
        "metavar": "TASK",
        "help": "check_sources, audit, validate, publish or report",
    },
    "--warehouse": {"metavar": "URI", "help": "where the tables are: a path, a URI, or catalog.schema"},
    "--cluster-name": {
        "metavar": "NAME",
        "help": "cluster of the recording (default: as the recording says)",
    },
    "--interval": {
        "metavar": "START/END",
        "type": Interval.parse,
        "help": "time in UTC, END excluded; whole steps (of 1 hour unless configured)",
    },
    "--cluster": {"metavar": "NAME", "help": "audit only this cluster"},
    "--group": {"metavar": "NAME", "help": "audit only this consumer group"},
    "--topic": {"metavar": "NAME", "help": "audit only this topic"},
    "--table": {"metavar": "NAME", "help": "look only at this table"},
    "--config": {"metavar": "FILE", "help": "YAML file: step, cadence, thresholds, strategies of groups"},
    "--fail-on": {
        "metavar": "SEVERITY",
        "type": str.upper,
        "choices": (*SEVERITIES, NEVER),
        "help": "exit with 1 if a finding is INFO, WARN or ERROR at least, or never",
    },
    "--run": {"metavar": "NAME", "help": "the scheduler's name of the run, the same in all of its tasks"},
    "--new-findings": {"metavar": "FILE", "help": "write the findings that the run was the first to publish, as JSON"},
    "--jobs": {
        "metavar": "N",
        "type": int,
        "choices": range(1, 17),
        "default": 1,
        "help": "audit so many steps at a time, 1 to 16 (default: 1)",
    },
    "--only-missing": {
        "action": "store_true",
        "help": "leave out steps that are published with the same configuration",
    },
    "--json": {"action": "store_true", "help": "print one JSON document, and nothing else, on stdout"},
    "--verbose": {"action": "store_true", "help": "log every step on stderr"},
    "--debug": {"action": "store_true", "help": "show the traceback of an unexpected error"},
}
REQUIRED = frozenset({"--warehouse", "--interval", "--run"})
COMMON = ("--verbose", "--debug")


@dataclass(frozen=True)
class Command:
    """One command: what it does, takes and assumes, and how it is used."""

    summary: str
    execute: Callable[[Namespace], int]
    options: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()


def _version(_: Namespace) -> int:
    for package in ("rebalance-audit", "pyspark", "delta-spark"):
        found = [distribution.version for distribution in metadata.distributions(name=package)]
        print(package, *(found[:1] or ["not installed"]))
    return ExitCode.CLEAN


def _job(name: str) -> Callable[[Namespace], int]:
    def execute(arguments: Namespace) -> int:
        from spark_jobs import commands  # imports pyspark: --help does not wait for it

        return commands.COMMANDS[name](arguments)

    return execute


COMMANDS: Mapping[str, Command] = {
    "ingest": Command(
        "Load recordings of RocketMQ's answers into the source tables; loading one twice changes nothing.",
        _job("ingest"),
        ("FILE", "--warehouse", "--cluster-name", "--json"),
        (
            "examples/recording.jsonl.gz --warehouse ./warehouse",
            "day1.jsonl.gz day2.jsonl.gz --warehouse s3a://lake/audit --cluster-name eu",
        ),
    ),
    "run": Command(
        "Audit whole steps of the recorded history, publish the tables, and show the findings.",
        _job("run"),
        ("--warehouse", "--interval", "--cluster", "--group", "--topic", "--config", "--fail-on", "--json"),
        (
            "--warehouse ./warehouse --interval 2026-11-21T02:00/2026-11-21T03:00",
            "--warehouse /data/audit --interval 2026-11-21/2026-11-22 --config audit.yaml",
            "--warehouse lake.audit --interval 2026-11-21/2026-11-22 --group G --json",
        ),
        {"--fail-on": "ERROR"},
    ),
    "task": Command(
        "One task of a scheduled run: what the Airflow DAGs submit, one after the other.",
        _job("task"),
        (
            *("TASK", "--run", "--warehouse", "--interval", "--cluster", "--group", "--config", "--fail-on"),
            "--new-findings",
        ),
        ("check_sources --run nightly-1 --warehouse /data/audit --interval 2026-11-21/2026-11-22",),
        {"--fail-on": NEVER},
    ),
    "backfill": Command(
        "Audit whole steps of a long history, each by a run of its own; one that fails does not stop the others.",
        _job("backfill"),
        ("--warehouse", "--interval", "--config", "--jobs", "--only-missing", "--fail-on", "--json"),
        (
            "--warehouse /data/audit --interval 2026-11-01/2026-12-01 --jobs 2",
            "--warehouse /data/audit --interval 2026-11-01/2026-12-01 --only-missing --json",
        ),
        {"--fail-on": "ERROR"},
    ),
    "late": Command(
        "Audit again the steps whose snapshots came, or changed, after they were published.",
        _job("late"),
        ("--warehouse", "--interval", "--config", "--fail-on", "--json"),
        (
            "--warehouse ./warehouse --interval 2026-11-21/2026-11-22",
            "--warehouse lake.audit --interval 2026-11-14/2026-11-21 --config audit.yaml --json",
        ),
    ),
    "validate": Command(
        "Run the data-quality expectations on what is in the warehouse, without auditing.",
        _job("validate"),
        ("--warehouse", "--table", "--interval", "--config", "--json"),
        (
            "--warehouse ./warehouse",
            "--warehouse /data/audit --interval 2026-11-21/2026-11-22 --config audit.yaml",
            "--warehouse lake.audit --table allocations --json",
        ),
        optional=("--interval",),
    ),
    "demo": Command(
        "Load the recording of a real cluster that ships with the project, audit it, and show the findings.",
        _job("demo"),
        ("--warehouse",),
        ("", "--warehouse /data/demo"),
        {"--warehouse": "./warehouse"},
    ),
    "version": Command("Print the versions of the audit, Spark and Delta.", _version, examples=("",)),
}
_SUMMARY = "Replays RocketMQ consumer load balancing from recorded snapshots and says what went wrong."
_EXIT_CODES = """exit codes:
  0 clean; 1 findings at or above --fail-on, or a critical expectation failed; 2 warnings only;
  3 wrong usage, configuration or data; 4 nothing was published"""


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n")


def build_parser() -> ArgumentParser:
    """The parser of all commands, from `COMMANDS` and `OPTIONS`."""
    parser = _Parser("rebalance-audit", description=_SUMMARY, epilog=_EXIT_CODES, **_STYLE)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="name")
    for name, command in COMMANDS.items():
        examples = (f"  {parser.prog} {name} {example}".rstrip() for example in command.examples)
        epilog = "\n".join(("examples:", *examples, "", _EXIT_CODES))
        summary = command.summary
        sub = commands.add_parser(name, help=summary, description=summary, epilog=epilog, **_STYLE)
        for option in (*command.options, *COMMON):
            sub.add_argument(option, **_settings(command, option))
    return parser


_STYLE: Mapping[str, Any] = {"formatter_class": RawDescriptionRichHelpFormatter, "allow_abbrev": False}


def _settings(command: Command, option: str) -> dict[str, Any]:
    settings = dict(OPTIONS[option])
    if default := command.defaults.get(option):
        return settings | {"default": default, "help": f"{settings['help']} (default: {default})"}
    return settings | ({"required": True} if option in REQUIRED and option not in command.optional else {})


def main(argv: Sequence[str]) -> int:
    """Run one command; a code of `ExitCode`, 130 when interrupted, 141 when nobody reads stdout any more."""
    arguments = Namespace(debug=False)
    try:
        arguments = build_parser().parse_args(argv)
        _configure_logging(logging.INFO if arguments.verbose else logging.WARNING)
        code = COMMANDS[arguments.name].execute(arguments)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse: 0 after --help, else wrong usage
        return int(leaving.code or 0)
    except RebalanceAuditError as error:
        return _failed(error.exit_code, str(error))
    except KeyboardInterrupt as interrupt:
        how_things_are = getattr(interrupt, "__notes__", ["the published tables are as they were"])
        return _failed(INTERRUPTED, "; ".join(("interrupted", *how_things_are)))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except Exception as error:
        return _bug(error, arguments.debug)
    return code


def entry_point() -> NoReturn:
    """The `rebalance-audit` command."""
    sys.exit(main(sys.argv[1:]))


def _configure_logging(level: int) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # What py4j logs (as the root logger, too) it also raises.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in record.pathname


def _failed(code: int, message: str) -> int:
    from spark_jobs.terminal import printable

    for line in message.splitlines():
        print(f"rebalance-audit: {printable(line)}", file=sys.stderr)
    return code


def _bug(error: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    first, hint = (str(error).splitlines() or [""])[0], "" if debug else "; --debug shows where"
    lines = (f"this is a bug: {type(error).__name__}: {first}{hint}", *getattr(error, "__notes__", ()))
    return _failed(ExitCode.NOT_PUBLISHED, "\n".join(lines))


if __name__ == "__main__":
    entry_point()
