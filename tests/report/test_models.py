"""Charts are written without Bokeh's classes: whether Bokeh reads of them what was meant, without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from math import isnan
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.model.util import get_class
from bokeh.models import Line
from bokeh.plotting import figure

from spark_jobs.show.page.lines import what_if_page
from spark_jobs.show.page.models import Figure, Model, field, line, marks, packed, source_of
from spark_jobs.show.page.page import page
from spark_jobs.show.page.style import time_figure, time_range
from tests.report.pages import content, incident, troubled, twins
from tests.report.test_contrast import compared
from tests.snapshots import HOUR, at

_DEFAULTS = {"type": "object", "name": "DocumentConfig", "id": "config"}


def properties_in(value: Any) -> Iterator[tuple[str, str]]:
    """(type of a model, property) of all that is said in Bokeh's JSON."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from properties_in(part)
    if isinstance(value, dict) and value.get("type") == "object":
        yield from ((value["name"], name) for name in value.get("attributes", ()))


def read_back(chart: str) -> Document:
    """The document of packed charts; raises where Bokeh does not know a property, or not such a value of it."""
    charts: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(chart)))
    assert [
        (model, name) for model, name in properties_in(charts["docs"]) if name not in get_class(model).properties()
    ] == []
    assert list(charts["docs"]) == [charts["item"]["docid"]]
    document = Document.from_json({"config": _DEFAULTS} | charts["docs"]["charts"])
    assert [root.id for root in document.roots] == charts["item"]["root_ids"]
    return document


def empty() -> Figure:
    return time_figure(time_range(HOUR, HOUR), frame_height=50, name="empty", y_range=Model("DataRange1d", start=0))


def figures(html: str) -> list[Any]:
    packed_charts = re.findall(r'data-gzip="([^"]+)"', html)
    return [root for chart in packed_charts for root in read_back(chart).roots if isinstance(root, figure)]


def test_bokeh_knows_all_that_a_report_says_of_its_charts() -> None:
    drawn = figures(page(content(twins(troubled()), incidents=[incident(600, None), incident(-60, 60, "other")])))
    assert [chart.name for chart in drawn] == ["Incidents", "Members", "Owners", "Backlog", "Rates"]
    assert {chart.x_range.name for chart in drawn} == {"time"}
    assert len({chart.x_range.id for chart in drawn}) == 2  # one for the incidents, and one that a group's charts share
    glyphs = {drawing.glyph.__class__.__name__ for chart in drawn for drawing in chart.renderers}
    assert glyphs == {"HBar", "HSpan", "Line", "Scatter", "Text", "VSpan"}


def test_bokeh_knows_all_that_a_what_if_says_of_its_chart() -> None:
    (chart,) = figures(what_if_page("g", HOUR, compared(2)))
    (legend,) = [model for model in chart.above if model.__class__.__name__ == "Legend"]
    assert [item.label.value for item in legend.items] == ["really happened", "--members +1", "--members +2"]
    assert [item.renderers[0].id for item in legend.items] == [renderer.id for renderer in chart.renderers]
    assert (chart.x_range.start, chart.x_range.end) == (at(0).timestamp() * 1000, at(1200).timestamp() * 1000)


def test_an_axis_of_time_is_labelled_as_bokeh_does() -> None:
    (drawn,) = figures(f'data-gzip="{packed([empty()])}"')
    axis: Any = figure(x_axis_type="datetime").below[0]
    formatter, expected = drawn.below[0].formatter, axis.formatter
    for _ in range(3):
        names = expected.properties() - {"context", "name", "tags", "subscribed_events", "syncable"}
        assert {name: getattr(formatter, name) for name in names} == {name: getattr(expected, name) for name in names}
        formatter, expected = formatter.context, expected.context
    assert formatter is expected is None


def test_unknown_numbers_columns_and_values_are_told_apart() -> None:
    chart, nan = empty(), float("nan")
    chart.draw(source_of({"x": [1.0, nan], "y": [[2.0, nan], []]}), line("#000000", 2), name="line")
    chart.draw(source_of({"x": [1]}), marks("VSpan", x=field("x"), line_color="x"), legend_label="all")
    (drawn,) = figures(f'data-gzip="{packed([chart])}"')
    first, second = drawn.renderers
    (one, unknown), ((two, other), none) = first.data_source.data["x"], first.data_source.data["y"]
    assert (one, two, none) == (1, 2, [])
    assert isnan(unknown)
    assert isnan(other)
    assert (second.glyph.x.field, second.glyph.line_color.value) == ("x", "x")
    assert drawn.legend.items[0].label.value == "all"


@pytest.mark.parametrize("dash", ["solid", "dashed", "dotted", "dotdash", "dashdot"])
def test_a_dash_is_as_long_as_bokeh_draws_it_from_python(dash: str) -> None:
    """BokehJS itself makes those of thick lines longer."""
    assert line("#000000", 2, dash).line_dash == Line(line_dash=dash).line_dash


@pytest.mark.parametrize("wrong", [{"colour": "#000000"}, {"line_width": "thick"}])
def test_what_bokeh_does_not_know_is_an_error_here(wrong: dict[str, str]) -> None:
    chart = empty()
    chart.draw(source_of({"x": [], "y": []}), Model("Line", x=field("x"), y=field("y"), **wrong))
    with pytest.raises((AssertionError, ValueError)):
        read_back(packed([chart]))
