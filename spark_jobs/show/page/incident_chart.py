"""The timeline of incidents: lanes of bars, colored by severity; an end that is open points to the right."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import pi
from operator import attrgetter
from typing import Any, NamedTuple

from bokeh.core.properties import field
from bokeh.models import ColumnDataSource, HBar, HoverTool, HSpan, OpenURL, Range1d, Scatter, TapTool, Text, VSpan
from bokeh.plotting import figure

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import names_text
from spark_jobs.show.language import translated, word
from spark_jobs.show.language.catalog import width_of
from spark_jobs.show.page.style import (
    GRID,
    INK,
    PAPER,
    SEVERITY,
    clock,
    ink_on,
    milliseconds,
    rows_figure,
    shortened,
    source_of_rows,
)
from spark_jobs.show.rows import Row
from spark_jobs.show.text.incident_text import attention, peak_text, time_text

#: Rows that are drawn, at most.
ROWS = 40


class Lane(NamedTuple):
    """The incidents of the same groups, in rows; incidents of one row do not overlap."""

    cluster: str
    groups: tuple[str, ...]
    rows: tuple[tuple[Incident, ...], ...]


def lanes(incidents: Iterable[Incident]) -> tuple[list[Lane], int]:
    """The lanes that need attention most, sorted by cluster; and how many incidents are in rows that are not drawn."""
    incidents_per_lane = by_key(incidents, attrgetter("cluster", "consumer_groups"))
    ranked = sorted(sorted(incidents_per_lane.items()), key=lambda lane: max(map(attention, lane[1])), reverse=True)
    drawn: list[Lane] = []
    free_rows, left_out = ROWS, 0
    for (cluster, groups), lane_incidents in ranked:
        rows = non_overlapping_rows(lane_incidents)
        if rows[:free_rows]:
            drawn.append(Lane(cluster, groups, rows[:free_rows]))
        left_out += sum(map(len, rows[free_rows:]))
        free_rows = max(0, free_rows - len(rows))
    return sorted(drawn, key=lambda lane: lane.cluster), left_out


def non_overlapping_rows(incidents: Iterable[Incident]) -> tuple[tuple[Incident, ...], ...]:
    """Each incident in the first row that is free when it opens."""
    rows: list[list[Incident]] = []
    for incident in sorted(incidents, key=lambda incident: (incident.opened_at, incident.incident_id)):
        row = next((row for row in rows if _has_ended(row[-1], incident.opened_at)), None)
        if row is None:
            rows.append([incident])
        else:
            row.append(incident)
    return tuple(map(tuple, rows))


def _has_ended(incident: Incident, moment: int) -> bool:
    return incident.resolved_at is not None and incident.resolved_at <= moment


_ROW_PIXELS = 24
#: Width of the frame on a usual screen, of a letter, and of what is free around a label.
_FRAME_PIXELS, _LETTER_PIXELS, _FREE_PIXELS = 1000, 6.3, 24
#: Letters of a shortened label, at least: with room for fewer, there is none.
_FEWEST = 12
#: The part of the time axis behind the interval's end, for the label of an incident that continues.
_MARGIN = 0.07
_TIPS = {"incident": "@headline", "what": "@what", "groups": "@groups", "time": "@time", "peak backlog": "@cost"}
_COLUMNS = ("y", "left", "seen", "right", "color", "id", *(text.removeprefix("@") for text in _TIPS.values()))


def incident_id(incident: Incident) -> str:
    """The HTML id of the incident's page."""
    return f"incident-{incident.incident_id}"


def incident_chart(lanes: Sequence[Lane], interval: Interval) -> figure:
    """The chart: a row per lane, or several where its incidents overlap. A click on a bar opens the incident's page."""
    start, end = milliseconds(interval.start), milliseconds(interval.end)
    margin = (end - start) * _MARGIN
    until = end + margin
    time = Range1d(start=start, end=until, bounds=(start, until), min_interval=1000, name="time")
    rows = [row for lane in lanes for row in lane.rows]
    bar_rows = [
        [_bar(incident, interval) | {"y": number} for incident in row] for number, row in enumerate(rows, start=1)
    ]
    bars = [bar for row in bar_rows for bar in row]
    chart = _figure(lanes, len(rows), time)
    chart.add_glyph(ColumnDataSource({"x": [end]}), VSpan(line_color=INK, line_dash="dotted"), name="end")
    _draw_bars(chart, bars)
    _draw_labels(chart, [label for row in bar_rows for label in _labels(row, start, end)])
    _draw_ends(chart, bars, start, end)
    return chart


def _bar(incident: Incident, interval: Interval) -> dict[str, Any]:
    """An incident's bar inside the interval (ms): `left` opening, `seen` last seen, `right` resolution."""
    end = milliseconds(interval.end)
    left = max(_ms(incident.opened_at), milliseconds(interval.start))
    resolved = None if incident.resolved_at is None else _ms(incident.resolved_at)
    return {
        "left": left,
        "seen": max(left, min(_ms(incident.last_seen_at), end)),
        "right": end if resolved is None else min(resolved, end),
        "color": SEVERITY[incident.severity],
        "id": incident_id(incident),
        "headline": translated(incident.headline),
        "what": f"{incident.severity} {incident.rule}, {incident.cause}",
        "groups": names_text(incident.consumer_groups, 8),
        "time": time_text(incident, clock),
        "cost": peak_text(incident),
        "earlier": _ms(incident.opened_at) < left,
        "goes_on": word("open" if resolved is None else "ends later" if resolved > end else ""),
    }


