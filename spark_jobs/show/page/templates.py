"""Renders HTML pages: a template with style sheet, Bokeh, script and colors; and evidence of findings as lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.domain.phrases import UNKNOWN, catch_up_text, number_text, percent_text, rate_text, retention_text
from spark_jobs.show.language import translated_page
from spark_jobs.show.page.incident_chart import incident_id
from spark_jobs.show.page.style import SCHEMES, bokeh_js, clock, milliseconds
from spark_jobs.show.text.incident_text import advice_text, state_text

_VIEWS = Path(__file__).with_name("views")


def rendered(template: str, **content: object) -> str:
    """The template of that name, rendered in the language: a page that loads nothing."""
    page = _templates().get_template(template).render(
        content,
        schemes=SCHEMES,
        bokeh=_script(bokeh_js()),
        script=_script((_VIEWS / "report.js").read_text(encoding="utf-8")),
        css=Markup((_VIEWS / "report.css").read_text(encoding="utf-8")),
    )  # fmt: skip
    return translated_page(page)


def _templates() -> Environment:
    templates = Environment(
        loader=FileSystemLoader(_VIEWS), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    templates.filters |= {
        "clock": clock,
        "incident_id": incident_id,
        "state": lambda incident: state_text(incident, clock),
        "advice": lambda incident: advice_text(incident, clock),
        "messages": number_text,
        "ms": milliseconds,
        "facts": evidence_facts,
        "lasted": lambda finding: duration_text(finding["ended_at"] - finding["started_at"]),
        "percent": percent_text,
        "rate": rate_text,
        "catch_up": catch_up_text,
        "retention": retention_text,
    }
    return templates


def _script(text: str) -> Markup:
    """The script, escaped for an HTML `script` element."""
    return Markup(text.replace("</script", "<\\/script"))


_COUNTS = ("member_count", "queue_count", "unknown_queues")
_MESSAGES = ("backlog_start", "backlog_end", "backlog_max", "produced", "consumed")
_COUNTERFACTUALS = {"if_deduplicated": "if one of them left", "if_unique": "if each had its own client id"}


def evidence_facts(evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of everything in the evidence of a finding except its queues; unknown backlogs are listed, too."""
    if evidence["persistence"]:
        yield "persistence", evidence["persistence"].lower()
    if evidence["connections"]:
        yield (
            "connections",
            ", ".join(
                f"{connection['client_id']} at {connection['client_addr']}" for connection in evidence["connections"]
            ),
        )
    if evidence["client_ids"]:
        yield "client ids", ", ".join(evidence["client_ids"])
    for name in _COUNTS:
        if evidence[name] is not None:
            yield name.replace("_count", "s").replace("_", " "), number_text(evidence[name])
    for name in _MESSAGES if evidence["queues"] else ():
        yield name.replace("_", " "), f"{number_text(evidence[name])} messages"
    for name, text in _COUNTERFACTUALS.items():
        if counts := evidence[name]:
            yield (
                text,
                f"{counts['unassigned_queues']} queues without owner, {counts['double_owned_queues']} owned twice",
            )
    for measure in evidence["measures"] or ():
        yield measure["name"].replace("_", " "), UNKNOWN if measure["value"] is None else f"{measure['value']:,.6g}"
    for party in evidence["conflicting_values"] or ():
        yield party["name"], "" if party["client_ids"] is None else ", ".join(party["client_ids"]) or "no member"
