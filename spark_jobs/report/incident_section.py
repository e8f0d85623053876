"""What the report begins with: what is wrong, since when, and the timeline and the table of all incidents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.phrases import count
from spark_jobs.explain.incident_text import incidents_text, state_text, worst_first
from spark_jobs.report.incident_chart import incident_chart, incident_id
from spark_jobs.report.incident_lanes import ROWS, lanes
from spark_jobs.report.incident_pages import GroupIds, incident_page
from spark_jobs.report.packing import packed
from spark_jobs.report.texts import clock

#: Incidents that the report tells of, at most: those that need attention most.
INCIDENTS = 500


def shown_of(incidents: Sequence[Incident]) -> list[Incident]:
    """The incidents that the report tells of, the worst first."""
    return worst_first(incidents)[:INCIDENTS]


def incident_section(
    incidents: Sequence[Incident], interval: Interval, ids: GroupIds, groups: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the templates of the index and of the incidents' pages show. `groups`: the pages of groups."""
    shown = shown_of(incidents)
    findings = {
        finding_id: f"{group['id']}-{row['finding_id']}"
        for group in groups
        for row in group["findings"]
        for finding_id in row["ids"]
    }
    drawn, undrawn = lanes(shown)
    chart = incident_chart(drawn, interval) if drawn else None
    return {
        "text": incidents_text(incidents),
        "worst": _worst(shown[0]) if shown else None,
        "notes": list(_notes(len(incidents) - len(shown), undrawn)),
        "pages": [incident_page(one, ids, findings) for one in shown],
        "chart": chart and str(chart.id),
        "data": packed([chart]) if chart else None,
    }


def _worst(one: Incident) -> dict[str, str]:
    told = {"id": incident_id(one), "headline": one.headline, "text": state_text(one, clock), "advice": one.advice}
    return told | {"severity": one.severity}


def _notes(left_out: int, undrawn: int) -> Iterable[str]:
    if left_out:
        yield (
            f"{count(left_out, 'incident')} that need attention least are left out: choose a shorter interval, "
            "or list all with `rebalance-audit incidents`."
        )
    if undrawn:
        yield f"The timeline has the {ROWS} rows that need attention most; {undrawn:,} more are in the table only."
