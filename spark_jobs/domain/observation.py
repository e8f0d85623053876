"""When something was not observed that had been observed before."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from spark_jobs.domain.intervals import Interval


def gaps(known: Iterable[Interval], until: datetime) -> list[Interval]:
    """The times up to `until` behind the first of the spans in which the state is known, and inside none of them.

    What was before the first span says nothing: a group or topic may be new.
    """
    found, covered = [], None
    for span in sorted(known, key=lambda one: one.start):
        if covered and covered < span.start:
            found.append(Interval(covered, span.start))
        covered = max(covered or span.end, span.end)
    if covered and covered < until:
        found.append(Interval(covered, until))
    return found
