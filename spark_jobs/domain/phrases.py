"""Numbers and names as sentences, tables and pages write them: the same in every command. What is unknown is said."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import TypeVar

from spark_jobs.domain.model.intervals import duration_text

Number = TypeVar("Number", int, float)

UNKNOWN = "unknown"
#: Names in a sentence, at most.
NAMED = 3
#: Said beside a backlog whose `lag_quality` is UNFILTERED.
UNFILTERED = (
    "The group subscribes to some of the messages only, by tags or SQL: backlog, produced and consumed messages "
    "count those that it skips, too."
)


def count(number: int, thing: str) -> str:
    """A number of things: `1 queue`, `1,234 queues`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def names_text(names: Sequence[str], most: int = NAMED) -> str:
    """The first `most` names, and how many there are alongside them: `a, b and 1,234 more`."""
    more = f" and {len(names) - most:,} more" if names[most:] else ""
    return ", ".join(names[:most]) + more


def joined_names(names: Sequence[str]) -> str:
    """All names: `a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def party_text(name: str, client_ids: Sequence[str] | None, most: int | None = None) -> str:
    """One party of a finding, with its client ids; only its name if it is not known whose it is."""
    return name if client_ids is None else f"{name}: {names_text(client_ids, most or len(client_ids)) or 'no member'}"


def printable(text: str) -> str:
    """The text with every character that could steer a terminal (or hide) written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short_repr(answer: object) -> str:
    """The `repr` of an answer: its class, and the first line of its text."""
    return f"<{type(answer).__name__}: {str(answer).partition(chr(10))[0]}>"


def number_text(value: int | None) -> str:
    """With thousands separators; null is unknown."""
    return UNKNOWN if value is None else f"{value:,}"


def backlog_bound(messages: int | None, *, at_most: bool) -> str:
    """The number of messages, or its upper bound."""
    return f"{'≤ ' if at_most else ''}{number_text(messages)}"


def rate_text(value: float | None) -> str:
    """With one decimal; null is unknown."""
    return UNKNOWN if value is None else f"{value:,.1f}"


def percent_text(part: float | None) -> str:
    """A part of 1 in whole percent; null is unknown."""
    return UNKNOWN if part is None else f"{100 * part:,.0f} %"


def catch_up_text(seconds: float | None, catches_up: bool | None) -> str:
    """How long until a group has caught up, or that it does not at its pace."""
    return "never" if catches_up is False else _seconds_text(seconds)


def retention_text(seconds: float | None, catch_up_seconds: float | None) -> str:
    """How long until a message that waits may be deleted; `-`: none waits."""
    return "-" if seconds is None and catch_up_seconds == 0 else _seconds_text(seconds)


def _seconds_text(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else duration_text(timedelta(seconds=seconds))


def known_sum(values: Iterable[Number | None]) -> Number | None:
    """The sum of those that are known; null where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def sum_before(pairs: Iterable[tuple[Number | None, Number | None]]) -> Number | None:
    """The sum of what was before, over the pairs of which it is known what was after; null where one of these is not
    known, or there is none: sums over different things would show a growth that is none.
    """
    return whole_sum(before for before, after in pairs if after is not None)


def whole_sum(values: Iterable[Number | None]) -> Number | None:
    """The sum of all; null where one is not known, or there is none."""
    values = list(values)
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """A question that names up to three names near to one that is not among them; None where none is near."""
    near = get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else None
