"""Suggested thresholds as YAML that a configuration can hold: a comment says why, and what it would have done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from spark_jobs.domain.incidents.suggestions import LEAST, MARGIN, QUANTILE, GroupSuggestions, Suggestion
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.phrases import count, printable

#: Of what 95 % stayed within the number.
_VALUES = {
    "allowed_lag": "the highest lags of queues that made progress",
    "skew_ratio": "steps, by the greatest ratio found",
    "storm_rebalances": "steps, by the most rebalances of a storm in storm_seconds",
    "flapping_times": "steps, by how often a member joined and left",
}
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


def suggestion_lines(interval: Interval, found: Iterable[GroupSuggestions]) -> Iterator[str]:
    """A whole configuration: entries of `groups`, and as comments the groups without one."""
    every = list(found)
    suggested = [one for one in every if one.suggestions]
    yield f"# Thresholds by what was found in {interval}: {QUANTILE:.0%} of a group's values stayed within a number;"
    yield f"# suggested is {MARGIN} times as much. Nothing is suggested that hides a queue whose consumer stopped."
    for one in every:
        if one.suggestions is None:
            told = f"{_span(one.audited)} audited, {_span(LEAST)} are needed"
            yield printable(f"# {one.cluster} {one.consumer_group}: no suggestion: {told}")
    fine = sum(one.suggestions == [] for one in every)
    yield f"# {count(fine, 'group')}: no threshold to raise"
    yield "groups:" if suggested else "groups: []"
    for one in suggested:
        yield f"  - cluster: {_pattern(one.cluster)}"
        yield f"    group: {_pattern(one.consumer_group)}"
        yield "    thresholds:"
        yield from map(_line, one.suggestions or ())


def _line(one: Suggestion) -> str:
    why = f"{QUANTILE:.0%} of {_VALUES[one.key]}: up to {round(one.usual, 2):.12g}"
    would = f"would have kept {one.kept} and dropped {one.dropped} of {count(one.kept + one.dropped, 'finding')}"
    return f"      {one.key}: {one.value:.12g}  # {why}; {would}"


def _span(micros: int) -> str:
    return duration_text(timedelta(microseconds=micros))


def _pattern(name: str) -> str:
    """A pattern of exactly this name, as YAML has it."""
    return json.dumps(_SPECIAL.sub(r"\\\g<0>", name))
