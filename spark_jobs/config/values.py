"""The kinds of value a configuration holds, each with its own check and its own words."""

from __future__ import annotations

import difflib
import re
import warnings
from typing import Annotated

from pydantic import AfterValidator

from spark_jobs.domain.strategies import MACHINE_ROOM_NEARBY, STRATEGY_NAMES

#: What only Python's `re` reads (Java's Pattern has another form, or takes it for an error).
_PYTHON_ONLY = re.compile(r"\(\?[P#(]|\{,")

#: A strategy that a group can be told to use: MACHINE_ROOM_NEARBY needs its inner one.
ALLOWED_STRATEGIES = tuple(name for name in STRATEGY_NAMES if name != MACHINE_ROOM_NEARBY)


def nearest(name: str, known: tuple[str, ...]) -> str:
    """Words that help who mistyped a name: the nearest known one, else all of them."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"did you mean '{near[0]}'?" if near else f"known are {', '.join(known)}"


def _check_strategy(name: str) -> str:
    if name not in ALLOWED_STRATEGIES:
        raise ValueError(f"unknown strategy '{name}'; {nearest(name, ALLOWED_STRATEGIES)}")
    return name


def _check_pattern(pattern: str) -> str:
    if found := _PYTHON_ONLY.search(pattern):
        raise ValueError(f"'{pattern}' has '{found.group()}', which Java reads differently")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # nested sets and `&&`, which Java knows and Python does not
            re.compile(pattern)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"'{pattern}' is not a regular expression that Python and Java agree on: {error}") from None
    return pattern


def _check_room_pattern(pattern: str) -> str:
    if re.compile(_check_pattern(pattern)).groups != 1:
        raise ValueError(f"'{pattern}' must have exactly one (group), which is the room")
    return pattern


StrategyName = Annotated[str, AfterValidator(_check_strategy)]
#: Matches a whole name. It must mean the same to Python's `re` and Java's Pattern, as both are used: beware
#: of `\w`, `\d` and `\s` on names that are not ASCII.
NamePattern = Annotated[str, AfterValidator(_check_pattern)]
#: Searched in a name; its one group is the room.
RoomPattern = Annotated[str, AfterValidator(_check_room_pattern)]
