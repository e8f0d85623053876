"""Who did not answer the recorder, as lines of plain English."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta

from schemas import CAPTURE_CALLS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.phrases import count, joined_names
from spark_jobs.show.text.interval_text import TextLine
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

#: Fates of calls that brought no answer, in words.
_SILENT = {"TIMED_OUT": "timed out", "REFUSED": "refused", "NOT_ASKED": "not made, as it had been silent before"}


def recorder_lines(calls: Mapping[tuple[str, str], int] | None) -> Iterator[TextLine]:
    """Who answered and who did not, from counts of calls by (target, outcome); no line where None."""
    if calls is None:
        return
    yield TextLine("", 0)
    yield TextLine("Whom the recorder called when it began (the first ten minutes)", 0, "title")
    if not calls:
        yield TextLine("None: the recorder was not running, or what it recorded is not loaded.", 1)
    per_target: dict[str, Counter[str]] = defaultdict(Counter)
    for (target, outcome), number in calls.items():
        per_target[target][outcome] += number
    silent = {target: made for target, made in sorted(per_target.items()) if made.keys() & _SILENT.keys()}
    for target, made in silent.items():
        unanswered = joined_names([f"{made[outcome]:,} {words}" for outcome, words in _SILENT.items() if made[outcome]])
        yield TextLine(f"{target} did not answer: of {count(made.total(), 'call')} {unanswered}.", 1)
    if answered := sorted(per_target.keys() - silent.keys()):
        yield TextLine(f"{joined_names(answered)} answered.", 1)


#: How much of a gap is read: who was silent when it began says why, and a fleet makes many calls in a day.
COUNTED_TIME = timedelta(minutes=10)
#: The requests to clients; a client that does not answer makes no gap (CLIENT_HUNG).
_OF_CLIENTS = ("running", "stacks")


def calls_in(stored: StoredTables, cluster: str, gap: Interval) -> Counter[tuple[str, str]] | None:
    """Calls by (target, outcome) in the first `COUNTED_TIME` of the gap; None: there is no table of calls."""
    if not stored.exists(CAPTURE_CALLS):
        return None
    conditions = (
        Filter("cluster", "=", cluster),
        Filter("captured_at", ">=", gap.start),
        Filter("captured_at", "<", min(gap.end, gap.start + COUNTED_TIME)),
    )
    calls = stored.read(CAPTURE_CALLS, ("called", "outcome", "request"), conditions)
    return Counter((called, outcome) for called, outcome, request in tuples(calls) if request not in _OF_CLIENTS)
