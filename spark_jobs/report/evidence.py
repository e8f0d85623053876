"""The evidence of a finding as lines of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spark_jobs.domain.phrases import UNKNOWN, number_text

_COUNTS = ("member_count", "queue_count", "unknown_queues")
_MESSAGES = ("backlog_start", "backlog_end", "backlog_max", "produced", "consumed")
_COUNTERFACTUALS = {"if_deduplicated": "if one of them left", "if_unique": "if each had its own client id"}


def evidence_facts(evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, text) of everything that the evidence of a finding says, except its queues. Unknown backlogs are said."""
    if evidence["persistence"]:
        yield "persistence", evidence["persistence"].lower()
    if evidence["connections"]:
        yield "connections", ", ".join(f"{one['client_id']} at {one['client_addr']}" for one in evidence["connections"])
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
    for party in evidence["parties"] or ():
        yield party["name"], ", ".join(party["client_ids"] or ())
