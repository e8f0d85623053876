"""Lines over time, as charts draw them, and the backlogs of a what-if."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, HoverTool, Line, Scatter
from bokeh.models.annotations import LegendItem
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.show.page.style import INK, LINES, lines_figure, packed, time_range
from spark_jobs.show.page.templates import rendered
from spark_jobs.what_if.outcome import CaseOutcome, Comparison

#: (ms, value) in the order of time; NaN breaks the line.
Points = Sequence[tuple[float, float]]
_DASHES = ("solid", "dashed", "dotdash", "dotted")


def draw_lines(chart: figure, lines: Mapping[str, Points], width: float) -> None:
    """A line per label, each with its own color and dashes."""
    drawn: list[Any] = []
    for place, (label, points) in enumerate(lines.items()):
        source = ColumnDataSource(coordinates(points) | {"label": [label] * len(points)})
        line = Line(line_color=LINES[place], line_width=width, line_dash=_DASHES[place])
        drawn.append(named(chart, chart.add_glyph(source, line, name=label), label))
        if alone := isolated(points):
            chart.add_glyph(ColumnDataSource(coordinates(alone)), dots(LINES[place]), name=f"{label} alone")
    chart.add_tools(HoverTool(renderers=drawn, tooltips=[("line", "@label"), ("value", "@y{0,0.[0]}")]))


def coordinates(points: Points) -> dict[str, Any]:
    """The points as columns `x` and `y`."""
    return {axis: [point[place] for point in points] for place, axis in enumerate(("x", "y"))}


def isolated(points: Points) -> list[tuple[float, float]]:
    """The points between two breaks, which no line shows."""
    is_known = [False, *(not isnan(y) for _, y in points), False]
    return [point for index, point in enumerate(points) if is_known[index : index + 3] == [False, True, False]]


def dots(color: str) -> Scatter:
    """A dot at each point."""
    return Scatter(line_color=color, fill_color=color, size=5)


def named(chart: figure, lines: GlyphRenderer[Any], label: str) -> GlyphRenderer[Any]:
    """The lines, with this label in the legend."""
    legend: Any = chart.legend[0]
    legend.items.append(LegendItem(label=value(label), renderers=[lines]))
    return lines


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
