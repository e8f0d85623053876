"""The style of every chart of the report: time in UTC across, the same for all charts of a group."""

from __future__ import annotations

from typing import Any

from bokeh.models import BoxZoomTool, Range1d, WheelZoomTool
from bokeh.models.annotations import BoxAnnotation
from bokeh.plotting import figure

from spark_jobs.domain.intervals import Interval
from spark_jobs.report.colours import DIM, GRID, INK, PAPER
from spark_jobs.report.texts import milliseconds

#: Room for the labels of rows: the same in all charts, so that their times stand one above the other.
_LEFT, _RIGHT = 210, 12


def time_range(interval: Interval, asked: Interval) -> Range1d:
    """The x axis that all charts of a group share, in milliseconds since 1970.

    It shows what was asked for, and can be moved inside the whole steps around it.
    """
    bounds = (milliseconds(interval.start), milliseconds(interval.end))
    return Range1d(
        start=milliseconds(asked.start),
        end=milliseconds(asked.end),
        bounds=bounds,
        min_interval=1000,
        name="time",
    )


def time_figure(time: Range1d, frame_height: int, name: str, **settings: Any) -> figure:
    """An empty chart over time: drag to zoom, Ctrl and wheel too; the page has keys and buttons for it."""
    chart = figure(
        x_range=time,
        x_axis_type="datetime",
        frame_height=frame_height,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools=[],
        name=name,
        min_border_left=_LEFT,
        min_border_right=_RIGHT,
        background_fill_color=PAPER,
        border_fill_color=PAPER,
        outline_line_color=GRID,
        **settings,
    )
    chart.add_tools(BoxZoomTool(dimensions="width"), WheelZoomTool(dimensions="width", modifiers="ctrl"))
    chart.xaxis.axis_label = "time (UTC)"
    for axis in chart.axis:
        axis.axis_label_text_color = axis.major_label_text_color = INK
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = DIM
        axis.axis_label_standoff = 2
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "11px"
        axis.major_label_text_font_size = "11px"
    chart.grid.grid_line_color = GRID
    chart.add_layout(
        BoxAnnotation(left=0, right=0, visible=False, fill_alpha=0.12, fill_color=INK, line_color=INK, name="mark")
    )
    return chart


def with_legend(chart: figure) -> figure:
    """The chart, its legend in the style of all; a click on a name hides its line."""
    chart.legend.label_text_color = INK
    chart.legend.label_text_font_size = "11px"
    chart.legend.background_fill_color = PAPER
    chart.legend.border_line_color = GRID
    chart.legend.spacing = 0
    chart.legend.glyph_height = 14
    chart.legend.click_policy = "hide"
    return chart
