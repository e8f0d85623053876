"""Bokeh's charts as a page embeds them: their document as compressed JSON, and the script that draws it."""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bokeh.document import Document
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure
from bokeh.resources import INLINE


def source_of_rows(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> ColumnDataSource:
    """The data source of a chart, made of these columns of the rows."""
    return ColumnDataSource({name: [row[name] for row in rows] for name in columns})


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
