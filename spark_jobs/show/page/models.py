"""Charts as a page embeds them: Bokeh's models (a type, an id, the properties that are set) as its JSON, compressed.

Bokeh's own classes take half a millisecond for each model, and a report has thousands of them. A property that is not
set has the default of BokehJS; a test reads the documents back with Bokeh, which knows every property.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import distribution
from itertools import count
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

_NUMBERS = count(1)
#: Pixels that are drawn and left out, in turn, whatever a line's width.
_DASHES: dict[str, list[int]] = {
    "solid": [],
    "dashed": [6],
    "dotted": [2, 4],
    "dotdash": [2, 4, 6, 4],
    "dashdot": [6, 4, 2, 4],
}


class Model:
    """One model: its properties are its attributes."""

    __slots__ = ("__dict__", "id", "type")

    def __init__(self, type: str, /, **properties: Any) -> None:
        self.type, self.id = type, f"p{next(_NUMBERS)}"
        vars(self).update(properties)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class Figure(Model):
    """A chart of one x and one y axis."""

    __slots__ = ()

    @property
    def yaxis(self) -> Model:
        """The y axis, left of the chart."""
        axis: Model = self.left[0]
        return axis

    @property
    def ygrid(self) -> Model:
        """The horizontal grid lines."""
        grid: Model = next(grid for grid in self.center if grid.type == "Grid" and grid.dimension == 1)
        return grid

    @property
    def legend(self) -> Model:
        """The legend, inside the chart unless it was placed above; made on the first access."""
        legends = (model for model in (*vars(self).get("above", ()), *self.center) if model.type == "Legend")
        legend = next(legends, None)
        if legend is None:
            legend = Model("Legend", items=[])
            self.center.append(legend)
        return legend

    def draw(self, source: Model, glyph: Model, *, legend_label: str | None = None, **properties: Any) -> Model:
        """Draws the rows of the source, and names them in the legend."""
        renderer = Model("GlyphRenderer", data_source=source, glyph=glyph, **properties)
        self.renderers.append(renderer)
        if legend_label is not None:
            item = Model("LegendItem", label=_Spec("value", legend_label), renderers=[renderer])
            self.legend.items.append(item)
        return renderer

    def add_tools(self, *tools: Model) -> None:
        """Adds tools."""
        self.toolbar.tools.extend(tools)


class _Spec(NamedTuple):
    """The value of a property per row: a `field` of the source, or one `value` for all rows."""

    kind: str
    of: Any


field = partial(_Spec, "field")


def marks(type: str, **properties: Any) -> Model:
    """A glyph that draws a mark for every row."""
    specs = {name: value if isinstance(value, _Spec) else _Spec("value", value) for name, value in properties.items()}
    return Model(type, **specs)


def line(colour: str, width: float, dash: str = "solid") -> Model:
    """A line through the points `x` and `y` of all rows."""
    return Model("Line", x=field("x"), y=field("y"), line_color=colour, line_width=width, line_dash=_DASHES[dash])


def dots(colour: str) -> Model:
    """A dot at the points `x` and `y` of every row."""
    return marks("Scatter", x=field("x"), y=field("y"), line_color=colour, fill_color=colour, size=5)


def hover(renderers: Sequence[Model], tips: Mapping[str, str], **properties: Any) -> Model:
    """The tooltip of what is drawn: a name and a text for each line."""
    return Model("HoverTool", renderers=[*renderers], tooltips=[*tips.items()], **properties)


def source_of(columns: Mapping[str, Sequence[Any]]) -> Model:
    """The data source of a chart, column by column."""
    return Model("ColumnDataSource", data=dict(columns))


def source_of_rows(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> Model:
    """The data source of a chart, made of these columns of the rows."""
    return source_of({name: [row[name] for row in rows] for name in columns})


def encoded(value: Any, encoded_ids: set[str]) -> Any:
    """The value in Bokeh's JSON; a model whose id is in `encoded_ids` is only referred to by its id."""
    if isinstance(value, Model):
        if value.id in encoded_ids:
            return {"id": value.id}
        encoded_ids.add(value.id)
        properties = {name: encoded(property_value, encoded_ids) for name, property_value in vars(value).items()}
        return {"type": "object", "name": value.type, "id": value.id, "attributes": properties}
    if isinstance(value, _Spec):
        return {"type": value.kind, value.kind: value.of}
    if isinstance(value, dict):
        return {"type": "map", "entries": [[name, encoded(item, encoded_ids)] for name, item in value.items()]}
    if isinstance(value, list | tuple):
        return [encoded(item, encoded_ids) for item in value]
    return {"type": "number", "value": "nan"} if isinstance(value, float) and isnan(value) else value


#: Its files are read where they are: importing it takes half a second.
_BOKEH = distribution("bokeh")
BOKEH_VERSION = _BOKEH.version


def packed(roots: Sequence[Model]) -> str:
    """The charts as Bokeh embeds them, compressed: names and times repeat in every span."""
    encoded_ids: set[str] = set()
    charts = {"version": BOKEH_VERSION, "title": "charts", "roots": [encoded(root, encoded_ids) for root in roots]}
    item = {"docid": "charts", "root_ids": [root.id for root in roots]}
    text = json.dumps({"docs": {"charts": charts}, "item": item}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def bokeh_js() -> str:
    """The script of BokehJS, which draws the charts in a browser."""
    return Path(str(_BOKEH.locate_file("bokeh/server/static/js/bokeh.min.js"))).read_text(encoding="utf-8")
