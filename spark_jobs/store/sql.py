"""How values are written in SQL."""

from __future__ import annotations

import re


def literal(text: str) -> str:
    """The text as a SQL string."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def is_same_check(check: str | None, other: str) -> bool:
    """Return whether two constraints have the same words. Delta's ADD CONSTRAINT puts other spaces between them."""
    return check is not None and re.sub(r"\s", "", check) == re.sub(r"\s", "", other)