def _ms(micros: int) -> float:
    return milliseconds(from_micros(micros))


def _figure(lanes: Sequence[Lane], rows: int, time: Range1d) -> figure:
    is_fleet = len({lane.cluster for lane in lanes}) > 1
    first_rows = accumulate((len(lane.rows) for lane in lanes[:-1]), initial=1)
    labels = {row: _lane_label(lane, is_fleet) for row, lane in zip(first_rows, lanes, strict=True)}
    chart = rows_figure(time, "Incidents", labels, rows, _ROW_PIXELS)
    borders = ColumnDataSource({"y": [first_row - 0.5 for first_row in [*labels][1:]]})
    chart.add_glyph(borders, HSpan(line_color=GRID), name="lanes")
    return chart


def _lane_label(lane: Lane, several_clusters: bool) -> str:
    first_group = f"{lane.cluster}: {lane.groups[0]}" if several_clusters else lane.groups[0]
    return names_text((shortened(first_group, 20 if lane.groups[1:] else 30), *lane.groups[1:]), 1)


def _draw_bars(chart: figure, bars: Sequence[Row]) -> None:
    """A bar is solid while the incident was seen, pale where it is unknown, and never thinner than its border."""
    source = source_of_rows(bars, _COLUMNS)
    colors = dict.fromkeys(("line_color", "fill_color"), "color")
    style: dict[str, Any] = {"y": "y", "left": "left", "height": 0.78, "line_width": 2, **colors}
    a_click_only_follows_the_link = {"selection_glyph": None, "nonselection_glyph": None}
    pale = HBar(right="right", fill_alpha=0.35, line_alpha=0.6, **style)
    full_bars = chart.add_glyph(source, pale, name="spans", **a_click_only_follows_the_link)
    chart.add_glyph(source, HBar(right="seen", **style), name="seen", **a_click_only_follows_the_link)
    link = OpenURL(url="#@id", same_tab=True)
    chart.add_tools(
        HoverTool(
            renderers=[full_bars],
            tooltips=[(word(name), text) for name, text in _TIPS.items()],
            point_policy="follow_mouse",
        ),
        TapTool(renderers=[full_bars], callback=link, mode="replace"),
    )


def _labels(row: Sequence[Row], start: float, end: float) -> Iterator[Row]:
    """Each bar's headline where it fits first: in the solid part, the pale part, behind, or before. It is shortened
    where most room is if it fits nowhere.
    """
    free_from, pixel = start, (end - start) / _FRAME_PIXELS
    for bar, next_left in zip(row, [*(bar["left"] for bar in row[1:]), end], strict=True):
        left, seen, right = bar["left"], bar["seen"], bar["right"]
        places = (
            {"x": left, "room": seen - left, "ink": ink_on(bar["color"]), "align": "left"},
            {"x": seen, "room": right - seen, "ink": INK, "align": "left"},
            {"x": right, "room": next_left - right, "ink": INK, "align": "left"},
            {"x": left, "room": left - free_from, "ink": INK, "align": "right"},
        )
        free_from = right
        letters = [int((place["room"] / pixel - _FREE_PIXELS) / _LETTER_PIXELS) for place in places]
        most = next((fitting for fitting in letters if fitting >= width_of(bar["headline"])), max(letters))
        if most >= _FEWEST:
            place, text = places[letters.index(most)], _cut(bar["headline"], most)
            offset = -6 if place["align"] == "right" else 16 if bar["earlier"] else 6
            yield place | {"y": bar["y"], "label": text, "offset": offset}
            free_from += (width_of(text) * _LETTER_PIXELS + _FREE_PIXELS) * pixel if place["x"] == right else 0


def _cut(text: str, columns: int) -> str:
    """The text, or its beginning if it has more columns; wide characters have two."""
    if width_of(text) <= columns:
        return text
    fitting = sum(width < columns for width in accumulate(map(width_of, text)))
    return f"{text[:fitting].rstrip()}…"


def _draw_labels(chart: figure, labels: Sequence[Row]) -> None:
    texts = Text(
        text="label", text_color="ink", text_align=field("align"), x_offset=field("offset"), text_baseline="middle",
        text_font_size="11px",
    )  # fmt: skip
    chart.add_glyph(source_of_rows(labels, ("x", "y", "label", "ink", "align", "offset")), texts, name="labels")


def _draw_ends(chart: figure, bars: Sequence[Row], start: float, end: float) -> None:
    """An arrow and a word behind incidents that continue, and an arrow before those that began earlier."""
    lasting = [{**bar, "x": end} for bar in bars if bar["goes_on"]]
    source = source_of_rows(lasting, ("x", "y", "color", "goes_on"))
    arrow: dict[str, Any] = {"marker": "triangle", "size": 15, "line_color": PAPER, "fill_color": "color"}
    chart.add_glyph(source, Scatter(angle=-pi / 2, **arrow), name="open")
    words = Text(
        text="goes_on", text_color=INK, x_offset=12, text_baseline="middle", text_font_size="12px",
        text_font_style="bold",
    )  # fmt: skip
    chart.add_glyph(source, words, name="words")
    earlier = source_of_rows(
        [{**bar, "x": start + (end - start) * 0.005} for bar in bars if bar["earlier"]], ("x", "y", "color")
    )
    chart.add_glyph(earlier, Scatter(angle=pi / 2, **arrow), name="earlier")
