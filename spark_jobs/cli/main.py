"""One command, from text to exit code. Heavy imports wait until they are needed."""

import logging
import os
import re
import shutil
import sys
import textwrap
import traceback
from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import Any, NoReturn

from rich_argparse import RawDescriptionRichHelpFormatter

from spark_jobs.cli.commands import COMMANDS, GROUPS, Command
from spark_jobs.cli.environment import filters_from_environment, variable_of, with_environment
from spark_jobs.cli.options import EXCLUSIVE, OPTIONS
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import ExitCode, RebalanceAuditError, UnexpectedError, UsageError
from spark_jobs.installation import installed_version
from spark_jobs.show.language import ENGLISH, LANGUAGE, language_of

# PYTHON_ARGCOMPLETE_OK


#: As a shell says it: 128 + number of the signal.
INTERRUPTED, READER_GONE = 130, 141
#: Of commands that have come to their end: nothing is under way any more.
_AT_REST = (ExitCode.CLEAN, ExitCode.FINDINGS, ExitCode.WARNINGS)


def main(argv: Sequence[str]) -> int:
    """Run one command; a code of `ExitCode`, 130 when interrupted, 141 when stdout is closed."""
    return copy_context().run(_run, argv)


def _run(argv: Sequence[str]) -> int:
    arguments = Namespace(debug=False)
    try:
        if "_ARGCOMPLETE" in os.environ:
            import argcomplete

            argcomplete.autocomplete(build_parser())  # answers the shell, and ends this process
        words = with_environment(argv, os.environ)
        check_names(words, COMMANDS)
        # Only the options of that command: those of all take longer than many an answer.
        arguments = build_parser(COMMANDS.keys() & words[:1]).parse_args(words or ["--help"])
        _configure_logging(logging.INFO if arguments.verbose else logging.WARNING)
        _prepare_terminal(arguments)
        for line in filters_from_environment(argv, os.environ):
            _say(line)
        code = COMMANDS[arguments.name].execute(arguments)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse: 0 after --help, else wrong usage
        # Rich makes a SystemExit(1) of a closed pipe, and has pointed stdout elsewhere.
        return READER_GONE if isinstance(leaving.__context__, BrokenPipeError) else int(leaving.code or 0)
    except UnexpectedError as error:
        if error.is_explained and not arguments.debug:  # Java may be gone, and cannot be asked again
            return _failed(error.exit_code, str(error))
        return _unexpected(error.__cause__ or error, arguments)
    except RebalanceAuditError as error:
        return _failed(error.exit_code, str(error))
    except KeyboardInterrupt as interrupt:
        notes = getattr(interrupt, "__notes__", ["the published tables are as they were"])
        return _failed(INTERRUPTED, "; ".join(("interrupted", *notes)))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except Exception as error:
        return _unexpected(error, arguments)
    return code


def _prepare_terminal(arguments: Namespace) -> None:
    from spark_jobs.cli.terminal import QUIET, ZONE

    QUIET.set(arguments.quiet)
    LANGUAGE.set(language_of(arguments.language or ENGLISH, os.environ))
    if arguments.no_color:
        os.environ["NO_COLOR"] = "1"  # every console of Rich reads it
    if zone := getattr(arguments, "tz", None):
        ZONE.set(zone)


def entry_point() -> NoReturn:
    """The `rebalance-audit` command."""
    code = main(sys.argv[1:])
    if code not in _AT_REST:
        sys.exit(code)
    # This process, and its Java, end at once: taking apart what was imported takes Python seconds.
    if "pyspark" in sys.modules:
        from spark_jobs.runtime.session import end_session

        end_session()
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


def _configure_logging(level: int) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # What py4j logs (as the root logger, too) it also raises.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # It tells of every function that it does not register.
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)


def _failed(code: int, message: str) -> int:
    _say(message)
    return code


def _say(message: str) -> None:
    """Each line on stderr."""
    from spark_jobs.cli.terminal import print_to_stderr

    for line in message.splitlines():
        print_to_stderr(line)


