"""The lanes of the timeline of incidents: one per group, or set of groups, what needs attention first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.show.text.incident_text import attention

#: Rows that are drawn, at most.
ROWS = 40


class Lane(NamedTuple):
    """The incidents of the same groups, in rows: those of one row follow each other."""

    cluster: str
    groups: tuple[str, ...]
    rows: tuple[tuple[Incident, ...], ...]


def lanes(incidents: Iterable[Incident]) -> tuple[list[Lane], int]:
    """The lanes that need attention most, by cluster; and how many incidents are in rows that are not drawn."""
    same: dict[tuple[str, tuple[str, ...]], list[Incident]] = defaultdict(list)
    for one in incidents:
        same[one.cluster, one.groups].append(one)
    ranked = sorted(sorted(same.items()), key=lambda lane: max(map(attention, lane[1])), reverse=True)
    drawn: list[Lane] = []
    free, left_out = ROWS, 0
    for key, found in ranked:
        rows = in_rows(found)
        if rows[:free]:
            drawn.append(Lane(*key, rows[:free]))
        left_out += sum(map(len, rows[free:]))
        free = max(0, free - len(rows))
    return sorted(drawn, key=lambda lane: lane.cluster), left_out


def in_rows(found: Iterable[Incident]) -> tuple[tuple[Incident, ...], ...]:
    """Each incident in the first row that is free when it opens."""
    rows: list[list[Incident]] = []
    for one in sorted(found, key=lambda one: (one.opened_at, one.incident_id)):
        row = next((row for row in rows if _is_over(row[-1], one.opened_at)), None)
        if row is None:
            rows.append([one])
        else:
            row.append(one)
    return tuple(map(tuple, rows))


def _is_over(one: Incident, moment: int) -> bool:
    return one.resolved_at is not None and one.resolved_at <= moment
