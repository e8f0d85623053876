"""Recorders' snapshots of members → events among those of the logs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from schemas import MEMBERSHIP_SNAPSHOTS
from spark_jobs.domain.model.window import to_micros
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.logs.events import Listed, LoggedConnection, Subscription
from spark_jobs.ingest.logs.read import Logged
from spark_jobs.ingest.logs.sources import Process
from spark_jobs.ingest.recording import Row, outcomes

#: Of recordings that name no cluster: their own is not asked for here.
_ANY_CLUSTER: Final = "*"


def with_snapshots(read: Iterable[Process], recordings: Iterable[Path]) -> None:
    """Add recorders' answers to what brokers and proxies logged. Raises `InputFileError` for a bad recording."""
    named = {process.name: process for process in read if process.name}
    for path in recordings:
        for outcome in outcomes(read_lines(path), _ANY_CLUSTER):
            if isinstance(outcome, Row) and outcome.table is MEMBERSHIP_SNAPSHOTS:
                row: dict[str, Any] = outcome.values
                at = to_micros(row["captured_at"]) // 1000
                process = named.get(row["broker_name"])
                if process and process.is_covered(at):
                    process.logged.append(Logged(at + 1, _listed(row)))  # the snapshot itself is a row already
    for process in named.values():
        process.in_order()


def _listed(row: dict[str, Any]) -> Listed:
    members = (
        LoggedConnection(member["client_addr"], member["client_id"], member["language"], member["version"])
        for member in row["connections"]
    )
    subscriptions = (Subscription(*(entry[name] for name in Subscription._fields)) for entry in row["subscriptions"])
    return Listed(
        group=row["consumer_group"],
        consume_type=row["consume_type"],
        message_model=row["message_model"],
        consume_from_where=row["consume_from_where"],
        members=tuple(members),
        subscriptions=tuple(subscriptions),
    )
