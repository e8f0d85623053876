"""Is a queue moving? The rules of LinkedIn's Burrow over the readings of one queue in one interval, first match wins.

Burrow sees every commit of a consumer, with its time. A RocketMQ broker tells the offset and not when it was
committed, so here a commit is a reading whose consumer offset differs from the one before. That parts two rules: a
consumer that moved and then stood still has stopped (STOP), one that never moved at all is stalled (STALL).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple


class Verdict(StrEnum):
    """What the readings of one interval say of one queue, the worst first."""

    STOP = "STOP"
    REWIND = "REWIND"
    STALL = "STALL"
    WARN = "WARN"
    OK = "OK"


class Reading(NamedTuple):
    """One look at a queue: seconds, next offset to write, next to consume (None: the group never committed)."""

    at: float
    end_offset: int
    consumed_to: int | None


class _Known(NamedTuple):
    at: float
    consumed_to: int
    lag: int


def verdict(readings: Sequence[Reading], allowed_lag: int) -> Verdict | None:
    """The verdict on readings in the order of time; None where fewer than two are known.

    The two offsets are read one after the other, so a negative lag is none. What changed is told from readings that
    follow each other and are both known.
    """
    looks = [_known(reading) for reading in readings]
    known = [look for look in looks if look]
    if len(known) < 2:
        return None
    pairs = [(before, after) for before, after in pairwise(looks) if before and after]
    last, least_lag = known[-1], min(look.lag for look in known)
    if last.lag <= allowed_lag:
        return Verdict.OK
    if least_lag > 0 and _stopped(known, pairs):
        return Verdict.STOP
    if last.consumed_to < max(look.consumed_to for look in known):
        return Verdict.REWIND
    if least_lag <= allowed_lag:
        return Verdict.OK
    if len({look.consumed_to for look in known}) == 1:
        return Verdict.STALL
    if all(before.lag <= after.lag for before, after in pairs):
        return Verdict.WARN
    return Verdict.OK


def _known(reading: Reading) -> _Known | None:
    if reading.consumed_to is None:
        return None
    return _Known(reading.at, reading.consumed_to, max(reading.end_offset - reading.consumed_to, 0))


def _stopped(known: Sequence[_Known], pairs: Sequence[tuple[_Known, _Known]]) -> bool:
    """Whether the last move lies further back than the time over which the consumer was seen to move."""
    moves = [after.at for before, after in pairs if after.consumed_to != before.consumed_to]
    return bool(moves) and known[-1].at - moves[-1] > moves[-1] - known[0].at
