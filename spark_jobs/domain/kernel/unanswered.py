"""Which brokers did not answer the recorder's calls for a group's members, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from spark_jobs.domain.model.series import Series


class UnansweredCalls(NamedTuple):
    """Calls for a group's connections that a broker did not answer in some time: the first and the last of them
    (microseconds), and the error of the last one.
    """

    broker_name: str
    since: int
    until: int
    error: str


def unanswered_calls(errors: Mapping[str, Series[str]], start: int, end: int) -> Iterator[UnansweredCalls]:
    """Yield one per broker with such calls in `[start, end)`, by name. `errors`: of each call, by broker."""
    for broker_name, series in sorted(errors.items()):
        inside = series.inside(start, end)
        if inside.start < inside.stop:
            times, codes = series.times[inside], series.codes[inside]
            yield UnansweredCalls(broker_name, int(times[0]), int(times[-1]), series.states[codes[-1]])
