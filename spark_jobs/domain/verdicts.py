"""Is a queue moving? The rules of LinkedIn's Burrow over the readings of one queue in one interval, first match wins.

Burrow sees every commit of a consumer, with its time. A RocketMQ broker tells the offset and not when it was
committed, so here a commit is a reading whose consumer offset differs from the one before. That parts two rules: a
consumer that moved and then stood still has stopped (STOP), one that never moved at all is stalled (STALL).
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.history import UNKNOWN


class Verdict(StrEnum):
    """What the readings of one interval say of one queue, the worst first."""

    STOP = "STOP"
    REWIND = "REWIND"
    STALL = "STALL"
    WARN = "WARN"
    OK = "OK"


def verdicts(
    *,
    allowed_lag: int,
    known: NDArray[np.int64],
    has_moved: NDArray[np.bool_],
    moving: NDArray[np.int64],
    standing: NDArray[np.int64],
    consumer_offset: NDArray[np.int64],
    consumed_to_max: NDArray[np.int64],
    consumed_to_min: NDArray[np.int64],
    lag_last: NDArray[np.int64],
    lag_min: NDArray[np.int64],
    lag_fell: NDArray[np.bool_],
) -> list[str | None]:
    """One per queue; None where fewer than two readings are known.

    `moving`: from the first known reading to the last that differs from the one before, `standing` from there to the
    last known one (any unit; they count where it `has_moved`). Offsets and lags are those of the known readings.
    """
    lag_is_known = lag_last != UNKNOWN
    conditions: list[tuple[NDArray[np.bool_], Verdict | None]] = [
        (known < 2, None),
        (lag_is_known & (lag_last <= allowed_lag), Verdict.OK),
        (has_moved & (lag_min > 0) & (standing > moving), Verdict.STOP),
        (consumer_offset < consumed_to_max, Verdict.REWIND),
        ((lag_min != UNKNOWN) & (lag_min <= allowed_lag), Verdict.OK),
        (consumed_to_min == consumed_to_max, Verdict.STALL),
        (~lag_fell, Verdict.WARN),
    ]
    chosen = np.select([holds for holds, _ in conditions], list(range(len(conditions))), default=len(conditions))
    names = [None if verdict is None else verdict.value for _, verdict in conditions] + [Verdict.OK.value]
    return [names[place] for place in chosen]
