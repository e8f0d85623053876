"""Who did not answer the recorder, as lines of plain English."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from spark_jobs.domain.phrases import count
from spark_jobs.explain.phrases import joined
from spark_jobs.explain.text_view import TextLine

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
