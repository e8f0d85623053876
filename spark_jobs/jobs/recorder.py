"""Reads what became of the recorder's calls while nothing was recorded."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from schemas import CAPTURE_CALLS
from spark_jobs.domain.intervals import Interval
from spark_jobs.read.stored import Filter, StoredTables, tuples

#: How much of a gap is looked at: who was silent when it began says why, and a fleet's calls of days are many.
LOOKED_AT = timedelta(minutes=10)
#: What clients are asked for; their silence is no gap (CLIENT_HUNG).
_OF_CLIENTS = "running"


def calls_in(stored: StoredTables, cluster: str, gap: Interval) -> Counter[tuple[str, str]] | None:
    """How many calls to whom had which fate, in the first `LOOKED_AT` of the gap; None: there is no table of calls."""
    if not stored.exists(CAPTURE_CALLS):
        return None
    conditions = (
        Filter("cluster", "=", cluster),
        Filter("captured_at", ">=", gap.start),
        Filter("captured_at", "<", min(gap.end, gap.start + LOOKED_AT)),
    )
    found = stored.read(CAPTURE_CALLS, ("called", "fate", "request"), conditions)
    return Counter((called, fate) for called, fate, request in tuples(found) if request != _OF_CLIENTS)
