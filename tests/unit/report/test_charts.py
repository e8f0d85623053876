"""The charts that a page embeds, read back by Bokeh: no browser is needed."""

import base64
import gzip
import json
import re
from typing import Any

from bokeh.document import Document
from bokeh.plotting import figure

from spark_jobs.show.page.page import page, what_if_page
from tests.support.pages import content, incident, troubled, twins
from tests.support.times import HOUR, at
from tests.unit.report.test_contrast import compared

_DEFAULTS = {"type": "object", "name": "DocumentConfig", "id": "config"}


def read_back(chart: str) -> Document:
    """The document of packed charts."""
    charts: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(chart)))
    assert list(charts["docs"]) == [charts["item"]["docid"]]
    document = Document.from_json({"config": _DEFAULTS} | charts["docs"]["charts"])
    assert [root.id for root in document.roots] == charts["item"]["root_ids"]
    return document


def figures(html: str) -> list[Any]:
    packed_charts = re.findall(r'data-gzip="([^"]+)"', html)
    return [root for chart in packed_charts for root in read_back(chart).roots if isinstance(root, figure)]


def test_the_charts_of_a_group_share_an_axis_of_time() -> None:
    drawn = figures(page(content(twins(troubled()), incidents=[incident(600, None), incident(-60, 60, "other")])))
    assert [chart.name for chart in drawn] == ["Incidents", "Members", "Owners", "Backlog", "Rates"]
    assert {chart.x_range.name for chart in drawn} == {"time"}
    assert len({chart.x_range.id for chart in drawn}) == 2  # one for the incidents, and one that a group's charts share
    glyphs = {drawing.glyph.__class__.__name__ for chart in drawn for drawing in chart.renderers}
    assert glyphs == {"HBar", "HSpan", "Line", "Scatter", "Text", "VSpan"}


def test_a_what_if_names_every_case_in_its_legend() -> None:
    (chart,) = figures(what_if_page("g", HOUR, compared(2)))
    (legend,) = [model for model in chart.above if model.__class__.__name__ == "Legend"]
    assert [item.label.value for item in legend.items] == ["really happened", "--members +1", "--members +2"]
    assert [item.renderers[0].id for item in legend.items] == [renderer.id for renderer in chart.renderers]
    assert (chart.x_range.start, chart.x_range.end) == (at(0).timestamp() * 1000, at(1200).timestamp() * 1000)
