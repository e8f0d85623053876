"""Pages of HTML: a template, and what every page has: its style, Bokeh, the script, the colours."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.domain.intervals import duration_text
from spark_jobs.domain.phrases import catch_up_text, number_text, percent_text, rate_text, retention_text
from spark_jobs.report.colours import SCHEMES
from spark_jobs.report.evidence import evidence_facts
from spark_jobs.report.packing import bokeh_js
from spark_jobs.report.texts import clock, milliseconds

_VIEWS = Path(__file__).with_name("views")


def rendered(template: str, **content: object) -> str:
    """The template of that name, filled: a page that loads nothing."""
    return _templates().get_template(template).render(
        content,
        schemes=SCHEMES,
        bokeh=_script(bokeh_js()),
        script=_script((_VIEWS / "report.js").read_text(encoding="utf-8")),
        css=Markup((_VIEWS / "report.css").read_text(encoding="utf-8")),
    )  # fmt: skip


def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(_VIEWS), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    templates.filters |= {
        "clock": clock,
        "messages": number_text,
        "ms": milliseconds,
        "facts": evidence_facts,
        "lasted": lambda finding: duration_text(finding["end"] - finding["start"]),
        "percent": percent_text,
        "rate": rate_text,
        "catch_up": catch_up_text,
        "retention": retention_text,
    }
    return templates


def _script(text: str) -> Markup:
    """A script as an HTML element may hold it."""
    return Markup(text.replace("</script", "<\\/script"))
