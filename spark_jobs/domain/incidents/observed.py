"""Until when a condition may have stood: silence is never read as health."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from spark_jobs.domain.incidents.values import AuditedTime, PublishedFinding

#: After everything.
NEVER = 1 << 62
#: `[start, end)`, microseconds.
Time = tuple[int, int]


class UnknownTime:
    """When nothing is known of each group: steps that were not audited, and blind findings."""

    def __init__(self, audited: AuditedTime, findings: Iterable[PublishedFinding], blind: frozenset[str]) -> None:
        steps: dict[tuple[str, str], set[int]] = defaultdict(set)
        times: dict[tuple[str, str], list[Time]] = defaultdict(list)
        for cluster, consumer_group, start in audited.steps:
            steps[cluster, consumer_group].add(start)
        for one in findings:
            steps[one.group].add(one.step_start)
            if one.finding.rule in blind:
                times[one.group].append((one.finding.start, one.finding.end))
        self._unknown: Mapping[tuple[str, str], Sequence[Time]] = {
            group: _joined([*_between(sorted(of_group), audited.step), *times[group]])
            for group, of_group in steps.items()
        }

    def until(self, group: tuple[str, str], end: int) -> int:
        """When it is known again how the group is, from `end` on: at once, or where the time ends of which nothing is
        known; `NEVER`: it is not.
        """
        unknown = self._unknown.get(group, ())
        place = bisect_right(unknown, end, key=lambda one: one[0]) - 1
        return unknown[place][1] if place >= 0 and end < unknown[place][1] else end


def _between(steps: Sequence[int], step: int) -> list[Time]:
    following = [*steps[1:], NEVER]
    return [(start + step, after) for start, after in zip(steps, following, strict=True) if start + step < after]


def _joined(times: list[Time]) -> list[Time]:
    """Times that overlap or touch as one, in order."""
    found: list[Time] = []
    for start, end in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found
