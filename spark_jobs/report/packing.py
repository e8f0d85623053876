"""Charts as a page holds them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence

from bokeh.document import Document
from bokeh.embed.util import standalone_docs_json_and_render_items
from bokeh.plotting import figure


def packed(roots: Sequence[figure]) -> str:
    """The charts as Bokeh embeds them, compressed: names and times repeat in every span."""
    document = Document()
    with document.models.freeze():  # else each root is looked through again for each other
        for root in roots:
            document.add_root(root)
    docs, (item,) = standalone_docs_json_and_render_items(document)
    text = json.dumps({"docs": docs, "item": item.to_json()}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
