"""Is a queue moving? The rules of LinkedIn's Burrow over one queue's readings in one interval, first match wins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Reading(NamedTuple):
    """One look at a queue: microseconds, next offset to consume (None: the group never committed), messages left."""

    at: int
    consumed_to: int | None
    lag: int | None


def verdict(readings: Sequence[Reading], allowed_lag: int) -> str | None:
    """The verdict on readings in the order of time; None where fewer than two are known.

    What changed is told from readings that follow each other and are both known.
    """
    known = [one for one in readings if one.consumed_to is not None]
    if len(known) < 2:
        return None
    last, offsets = known[-1], [one.consumed_to for one in known if one.consumed_to is not None]
    lags = [one.lag for one in known if one.lag is not None]
    if last.lag is not None and last.lag <= allowed_lag:
        return "OK"
    if lags and min(lags) > 0 and _stopped(known, readings):
        return "STOP"
    if offsets[-1] < max(offsets):
        return "REWIND"
    if lags and min(lags) <= allowed_lag:
        return "OK"
    if len(set(offsets)) == 1:
        return "STALL"
    fell = any(
        before.lag is not None and after.lag is not None and after.lag < before.lag
        for before, after in pairwise(readings)
    )
    return "OK" if fell else "WARN"


def _stopped(known: Sequence[Reading], readings: Sequence[Reading]) -> bool:
    """Whether the last move lies further back than the time over which the consumer was seen to move."""
    moves = moved_at(readings)
    return bool(moves) and known[-1].at - moves[-1] > moves[-1] - known[0].at


def moved_at(readings: Sequence[Reading]) -> list[int]:
    """When the consumer offset was another than at the reading before."""
    return [
        after.at
        for before, after in pairwise(readings)
        if None not in (before.consumed_to, after.consumed_to) and after.consumed_to != before.consumed_to
    ]
