"""Tables written as text, and published rows in the form of their lines."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.support.times import DAY


def cells(table: str) -> list[tuple[str, ...]]:
    """The cells of each line, between `|`."""
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.strip().splitlines()]


def described(table: str) -> list[ParameterSet]:
    """Of each line the parameters of a test: its `cells` behind the first, which says what must hold."""
    return [pytest.param(*others, id=what) for what, *others in cells(table)]


def line(row: Mapping[str, Any], *columns: str) -> tuple[str, ...]:
    """These columns of a published row as `cells` has them: times as seconds, null as nothing."""
    values = (row[name] for name in columns)
    return tuple(str(seconds(value)) if isinstance(value, datetime) else value or "" for value in values)


def time_spans(text: str) -> list[tuple[int, int]]:
    """`0..100 120..200`: the seconds from 0 to 100 and from 120 to 200."""
    pairs = (word.split("..") for word in text.split())
    return [(int(start), int(end)) for start, end in pairs]


def seconds(moment: datetime) -> int:
    """A published time, UTC without a zone, as seconds after 10:00."""
    return int((moment.replace(tzinfo=UTC) - DAY).total_seconds())


def measures(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The measures of a finding's evidence, by name."""
    return {measure["name"]: measure["value"] for measure in evidence["measures"]}


def cases(text: str) -> list[list[str]]:
    """Of each line its cells, between `|`, and as the last one the words of the deeper lines behind it."""
    rows: list[list[str]] = []
    for line in text.strip("\n").splitlines():
        if line.startswith(" " * 8):
            rows[-1][-1] = f"{rows[-1][-1]} {line.strip()}".strip()
        else:
            rows.append([*(cell.strip() for cell in line.split("|")), ""])
    return rows
