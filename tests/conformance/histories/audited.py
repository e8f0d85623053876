"""The published rows of all hand-written histories (`conftest.py` makes them), in the form of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.support.times import DAY


@dataclass(frozen=True)
class Audited:
    """Of every cluster its findings and its rows of `queue_progress`, as dicts."""

    findings: dict[str, list[dict[str, Any]]]
    progress: dict[str, list[dict[str, Any]]]


def seconds(moment: datetime) -> int:
    """A published time, UTC without a zone, as seconds after 10:00."""
    return int((moment.replace(tzinfo=UTC) - DAY).total_seconds())


def cells(table: str) -> list[tuple[str, ...]]:
    """The cells of each line, between `|`."""
    return [tuple(cell.strip() for cell in line.split("|")) for line in table.strip().splitlines()]


def line(row: Mapping[str, Any], *columns: str) -> tuple[str, ...]:
    """These columns of a published row as `cells` has them: times as seconds, null as nothing."""
    values = (row[name] for name in columns)
    return tuple(str(seconds(value)) if isinstance(value, datetime) else value or "" for value in values)
