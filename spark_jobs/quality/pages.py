"""How Data Docs become pages that need no network and run no script, whatever the rows are named.

Great Expectations' own pages load styles and scripts from a dozen hosts: without them the index is empty. Its renderers
stay; the templates in `views/` come before its own, and are plain HTML with one style sheet.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from great_expectations.render.view.view import DefaultJinjaIndexPageView, DefaultJinjaPageView
from jinja2 import ChoiceLoader, FileSystemLoader

_VIEWS = Path(__file__).with_name("views")


class _Offline(DefaultJinjaPageView):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        assert self.env.loader is not None  # Great Expectations gives it one
        self.env.loader = ChoiceLoader([FileSystemLoader(_VIEWS), self.env.loader])


class OfflinePage(_Offline):
    """The page of a table in a run. Its link to a page of the suite is left out: docs/expectations.md is that page."""

    def render(self, document: Any, template: str | None = None, **values: Any) -> str:
        """HTML of the page."""
        page = str(super().render(document, template, **values))  # type: ignore[no-untyped-call]
        return re.sub(r'<a href="[./]*/expectations/[^"]*"\s*>(.*?)</a>', r"\1", page)


class OfflineIndex(_Offline, DefaultJinjaIndexPageView):
    """The list of runs."""


def offline(view: type[_Offline]) -> dict[str, str]:
    """How the configuration of a site names a view."""
    return {"module_name": view.__module__, "class_name": view.__name__}
