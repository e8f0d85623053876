"""A change of a line of a recording, and what must become of the changed line."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

Fields = dict[str, Any]
Change = Callable[[Fields], Fields | bytes]

#: Outcomes of a line that is not rejected; of others it is their reason.
ROW, BLANK, NO_OBSERVATION = "Row", "Blank", "NoObservation"
KINDS: Final = ("connection", "route", "stats", "topicstats", "running")
MEGABYTES: Final = 10 * 1024 * 1024


class Mutation(NamedTuple):
    """A change of honest lines of some kinds."""

    change: Change
    expected: str
    kinds: Sequence[str] = KINDS
    is_heavy: bool = False


def each(expected: str, *changes: Change, kinds: Sequence[str] = KINDS, is_heavy: bool = False) -> Iterator[Mutation]:
    """Changes after which the same must become of a line."""
    return (Mutation(change, expected, kinds, is_heavy) for change in changes)


def with_(**changes: Any) -> Change:
    """Fields of the line get other values."""
    return lambda fields: fields | changes


def with_body(change: Callable[[str], str]) -> Change:
    """The text of the body gets another one."""
    return lambda fields: fields | {"body": change(fields["body"])}
