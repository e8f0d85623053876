"""Findings made by hand, of the group `g` in the hour from 10:00: times are seconds after 10:00."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spark_jobs.domain.model.finding import Evidence, Finding, Party, QueueEvidence
from tests.domain.audited import at


def finding(
    finding_id: str,
    rule: str,
    begin: float,
    end: float,
    cause: str | None = None,
    severity: str = "ERROR",
    topic: str | None = None,
    subject: str = "g",
    client_ids: Sequence[str] = (),
    queues: Sequence[tuple[str, str, int, str]] = (),
    parties: Sequence[tuple[str, tuple[str, ...] | None]] | None = None,
    backlog_max: int | None = None,
    **more: Any,
) -> Finding:
    """`queues`: topic, broker, id, role, each for the whole time; what is not given is unknown."""
    unknown: dict[str, Any] = dict.fromkeys(Evidence._fields)
    own = {
        "client_ids": list(client_ids),
        "queues": [QueueEvidence(*one, at(begin), at(end), *[None] * 5) for one in queues],
        "parties": None if parties is None else [Party(*one) for one in parties],
        "backlog_max": backlog_max,
    }
    evidence = Evidence(**{**unknown, **own})
    return Finding(finding_id, rule, severity, topic, subject, at(begin), at(end), cause, evidence, "Do it.", **more)
