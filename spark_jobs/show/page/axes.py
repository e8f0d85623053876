"""The style of every chart of the report: time in UTC across, the same for all charts of a group."""

from __future__ import annotations

from typing import Any

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.page.colours import DIM, GRID, INK, PAPER
from spark_jobs.show.page.models import Figure, Model
from spark_jobs.show.page.texts import milliseconds

#: Room for the labels of rows: the same in all charts, so that their times stand one above the other.
_LEFT, _RIGHT = 210, 12


#: Times as Bokeh labels an axis of time: the day and the year stand once, below.
_TIMES = Model(
    "DatetimeTickFormatter",
    seconds="%T",
    minsec="%T",
    minutes="%H:%M",
    hours="%H:%M",
    days="%b %d",
    months="%b %Y",
    strip_leading_zeros=["microseconds", "milliseconds", "seconds"],
    boundary_scaling=False,
    context_which="all",
    context=Model(
        "DatetimeTickFormatter",
        **dict.fromkeys(("microseconds", "milliseconds"), "%T"),
        **dict.fromkeys(("seconds", "minsec", "minutes", "hourmin", "hours"), "%b %d, %Y"),
        days="%Y",
        months="",
        years="",
        boundary_scaling=False,
        hide_repeats=True,
        context_which="all",
        context=Model(
            "DatetimeTickFormatter",
            **dict.fromkeys(("microseconds", "milliseconds"), "%b %d, %Y"),
            **dict.fromkeys(("seconds", "minsec", "minutes", "hourmin", "hours", "days", "months", "years"), ""),
            boundary_scaling=False,
            hide_repeats=True,
        ),
    ),
)


def time_range(interval: Interval, asked: Interval) -> Model:
    """The x axis that all charts of a group share, in milliseconds since 1970.

    It shows what was asked for, and can be moved inside the whole steps around it.
    """
    bounds = (milliseconds(interval.start), milliseconds(interval.end))
    return Model(
        "Range1d",
        start=milliseconds(asked.start),
        end=milliseconds(asked.end),
        bounds=bounds,
        min_interval=1000,
        name="time",
    )


def time_figure(time: Model, frame_height: int, name: str, y_range: Model) -> Figure:
    """An empty chart over time: drag to zoom, Ctrl and wheel too; the page has keys and buttons for it."""
    below = _axis("DatetimeAxis", axis_label="time (UTC)", ticker=Model("DatetimeTicker", num_minor_ticks=5))
    below.formatter = _TIMES
    left = _axis("LinearAxis")
    zooms = (
        Model("BoxZoomTool", dimensions="width"),
        Model("WheelZoomTool", dimensions="width", modifiers={"ctrl": True}),
    )
    grids = (
        Model("Grid", axis=axis, dimension=number, grid_line_color=GRID) for number, axis in enumerate((below, left))
    )
    mark = Model(
        "BoxAnnotation", left=0, right=0, visible=False, fill_alpha=0.12, fill_color=INK, line_color=INK, name="mark"
    )
    return Figure(
        "Figure",
        name=name,
        x_range=time,
        y_range=y_range,
        frame_height=frame_height,
        sizing_mode="stretch_width",
        toolbar=Model("Toolbar", tools=[*zooms]),
        toolbar_location=None,
        min_border_left=_LEFT,
        min_border_right=_RIGHT,
        background_fill_color=PAPER,
        border_fill_color=PAPER,
        outline_line_color=GRID,
        below=[below],
        left=[left],
        center=[*grids, mark],
        renderers=[],
    )


def _axis(type: str, **properties: Any) -> Model:
    """In the style of all."""
    texts = dict.fromkeys(("axis_label_text_color", "major_label_text_color"), INK)
    lines = dict.fromkeys(("axis_line_color", "major_tick_line_color", "minor_tick_line_color"), DIM)
    sizes = dict.fromkeys(("axis_label_text_font_size", "major_label_text_font_size"), "11px")
    style = {"axis_label_standoff": 2, "axis_label_text_font_style": "normal"}
    return Model(type, **texts, **lines, **sizes, **style, **properties)


def with_legend(chart: Figure) -> Figure:
    """The chart, its legend in the style of all; a click on a name hides its line."""
    chart.legend.label_text_color = INK
    chart.legend.label_text_font_size = "11px"
    chart.legend.background_fill_color = PAPER
    chart.legend.border_line_color = GRID
    chart.legend.spacing = 0
    chart.legend.glyph_height = 14
    chart.legend.click_policy = "hide"
    return chart
