"""A change of a line of a recording, and what must become of the changed line."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

Fields = dict[str, Any]
Change = Callable[[random.Random, Fields], Fields | bytes]

ROW, BLANK, NO_OBSERVATION = "row", "blank", "no observation"
KINDS: Final = ("connection", "route", "stats", "topicstats", "running")
#: Kinds whose body is an object.
OBJECTS: Final = ("connection", "route", "stats", "running")
#: A field of the line that is a name, and may be any (the topic of `stats` stands in its body too).
NAMED: Final = {"connection": "group", "route": "topic", "stats": "group", "topicstats": "topic", "running": "client"}
MEGABYTES: Final = 10 * 1024 * 1024
MANY_QUEUES: Final = 100_000
NOT_TEXT: Final[tuple[Any, ...]] = (7, 1.5, True, [], {}, ["a"], {"a": 1})


class Mutation(NamedTuple):
    """A change of honest lines of some kinds; `expected`: what becomes of the changed line, one or one by kind."""

    name: str
    change: Change
    expected: str | Mapping[str, str]
    kinds: Sequence[str] = KINDS
    is_heavy: bool = False


def with_(**changes: Any) -> Change:
    """Fields of the line get other values."""
    return lambda _, fields: fields | changes


def with_body(change: Callable[[str], str]) -> Change:
    """The text of the body gets another one."""
    return lambda _, fields: fields | {"body": change(fields["body"])}
