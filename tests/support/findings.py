"""Findings by hand; times in seconds after 10:00."""

from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.domain.model.finding import ConflictingValue, Evidence, Finding, FindingQueue, QueueEvidence, RuleHit
from tests.support.times import micros


def finding(
    finding_id: str,
    rule: str,
    begin: float,
    end: float,
    cause: str | None = None,
    severity: str = "ERROR",
    topic: str | None = None,
    client_id: str | None = None,
    subject: str = "g",
    client_ids: Sequence[str] = (),
    queues: Sequence[tuple[str, str, int, str]] = (),
    conflicting_values: Sequence[tuple[str, tuple[str, ...] | None]] | None = None,
    backlog_max: int | None = None,
    evidence: Mapping[str, Any] | None = None,
    **more: Any,
) -> Finding:
    """`queues`: topic, broker, id, role, each for the whole time; `subject`: unless it is about a client; `evidence`:
    its other fields; what is not given is unknown.
    """
    unknown: dict[str, Any] = dict.fromkeys(Evidence._fields)
    own = {
        "client_ids": list(client_ids),
        "queues": [QueueEvidence(*queue, micros(begin), micros(end), *[None] * 5) for queue in queues],
        "conflicting_values": None
        if conflicting_values is None
        else [ConflictingValue(*value) for value in conflicting_values],
        "backlog_max": backlog_max,
    }
    known = Evidence(**{**unknown, **own, **(evidence or {})})
    more["client_id"] = client_id
    about = client_id or subject
    return Finding(finding_id, rule, severity, topic, about, micros(begin), micros(end), cause, known, "Do it.", **more)


def rule_hit(start: float, end: float, cause: str | None = None, queue: str = "", **values: Any) -> RuleHit:
    """`queue`: topic, broker:id and role, as `t b:0 UNASSIGNED`; `seen_at` in seconds, too."""
    if queue:
        topic, place, role = queue.split()
        broker, _, number = place.rpartition(":")
        values["queue"] = FindingQueue(topic, broker, int(number), role)
    if "seen_at" in values:
        values["seen_at"] = micros(values["seen_at"])
    return RuleHit(micros(start), micros(end), cause, **values)
