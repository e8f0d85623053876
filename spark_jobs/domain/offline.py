"""Whether it matters that nobody of a group is connected."""

from __future__ import annotations


def is_missed(produced: int | None, backlog: int | None) -> bool:
    """Whether messages are known that somebody should consume; unknown (None) is no evidence."""
    return (produced or 0) > 0 or (backlog or 0) > 0
