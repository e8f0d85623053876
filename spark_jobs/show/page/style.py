"""Charts: colors, axes and lines, how times and names are written, and how a page embeds them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import Any, Literal

from bokeh.core.properties import value
from bokeh.document import Document
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    DataRange1d,
    HoverTool,
    Line,
    NumeralTickFormatter,
    Range1d,
    Scatter,
    WheelZoomTool,
)
from bokeh.models.annotations import BoxAnnotation, Legend, LegendItem
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure
from bokeh.resources import INLINE

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.show.language import translated

#: Owners, in order of their numbers: Okabe and Ito's palette without its red, and Tol's muted one behind it.
OWNERS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"),
    *("#332288", "#44AA99", "#999933", "#AA4499", "#DDCC77", "#6699CC"),
)
#: Bars of incidents; report.css has them too.
SEVERITY: dict[str, str] = {ERROR: "#b3121a", WARN: "#f0c340", INFO: "#2b6cb0"}
NO_OWNER = "#D7191C"
UNOBSERVED = "#9A9A9A"
NOT_REPLAYED = "#D0D0D0"
#: What the page's script exchanges for the colors of the light or the dark scheme. GRID is for what may be overlooked.
INK, GRID, PAPER, DIM = "#010101", "#020202", "#030303", "#010102"
LINES = ("#010103", "#010104", "#010105", "#010106", "#010107", "#010108")
_SCHEMED = (INK, GRID, PAPER, DIM, *LINES)
_LIGHT = ("#1b1b1b", "#d5d5d5", "#ffffff", "#5a5a5a", "#0072b2", "#9a6200", "#00785a", "#a8487f", "#332288", "#6b6b2a")
_DARK = ("#ececec", "#4a4f57", "#16181c", "#a9a9a9", "#56b4e9", "#e69f00", "#2bc494", "#cc79a7", "#b79cf0", "#f0e442")
#: By scheme: the colors in the place of those above. All but GRID stand out from PAPER: 4.5 : 1 or more.
SCHEMES = {"light": dict(zip(_SCHEMED, _LIGHT, strict=True)), "dark": dict(zip(_SCHEMED, _DARK, strict=True))}


def owner_color(number: int) -> str:
    """The color of the connection with that number, from 1; they repeat after twelve."""
    return OWNERS[(number - 1) % len(OWNERS)]


def ink_on(color: str) -> str:
    """Black or white, whichever is easier to read on the color."""
    return max("#000000", "#FFFFFF", key=lambda ink: contrast(ink, color))


def contrast(color: str, background: str) -> float:
    """The contrast of two colors, 1 to 21, as WCAG 2 counts it; 4.5 is enough to read small text."""
    darker, lighter = sorted(map(_luminance, (color, background)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    parts = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def milliseconds(moment: datetime) -> float:
    """Milliseconds since 1970, as charts count time."""
    return moment.astimezone(UTC).timestamp() * 1000


def clock(moment: datetime) -> str:
    """The moment as text, in UTC: `2026-11-21 02:07:05`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def shortened(name: str, length: int = 26) -> str:
    """The name, or its beginning and end where it is longer."""
    if len(name) <= length:
        return name
    head = length // 2
    return f"{name[:head]}…{name[len(name) - (length - head - 1) :]}"


#: Room for the labels of rows: the same in all charts, so that their times stand one above the other.
_LEFT, _RIGHT = 210, 12


def time_range(interval: Interval, requested: Interval) -> Range1d:
    """The x axis of all charts of a group, in ms since 1970: it shows the requested time, within whole steps."""
    bounds = (milliseconds(interval.start), milliseconds(interval.end))
    return Range1d(
        start=milliseconds(requested.start),
        end=milliseconds(requested.end),
        bounds=bounds,
        min_interval=1000,
        name="time",
    )


