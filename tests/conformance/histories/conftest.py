"""Hand-written histories of one hour, judged by the kernel: those of each file in a cluster of its own."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import FINDINGS, QUEUE_PROGRESS, Table
from tests.conformance.histories import test_clients, test_group_conditions, test_queue_progress, test_twins
from tests.conformance.histories.audited import Audited
from tests.support.kernel import published
from tests.support.times import HOUR

HISTORIES = (test_clients, test_group_conditions, test_queue_progress, test_twins)


@pytest.fixture(scope="session")
def audited() -> Audited:
    """What all of them publish."""
    rows: dict[Table, list[dict[str, Any]]] = {}
    for history in HISTORIES:
        for table, row in history.snapshots():
            rows.setdefault(table, []).append({**row, "cluster": history.CLUSTER})
    tables = published(rows, HOUR)
    return Audited(_by_cluster(tables[FINDINGS]), _by_cluster(tables[QUEUE_PROGRESS]))


def _by_cluster(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {history.CLUSTER: [] for history in HISTORIES}
    for row in rows:
        found[row["cluster"]].append(row)
    return found
