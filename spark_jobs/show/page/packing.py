"""Charts as a page holds them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

from spark_jobs.show.page.models import Model, encoded

#: Its files are read where they are: importing it takes half a second.
_BOKEH = distribution("bokeh")
BOKEH_VERSION = _BOKEH.version


def packed(roots: Sequence[Model]) -> str:
    """The charts as Bokeh embeds them, compressed: names and times repeat in every span."""
    told: set[str] = set()
    charts = {"version": BOKEH_VERSION, "title": "charts", "roots": [encoded(root, told) for root in roots]}
    item = {"docid": "charts", "root_ids": [root.id for root in roots]}
    text = json.dumps({"docs": {"charts": charts}, "item": item}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def bokeh_js() -> str:
    """What draws the charts in a browser."""
    return Path(str(_BOKEH.locate_file("bokeh/server/static/js/bokeh.min.js"))).read_text(encoding="utf-8")
