"""Who did not answer the recorder, as lines of plain English."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta

from schemas import CAPTURE_CALLS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.phrases import count
from spark_jobs.show.text.interval_text import TextLine
from spark_jobs.show.text.phrases import joined
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

#: Fates of calls that brought no answer, in words.
_SILENT = {"TIMED_OUT": "timed out", "REFUSED": "refused", "NOT_ASKED": "not made, as it had been silent before"}


def recorder_lines(calls: Mapping[tuple[str, str], int] | None) -> Iterator[TextLine]:
    """Of the calls, by who was called and their fate; nothing where no calls are recorded."""
    if calls is None:
        return
    yield TextLine("", 0)
    yield TextLine("Whom the recorder called when it began (the first ten minutes)", 0, "title")
    if not calls:
        yield TextLine("Nobody: the recorder was not running, or what it recorded is not loaded.", 1)
    of_called: dict[str, Counter[str]] = defaultdict(Counter)
    for (called, fate), number in calls.items():
        of_called[called][fate] += number
    silent = {called: fates for called, fates in sorted(of_called.items()) if fates.keys() & _SILENT.keys()}
    for called, fates in silent.items():
        told = joined([f"{fates[fate]:,} {words}" for fate, words in _SILENT.items() if fates[fate]])
        yield TextLine(f"{called} did not answer: of {count(fates.total(), 'call')} {told}.", 1)
    if answered := sorted(of_called.keys() - silent.keys()):
        yield TextLine(f"{joined(answered)} answered.", 1)


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
