"""Times, numbers and names as the report writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def milliseconds(moment: datetime) -> float:
    """Since 1970, as charts count time."""
    return moment.astimezone(UTC).timestamp() * 1000


def clock(moment: datetime) -> str:
    """`2026-11-21 02:07:05`, UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def shortened(name: str, length: int = 26) -> str:
    """The name, or its beginning and end where it is longer."""
    if len(name) <= length:
        return name
    head = length // 2
    return f"{name[:head]}…{name[len(name) - (length - head - 1) :]}"
