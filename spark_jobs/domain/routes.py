"""What a topic's route says of its brokers over time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from spark_jobs.domain.message_queue import PERM_READ


class NotReadableCause(StrEnum):
    """Why a broker that holds messages of a topic cannot be read."""

    LEFT_ROUTE = "LEFT_ROUTE"
    NO_READ_PERMISSION = "NO_READ_PERMISSION"


def not_readable(perms: Sequence[int | None]) -> list[NotReadableCause | None]:
    """Per route snapshot why one broker cannot be read, given its permission in each (None: not in the route).

    Before it was first in the route it is no broker of the topic.
    """
    found: list[NotReadableCause | None] = []
    for place, perm in enumerate(perms):
        if perm is not None:
            found.append(None if perm & PERM_READ else NotReadableCause.NO_READ_PERMISSION)
        else:
            was_there = any(earlier is not None for earlier in perms[:place])
            found.append(NotReadableCause.LEFT_ROUTE if was_there else None)
    return found