def time_figure(time: Range1d, frame_height: int, name: str, y_range: Range1d | DataRange1d) -> figure:
    """An empty chart over time: drag to zoom, Ctrl and wheel too; the page has keys and buttons for it."""
    chart = figure(
        name=name,
        x_axis_type="datetime",
        x_axis_label=translated("time (UTC)"),
        x_range=time,
        y_range=y_range,
        frame_height=frame_height,
        sizing_mode="stretch_width",
        tools=[BoxZoomTool(dimensions="width"), WheelZoomTool(dimensions="width", modifiers={"ctrl": True})],
        toolbar_location=None,
        min_border_left=_LEFT,
        min_border_right=_RIGHT,
        background_fill_color=PAPER,
        border_fill_color=PAPER,
        outline_line_color=GRID,
    )
    for axis in chart.axis:
        axis.update(**_AXIS)
    chart.grid.grid_line_color = GRID
    chart.add_layout(
        BoxAnnotation(left=0, right=0, visible=False, fill_alpha=0.12, fill_color=INK, line_color=INK, name="mark")
    )
    return chart


def rows_figure(time: Range1d, name: str, labels: Mapping[int, str], rows: int, pixels: int) -> figure:
    """A chart of rows from 1, the first on top, each so many pixels high; `labels` are those of some rows."""
    y_range = Range1d(start=rows + 0.5, end=0.5)
    chart = time_figure(time, frame_height=pixels * rows, name=name, y_range=y_range)
    chart.yaxis.ticker = [*labels]
    chart.yaxis.major_label_overrides = {row: translated(label) for row, label in labels.items()}
    chart.ygrid.visible = False
    return chart


def lines_figure(
    time: Range1d, frame_height: int, name: str, label: str, numbers: str, legend: Literal["center", "above"] = "center"
) -> figure:
    """An empty chart of lines from 0 up: `numbers` is the format of the y axis, `legend` the place of the legend."""
    chart = time_figure(time, frame_height, name, y_range=DataRange1d(start=0))
    chart.yaxis.axis_label = translated(label)
    chart.yaxis.formatter = NumeralTickFormatter(format=numbers)
    chart.add_layout(Legend(**_LEGEND), legend)
    return chart


#: Every axis.
_AXIS: dict[str, Any] = {
    **dict.fromkeys(("axis_label_text_color", "major_label_text_color"), INK),
    **dict.fromkeys(("axis_line_color", "major_tick_line_color", "minor_tick_line_color"), DIM),
    **dict.fromkeys(("axis_label_text_font_size", "major_label_text_font_size"), "11px"),
    "axis_label_standoff": 2,
    "axis_label_text_font_style": "normal",
}
#: Every legend; a click on a name hides its line.
_LEGEND: dict[str, Any] = {
    "label_text_color": INK,
    "label_text_font_size": "11px",
    "background_fill_color": PAPER,
    "background_fill_alpha": 0.7,
    "border_line_color": GRID,
    "spacing": 0,
    "glyph_height": 14,
    "click_policy": "hide",
    "location": "top_left",
}


def source_of_rows(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> ColumnDataSource:
    """The data source of a chart, made of these columns of the rows; their texts in the language."""
    return ColumnDataSource({name: [_shown(row[name]) for row in rows] for name in columns})


def _shown(value: Any) -> Any:
    return translated(value) if isinstance(value, str) else value


def packed(charts: Sequence[figure]) -> str:
    """The charts as BokehJS embeds them, compressed: names and times repeat in every span."""
    document = Document(title="charts")
    with document.models.freeze():  # else each chart looks through all that came before it
        for chart in charts:
            document.add_root(chart)
    item = {"docid": "charts", "root_ids": [chart.id for chart in charts]}
    text = json.dumps({"docs": {"charts": document.to_json(deferred=False)}, "item": item}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def bokeh_js() -> str:
    """The script of BokehJS, which draws the charts in a browser."""
    return str(INLINE.js_raw[0])


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
