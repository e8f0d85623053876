"""The pages of a report and of a what-if: templates filled with what the sections found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import bokeh
import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Line
from bokeh.plotting import figure
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.domain.coverage import NO_COVERAGE, Coverage
from spark_jobs.domain.glossary import TERMS
from spark_jobs.domain.incidents.trends import GroupTrend, GroupWeek
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import MILLISECOND, from_micros
from spark_jobs.domain.phrases import (
    UNKNOWN,
    catch_up_text,
    names_text,
    number_text,
    percent_text,
    rate_text,
    retention_text,
)
from spark_jobs.show.fleet import PARTS
from spark_jobs.show.language import translated_page
from spark_jobs.show.page.groups import GroupRows, group_page
from spark_jobs.show.page.incident_chart import incident_id
from spark_jobs.show.page.incident_pages import INCIDENTS, incident_section
from spark_jobs.show.page.style import (
    INK,
    LINES,
    SCHEMES,
    bokeh_js,
    clock,
    lines_figure,
    milliseconds,
    named,
    packed,
    time_range,
)
from spark_jobs.show.rows import Row, group_of
from spark_jobs.show.text.incident_text import advice_text, state_text, worst_first
from spark_jobs.show.trends import change_text, is_compared, is_known, trends_text, week_texts
from spark_jobs.what_if.outcome import CaseOutcome, Comparison

#: Width and height in pixels of the small lines of backlog, and of the bars of weeks.
_SPARK, _BARS = (96, 22), (96, 28)
#: Groups whose trends are shown, and runs that the footer names, at most.
TRENDS, RUNS = 500, 50


@dataclass(frozen=True)
class PageContent:
    """A report's content. `requested`: inside the whole steps of `interval`; `fleet`: a row per group."""

    requested: Interval
    interval: Interval
    fleet: Sequence[Row]
    groups: Sequence[GroupRows]
    notes: Sequence[str]
    runs: Sequence[Row]
    warehouse: str
    versions: Mapping[str, int]
    code_version: str
    incidents: Sequence[Incident] = ()
    trends: Sequence[GroupTrend] = ()
    data_age: str = ""
    coverage: Coverage = NO_COVERAGE


def page(content: PageContent) -> str:
    """The report as HTML that loads nothing and is safe whatever the groups and clients are called."""
    ids = {group_of(group.fleet): f"group-{place}" for place, group in enumerate(content.groups, start=1)}
    fleet = [_fleet_row(row, ids.get(group_of(row))) for row in content.fleet]
    fleet_rows = {row["id"]: row for row in fleet}
    groups = [
        group_page(group, content.interval, content.requested, ids[group_of(group.fleet)]) for group in content.groups
    ]
    shown = worst_first(content.incidents)[:INCIDENTS]
    return rendered(
        "page.html",
        content=content,
        title=_title(fleet, content.interval),
        fleet=fleet,
        groups=[group | _fleet_facts(fleet_rows[group["id"]], shown) for group in groups],
        incidents=incident_section(content.incidents, content.requested, ids, groups, content.coverage),
        trends=trend_rows(content.trends, ids),
        trends_text=trends_text(content.trends),
        trends_left_out=max(0, len(content.trends) - TRENDS),
        terms=TERMS,
        most_runs=RUNS,
        bokeh_version=bokeh.__version__,
    )  # fmt: skip


def _fleet_facts(row: Row, incidents: Iterable[Incident]) -> dict[str, Any]:
    """Facts of a group as one of the fleet: its row, and the incidents that involve it."""
    cluster, group = group_of(row)
    involving = [
        incident for incident in incidents if incident.cluster == cluster and group in incident.consumer_groups
    ]
    return {"row": row, "incidents": involving}


def _title(fleet: Sequence[Row], interval: Interval) -> str:
    """The group or the clusters, the days of the interval, and the zone."""
    named = f"Consumer group {fleet[0]['consumer_group']} of" if len(fleet) == 1 else "Consumer load balancing of"
    clusters = names_text(sorted({row["cluster"] for row in fleet}))
    days = dict.fromkeys(clock(moment)[:10] for moment in (interval.start, interval.end - timedelta(microseconds=1)))
    return f"{named} {clusters}, {' – '.join(days)} (UTC)"


def _fleet_row(row: Row, id: str | None) -> dict[str, Any]:
    severity, rules = (None, *SEVERITIES)[row["rank"] or 0], row["rules"] or []
    searched = (row["cluster"], row["consumer_group"], severity or "fine", *(rule["rule"] for rule in rules))
    spark = sparkline(row["line"] or {})
    return {
        **row, "id": id, "severity": severity, "rules": rules, "search": " ".join(searched).lower(), "spark": spark,
    }  # fmt: skip


def sparkline(line: Mapping[int, int]) -> str:
    """Points of a small SVG line (pixels) of the messages by part of the time; empty if no backlog is known."""
    if not line:
        return ""
    parts = np.arange(PARTS)
    messages = np.interp(parts, list(line), list(line.values()))
    width, height = _SPARK
    highest = max(float(messages.max()), 1.0)
    points = zip(parts * (width / (PARTS - 1)), height - 1 - messages / highest * (height - 2), strict=True)
    return " ".join(f"{x:.0f},{y:.1f}" for x, y in points)


