"""Options of the command line that environment variables give. Nothing heavy is imported here."""

from collections.abc import Iterator, Mapping, Sequence

from spark_jobs.cli.commands import COMMANDS
from spark_jobs.cli.options import EXCLUSIVE, FILTERS, OPTIONS, VARIABLE, VERBATIM

_YES, _NO = ("1", "true", "yes"), ("0", "false", "no")


def with_environment(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The arguments, with the environment's options behind the command. Typed options win, and exclude as usual."""
    words = [*_joined(argv)]
    return [*words[:1], *from_environment(words, environment).values(), *words[1:]]


def from_environment(words: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Per variable, the option that it gives the command, as one word: `--group=G`; 1, true or yes set a switch."""
    command = COMMANDS.get(words[0]) if words else None
    typed = {word.partition("=")[0] for word in words[1:]}
    excluded = {option for pair in EXCLUSIVE if typed.intersection(pair) for option in pair} | typed
    given = {}
    for option in command.options if command else ():
        variable = variable_of(option)
        value = environment.get(variable, "")
        if option.startswith("--") and option not in excluded and (word := _word(option, value)):
            given[variable] = word
    return given


def variable_of(option: str) -> str:
    """The environment variable that gives the option: REBALANCE_AUDIT_WAREHOUSE for `--warehouse`."""
    return VARIABLE + option.strip("-").replace("-", "_").upper()


def filters_from_environment(argv: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable that keeps the command from some of the clusters, groups, time or incidents."""
    for variable, word in from_environment([*_joined(argv)], environment).items():
        if word.partition("=")[0] in FILTERS:
            yield f"the environment variable {variable} filters: {word}"


def _word(option: str, value: str) -> str | None:
    """The option with its value as one word; None where the value gives no option."""
    is_switch = OPTIONS[option].get("action") == "store_true"
    if is_switch or OPTIONS[option].get("nargs") == "?":
        if value.lower() in _YES:
            return option
        if is_switch or value.lower() in _NO:
            return None
    return f"{option}={value}" if value else None


def _joined(words: Sequence[str]) -> Iterator[str]:
    """`--case X` as `--case=X`: argparse takes an X such as --unique-ids for an option of the command."""
    remaining = iter(words)
    for word in remaining:
        value = next(remaining, None) if word in VERBATIM else None
        yield word if value is None else f"{word}={value}"
