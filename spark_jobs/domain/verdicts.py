"""Is a queue moving? The rules of LinkedIn's Burrow over the readings of one queue in one window, first match wins.

Burrow sees every commit of a consumer, with its time. A RocketMQ broker tells the offset and not when it was
committed, so here a commit is a reading whose consumer offset differs from the one before. That parts two rules: a
consumer that moved and then stood still has stopped (STOP), one that was never seen to move is stalled (STALL).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.history import Matrix


class Verdict(StrEnum):
    """What the readings of a window say of one queue, the worst first."""

    STOP = "STOP"
    REWIND = "REWIND"
    STALL = "STALL"
    WARN = "WARN"
    OK = "OK"


VERDICTS = tuple(Verdict)
#: The code of a reading at which nothing can be said; greater than that of any verdict.
NO_VERDICT = len(VERDICTS)
#: Verdicts that say an owner does not do its work.
STUCK = (Verdict.STOP, Verdict.STALL, Verdict.WARN)


def code(verdict: Verdict) -> int:
    """Its place in `VERDICTS`: the least code is the worst verdict."""
    return VERDICTS.index(verdict)


def verdict_codes(
    *,
    is_allowed: NDArray[np.bool_],
    was_allowed: NDArray[np.bool_],
    was_at_zero: NDArray[np.bool_],
    has_moved: NDArray[np.bool_],
    moving: Matrix,
    standing: Matrix,
    is_below: NDArray[np.bool_],
    is_constant: NDArray[np.bool_],
    lag_fell: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The code of the verdict of each window; the arrays are of one shape.

    The lag is allowed at the window's last reading, was at any of its readings, was 0 at any. `moving`: from the
    window's first reading to the last move, be it before the window (then it is not above 0); `standing` from there to
    the window's last reading (any unit; they count where it `has_moved`). The offset is below the window's greatest,
    is the same in all its readings; the lag fell from one of its readings to the next.
    """
    conditions = [
        (is_allowed, Verdict.OK),
        (has_moved & ~was_at_zero & (standing > moving), Verdict.STOP),
        (is_below, Verdict.REWIND),
        (was_allowed, Verdict.OK),
        (is_constant, Verdict.STALL),
        (~lag_fell, Verdict.WARN),
    ]
    chosen = [np.int64(code(verdict)) for _, verdict in conditions]
    return np.asarray(np.select([holds for holds, _ in conditions], chosen, default=np.int64(code(Verdict.OK))))