def trend_rows(trends: Sequence[GroupTrend], groups: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    """A row per group in the order given; weeks in which the group was not observed are left out."""
    return [
        {
            "name": trend.consumer_group,
            "cluster": trend.cluster,
            "id": groups.get((trend.cluster, trend.consumer_group)),
            "change": (change_text(trend) or "no change") if is_compared(trend) else "",
            "is_worse": trend.worsening > (0, 0, 0),
            "weeks": [_week(week) for week in reversed(trend.weeks) if is_known(week)],
            "bars": _bars([week.wrong_minutes for week in trend.weeks]),
        }
        for trend in trends[:TRENDS]
    ]


def _week(week: GroupWeek) -> dict[str, Any]:
    return {"from": clock(from_micros(week.start)), "to": clock(from_micros(week.end)), "texts": list(week_texts(week))}


def _bars(minutes: Sequence[float | None]) -> list[dict[str, Any]]:
    """A bar per week, the oldest first, in pixels; none where fewer than two weeks are known. `text`: the minutes."""
    width, height = _BARS
    highest = max((minute for minute in minutes if minute is not None), default=0) or 1
    step = width / len(minutes)
    if not any(minutes) or len(minutes) <= minutes.count(None) + 1:
        return []
    return [
        {
            "x": round(week * step + 1, 1),
            "width": round(step - 2, 1),
            "height": None if value is None else max(1.0, value / highest * height),
            "text": rate_text(value),
        }
        for week, value in enumerate(minutes)
    ]


#: Of the cases; the recorded backlog is solid.
_CASE_DASHES = ("dashed", "dotdash", "dotted", "dashdot")


def what_if_page(consumer_group: str, interval: Interval, compared: Comparison) -> str:
    """The page of a what-if, as HTML; the recorded backlog is the thick line."""
    known = [moment for moment, value in zip(compared.times, _curve(compared.recorded), strict=True) if value == value]
    shown = (known[0], known[-1]) if known else (compared.times[0], compared.times[-1])
    time = time_range(interval, interval)
    time.start, time.end = (moment / MILLISECOND for moment in shown)
    chart = lines_figure(time, 480, "Backlog", "backlog (messages)", "0,0", legend="above")
    _draw(chart, compared, compared.recorded, INK, "solid", 3)
    for place, outcome in enumerate(compared.cases):
        _draw(chart, compared, outcome, LINES[place % len(LINES)], _CASE_DASHES[place % len(_CASE_DASHES)], 2)
    return rendered(
        "what_if.html",
        title=f"Backlog of {consumer_group}: what really happened, and what would have happened",
        subtitle=f"{interval} (UTC)",
        root=chart.id,
        chart=packed([chart]),
    )


def _draw(chart: figure, compared: Comparison, outcome: CaseOutcome, color: str, dash: str, width: int) -> None:
    """One line; a case of unknown backlog has none."""
    if outcome.curve is None:
        return
    label = f"{outcome.label} (at most)" if outcome.at_most else outcome.label
    times = [moment / MILLISECOND for moment in compared.times]
    source = ColumnDataSource({"x": times, "y": _curve(outcome), "label": [label] * len(times)})
    line = Line(line_color=color, line_width=width, line_dash=dash)
    drawn = named(chart, chart.add_glyph(source, line), label)
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=[("case", "@label"), ("backlog", "@y{0,0}")]))


def _curve(outcome: CaseOutcome) -> list[float]:
    return [] if outcome.curve is None else list(outcome.curve.tolist())


_VIEWS = Path(__file__).with_name("views")


def rendered(template: str, **content: object) -> str:
    """The template of that name, rendered in the language: a page that loads nothing."""
    page = _templates().get_template(template).render(
        content,
        schemes=SCHEMES,
        bokeh=_script(bokeh_js()),
        script=_script((_VIEWS / "report.js").read_text(encoding="utf-8")),
        css=Markup((_VIEWS / "report.css").read_text(encoding="utf-8")),
    )  # fmt: skip
    return translated_page(page)


def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(_VIEWS), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    templates.filters |= {
        "clock": clock,
        "incident_id": incident_id,
        "state": lambda incident: state_text(incident, clock),
        "advice": lambda incident: advice_text(incident, clock),
        "messages": number_text,
        "ms": milliseconds,
        "facts": evidence_facts,
        "lasted": lambda finding: duration_text(finding["ended_at"] - finding["started_at"]),
        "percent": percent_text,
        "rate": rate_text,
        "catch_up": catch_up_text,
        "retention": retention_text,
    }
    return templates


def _script(text: str) -> Markup:
    """The script, escaped for an HTML `script` element."""
    return Markup(text.replace("</script", "<\\/script"))


_COUNTS = ("member_count", "queue_count", "unknown_queues")
_MESSAGES = ("backlog_start", "backlog_end", "backlog_max", "produced", "consumed")
_COUNTERFACTUALS = {"if_deduplicated": "if one of them left", "if_unique": "if each had its own client id"}


def evidence_facts(evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of everything in the evidence of a finding except its queues; unknown backlogs are listed, too."""
    if evidence["persistence"]:
        yield "persistence", evidence["persistence"].lower()
    if evidence["connections"]:
        yield (
            "connections",
            ", ".join(
                f"{connection['client_id']} at {connection['client_addr']}" for connection in evidence["connections"]
            ),
        )
    if evidence["client_ids"]:
        yield "client ids", ", ".join(evidence["client_ids"])
    for name in _COUNTS:
        if evidence[name] is not None:
            yield name.replace("_count", "s").replace("_", " "), number_text(evidence[name])
    for name in _MESSAGES if evidence["queues"] else ():
        yield name.replace("_", " "), f"{number_text(evidence[name])} messages"
    for name, text in _COUNTERFACTUALS.items():
        if counts := evidence[name]:
            yield (
                text,
                f"{counts['unassigned_queues']} queues without owner, {counts['double_owned_queues']} owned twice",
            )
    for measure in evidence["measures"] or ():
        yield measure["name"].replace("_", " "), UNKNOWN if measure["value"] is None else f"{measure['value']:,.6g}"
    for party in evidence["conflicting_values"] or ():
        yield party["name"], "" if party["client_ids"] is None else ", ".join(party["client_ids"]) or "no member"
