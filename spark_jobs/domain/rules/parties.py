"""Who says what: the parties of a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from spark_jobs.domain.rules.rule import Party

Value = TypeVar("Value", str, int, tuple[tuple[str, str], ...])


def parties(
    said: Iterable[tuple[Value, str]], name: Callable[[Value], str], *, descending: bool = False
) -> tuple[Party, ...]:
    """One per different value, in the order of the values, with the client ids that have it, each once and in the
    order given.

    `said`: (value, client id). Python orders texts as Spark does: by code points, which is by UTF-8 bytes.
    """
    ids_of: dict[Value, dict[str, None]] = {}
    for value, client_id in said:
        ids_of.setdefault(value, {})[client_id] = None
    return tuple(Party(name(value), tuple(ids_of[value])) for value in sorted(ids_of, reverse=descending))
