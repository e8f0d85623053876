"""A group whose queues get messages evenly, with what its members take of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.kernel import SETTINGS, audited_steps, group_histories
from tests.snapshots import HOUR, membership, offsets, route

NOTHING = StrategySettings()
#: Messages of a queue by the second after the hour's beginning.
Messages = Callable[[int], int]


def steps(
    members: Callable[[int], Sequence[str]],
    came: Sequence[Messages],
    consumed: Sequence[Messages],
    seconds: Sequence[int] = range(0, 601, 20),
    seen: Sequence[int] = range(3600),
    clients: Sequence[dict[str, Any]] = (),
    readable: int | None = None,
    configured: StrategySettings = NOTHING,
) -> list[AuditedStep]:
    """Snapshots at these seconds; every queue begins with offset 1,000, of which everything is consumed.

    `seen`: when the broker said who the members are; `clients`: what these say; `readable`: queues, where
    not all were read. With 1,000 less consumed nothing was
    ever committed.
    """
    rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(second, *members(second)) for second in seconds if second in seen],
        ROUTE_SNAPSHOTS: [route(second, readable or len(came)) for second in seconds],
        OFFSET_SNAPSHOTS: [
            offsets(second, *map(_reading, (one(second) for one in came), (one(second) for one in consumed)))
            for second in seconds
        ],
        CLIENT_SNAPSHOTS: [*clients],
    }
    (history,) = group_histories(rows)
    return audited_steps(history, SETTINGS, HOUR, configured)


def _reading(came: int, consumed: int) -> tuple[int, int, int]:
    return 1000 + came, 1000 + consumed, min(1000 + consumed, 1)


def at(rate: float) -> Messages:
    """So many messages a second."""
    return lambda second: round(rate * second)


def nothing(_: int) -> int:
    return 0
