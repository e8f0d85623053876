"""Rows of `findings` as values of the domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.domain.audited_step import Counts
from spark_jobs.domain.evidence import Evidence, QueueEvidence
from spark_jobs.domain.findings import Finding
from spark_jobs.domain.history import Connection
from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.rules.rule import Party
from spark_jobs.domain.window import to_micros

#: A row as a dict, its structs too; times are UTC.
Row = Mapping[str, Any]


def published_finding(row: Row) -> PublishedFinding:
    """One row."""
    own = {name: row[name] for name in Finding._fields}
    found = Finding(**{**own, "evidence": _evidence(row["evidence"]), **_times(row)})
    return PublishedFinding(row["cluster"], row["consumer_group"], to_micros(row["step_start"]), found)


def _evidence(said: Row) -> Evidence:
    lists = {
        "connections": None if said["connections"] is None else [Connection(**one) for one in said["connections"]],
        "client_ids": said["client_ids"] or [],
        "queues": [QueueEvidence(**{**one, **_times(one)}) for one in said["queues"] or ()],
        "if_deduplicated": _counts(said["if_deduplicated"]),
        "if_unique": _counts(said["if_unique"]),
        "measures": None if said["measures"] is None else [(one["name"], one["value"]) for one in said["measures"]],
        "parties": None if said["parties"] is None else [_party(one) for one in said["parties"]],
    }
    return Evidence(**{**said, **lists})


def _times(row: Row) -> dict[str, int]:
    return {name: to_micros(row[name]) for name in ("start", "end")}


def _counts(said: Row | None) -> Counts | None:
    return None if said is None else Counts(**said)


def _party(said: Row) -> Party:
    return Party(said["name"], None if said["client_ids"] is None else tuple(said["client_ids"]))
