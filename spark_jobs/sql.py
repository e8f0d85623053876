"""How values are written in SQL."""

from __future__ import annotations


def literal(text: str) -> str:
    """The text as a SQL string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