def _unexpected(error: BaseException, arguments: Namespace) -> int:
    """The exit code of what is no `RebalanceAuditError`: a missing package, a fault of the machine, else a bug."""
    from spark_jobs.runtime.faults import own_error
    from spark_jobs.store.location import Location

    if arguments.debug:
        traceback.print_exception(error)
    warehouse = getattr(arguments, "warehouse", None)
    hint = "" if arguments.debug else "; --debug shows where"
    folder = Location.parse(warehouse).local_path if warehouse else None
    own = own_error(error, folder, f"this is a bug: {{}}{hint}")
    return _failed(own.exit_code, str(own))


_SUMMARY = "Replays RocketMQ consumer load balancing from recorded snapshots and says what went wrong."
_ENVIRONMENT = "environment variables, such as REBALANCE_AUDIT_WAREHOUSE, set what is not typed of the options"
_STYLE: Mapping[str, Any] = {"formatter_class": RawDescriptionRichHelpFormatter, "allow_abbrev": False}


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        if re.search("required(:|$)", message) and (missing := re.findall(r"--[a-z-]+", message)):
            message += f"; the environment can set {' or '.join(map(variable_of, missing))}"
        self.exit(ExitCode.USAGE, f"{self.prog}: {message}\n")

    def _check_value(self, action: Action, value: Any) -> None:
        """Name the choices as they are typed, and the nearest one."""
        if action.choices is not None and value not in action.choices:
            choices = [*map(str, action.choices)]
            hint = f": {near}" if (near := did_you_mean(str(value), choices)) else ""
            raise ArgumentError(action, f"invalid choice: '{value}' (choose from {', '.join(choices)}){hint}")


class _Version(Action):
    """Print the version, which is looked up only now, and exit."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> NoReturn:
        print(parser.prog, installed_version())
        parser.exit()


class _Completion(Action):
    """Print what a shell evaluates to complete commands and options, and exit."""

    def __call__(self, parser: ArgumentParser, _: Namespace, values: Any, __: str | None = None) -> NoReturn:
        from argcomplete.shell_integration import shellcode

        print(shellcode([parser.prog], shell=values))
        parser.exit()


def build_parser(names: Iterable[str] = COMMANDS) -> ArgumentParser:
    """The parser of these commands; each takes the options that it names, and the common ones."""
    ending = f"{_ENVIRONMENT}\n\n{list_of_exit_codes()}"
    epilog = f"{list_of_commands()}\nrebalance-audit COMMAND --help shows its options and examples\n{ending}"
    parser = _Parser(
        "rebalance-audit", description=_SUMMARY, usage="%(prog)s COMMAND [OPTION ...]", epilog=epilog, **_STYLE
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version, and exit")
    completion = "print what a shell evaluates to complete commands and options, and exit"
    parser.add_argument("--completion", action=_Completion, choices=("bash", "zsh", "fish"), help=completion)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", dest="name", help=SUPPRESS, prog=parser.prog)
    for name in names:
        command = COMMANDS[name]
        examples = (f"  {parser.prog} {name} {example}".rstrip() for example in command.examples)
        epilog = "\n".join(("examples:", *examples, "", ending))
        summary = command.summary
        sub = subparsers.add_parser(name, description=summary, epilog=epilog, **_STYLE)
        _add_options(sub, command)
    return parser


def _add_options(parser: ArgumentParser, command: Command) -> None:
    """Those of a command; of two that exclude each other one is required if either is."""
    required = command.required.split()
    groups: dict[str, Any] = {}
    for pair in EXCLUSIVE:
        if command.options.keys() >= set(pair):
            group = parser.add_mutually_exclusive_group(required=not set(pair).isdisjoint(required))
            groups |= dict.fromkeys(pair, group)
    for option, default in command.options.items():
        settings = dict(OPTIONS[option])
        if len(command.choices[option]) > 1:
            settings["choices"] = command.choices[option]
        if default:
            settings |= {"default": default, "help": f"{settings['help']} (default: {default})"}
        elif option.startswith("--") and option in required and option not in groups:
            settings["required"] = True
        groups.get(option, parser).add_argument(option, **settings)


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
