"""The timeline of incidents: lanes of bars, coloured by severity; an end that is open points to the right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import pi
from typing import Any, NamedTuple

from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import names_text, number_text
from spark_jobs.show.page.models import Figure, Model, field, hover, marks, source_of, source_of_rows
from spark_jobs.show.page.style import GRID, INK, PAPER, SEVERITY, clock, ink_on, milliseconds, shortened, time_figure
from spark_jobs.show.rows import Row
from spark_jobs.show.text.incident_text import attention, time_text

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
    for incident in incidents:
        same[incident.cluster, incident.groups].append(incident)
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
    for incident in sorted(found, key=lambda one: (one.opened_at, one.incident_id)):
        row = next((row for row in rows if _is_over(row[-1], incident.opened_at)), None)
        if row is None:
            rows.append([incident])
        else:
            row.append(incident)
    return tuple(map(tuple, rows))


def _is_over(incident: Incident, moment: int) -> bool:
    return incident.resolved_at is not None and incident.resolved_at <= moment


_ROW_PIXELS = 24
#: What the frame is wide on a usual screen, and a letter: a label that would not fit there is not drawn.
_FRAME_PIXELS, _LETTER_PIXELS = 1000, 6.3
#: The part of the time axis behind the interval's end, where it is said that an incident goes on.
_MARGIN = 0.07
_TIPS = {"incident": "@headline", "what": "@what", "groups": "@groups", "time": "@time", "piled up": "@cost"}
_COLUMNS = ("y", "left", "seen", "right", "colour", "id", *(text.removeprefix("@") for text in _TIPS.values()))


def incident_id(incident: Incident) -> str:
    """What its page is called in links."""
    return f"incident-{incident.incident_id}"


def incident_chart(lanes: Sequence[Lane], interval: Interval) -> Figure:
    """A row per lane, or several where incidents of the same groups stand at the same time. A click opens the page."""
    start, end = milliseconds(interval.start), milliseconds(interval.end)
    margin = (end - start) * _MARGIN
    until = end + margin
    time = Model("Range1d", start=start, end=until, bounds=(start, until), min_interval=1000, name="time")
    rows = [row for lane in lanes for row in lane.rows]
    in_rows = [[_bar(incident, interval) | {"y": place} for incident in row] for place, row in enumerate(rows, start=1)]
    bars = [bar for row in in_rows for bar in row]
    chart = _figure(lanes, len(rows), time)
    chart.draw(source_of({"x": [end]}), marks("VSpan", x=field("x"), line_color=INK, line_dash="dotted"), name="end")
    _draw_bars(chart, bars)
    _draw_labels(chart, [one for row in in_rows for one in _labels(row, start, end)])
    _draw_ends(chart, bars, start, end)
    return chart


def _bar(incident: Incident, interval: Interval) -> dict[str, Any]:
    """From its opening to when it was known to be gone, in the interval; `seen`: the end of what was seen of it."""
    end = milliseconds(interval.end)
    left = max(_ms(incident.opened_at), milliseconds(interval.start))
    gone = None if incident.resolved_at is None else _ms(incident.resolved_at)
    return {
        "left": left,
        "seen": max(left, min(_ms(incident.last_seen_at), end)),
        "right": end if gone is None else min(gone, end),
        "colour": SEVERITY[incident.severity],
        "id": incident_id(incident),
        "headline": incident.headline,
        "what": f"{incident.severity} {incident.rule}, {incident.cause}",
        "groups": names_text(incident.groups, 8),
        "time": time_text(incident, clock),
        "cost": number_text(incident.piled_up),
        "rule": incident.rule,
        "earlier": _ms(incident.opened_at) < left,
        "goes_on": "open" if gone is None else "ends later" if gone > end else "",
    }


def _ms(micros: int) -> float:
    return milliseconds(from_micros(micros))


def _figure(lanes: Sequence[Lane], rows: int, time: Model) -> Figure:
    across = Model("Range1d", start=rows + 0.5, end=0.5)
    chart = time_figure(time, frame_height=_ROW_PIXELS * rows, name="Incidents", y_range=across)
    firsts, place = [], 1
    for lane in lanes:
        firsts.append(place)
        place += len(lane.rows)
    several = len({lane.cluster for lane in lanes}) > 1
    chart.yaxis.ticker = Model("FixedTicker", ticks=firsts)
    chart.yaxis.major_label_overrides = dict(zip(firsts, (_lane_label(lane, several) for lane in lanes), strict=True))
    chart.ygrid.visible = False
    borders = source_of({"y": [first - 0.5 for first in firsts[1:]]})
    chart.draw(borders, marks("HSpan", y=field("y"), line_color=GRID), name="lanes")
    return chart


def _lane_label(lane: Lane, several_clusters: bool) -> str:
    first = f"{lane.cluster}: {lane.groups[0]}" if several_clusters else lane.groups[0]
    return names_text((shortened(first, 20 if lane.groups[1:] else 30), *lane.groups[1:]), 1)


def _draw_bars(chart: Figure, bars: Sequence[Row]) -> None:
    """What was seen is solid, and pale what is not known; a bar is never thinner than its border."""
    source = source_of_rows(bars, _COLUMNS)
    colours = dict.fromkeys(("line_color", "fill_color"), field("colour"))
    style: dict[str, Any] = {"y": field("y"), "left": field("left"), "height": 0.78, "line_width": 2, **colours}
    pale = marks("HBar", right=field("right"), fill_alpha=0.35, line_alpha=0.6, **style)
    a_click_only_follows_the_link = {"selection_glyph": None, "nonselection_glyph": None}
    whole = chart.draw(source, pale, name="spans", **a_click_only_follows_the_link)
    chart.draw(source, marks("HBar", right=field("seen"), **style), name="seen", **a_click_only_follows_the_link)
    link = Model("OpenURL", url="#@id", same_tab=True)
    chart.add_tools(
        hover([whole], _TIPS, point_policy="follow_mouse"),
        Model("TapTool", renderers=[whole], callback=link, mode="replace"),
    )


def _labels(row: Sequence[Row], start: float, end: float) -> Iterator[Row]:
    """The headline of each bar, or its rule, where it fits: inside (in what was seen, or what is pale), else behind or
    before it, where nothing else is.
    """
    free, pixel = start, (end - start) / _FRAME_PIXELS
    for bar, after in zip(row, [*(bar["left"] for bar in row[1:]), end], strict=True):
        left, seen, right = bar["left"], bar["seen"], bar["right"]
        places = (
            {"x": left, "room": seen - left, "ink": ink_on(bar["colour"]), "align": "left"},
            {"x": seen, "room": right - seen, "ink": INK, "align": "left"},
            {"x": right, "room": after - right, "ink": INK, "align": "left"},
            {"x": left, "room": left - free, "ink": INK, "align": "right"},
        )
        free = right
        for text, place in ((text, place) for text in (bar["headline"], bar["rule"]) for place in places):
            needed = (len(text) * _LETTER_PIXELS + 24) * pixel
            if needed < place["room"]:
                offset = -6 if place["align"] == "right" else 16 if bar["earlier"] else 6
                yield place | {"y": bar["y"], "label": text, "offset": offset}
                free += needed if place["x"] == right else 0
                break


def _draw_labels(chart: Figure, labels: Sequence[Row]) -> None:
    texts = marks(
        "Text", x=field("x"), y=field("y"), text=field("label"), text_color=field("ink"), text_align=field("align"),
        x_offset=field("offset"), text_baseline="middle", text_font_size="11px",
    )  # fmt: skip
    chart.draw(source_of_rows(labels, ("x", "y", "label", "ink", "align", "offset")), texts, name="labels")


def _draw_ends(chart: Figure, bars: Sequence[Row], start: float, end: float) -> None:
    """An arrow and a word behind what goes on, and an arrow before what began earlier."""
    on = [{**bar, "x": end} for bar in bars if bar["goes_on"]]
    source = source_of_rows(on, ("x", "y", "colour", "goes_on"))
    place = {"x": field("x"), "y": field("y")}
    arrow = {
        **place,
        "marker": "triangle",
        "size": 15,
        "line_color": PAPER,
        "line_width": 1,
        "fill_color": field("colour"),
    }
    chart.draw(source, marks("Scatter", angle=-pi / 2, **arrow), name="open")
    words = marks(
        "Text", text=field("goes_on"), text_color=INK, x_offset=12, text_baseline="middle", text_font_size="12px",
        text_font_style="bold", **place,
    )  # fmt: skip
    chart.draw(source, words, name="words")
    before = [{**bar, "x": start + (end - start) * 0.005} for bar in bars if bar["earlier"]]
    chart.draw(source_of_rows(before, ("x", "y", "colour")), marks("Scatter", angle=pi / 2, **arrow), name="earlier")
