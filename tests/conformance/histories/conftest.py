"""Hand-written histories of one hour, evaluated by the kernel: those of each file in a cluster of its own."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import FINDINGS, QUEUE_PROGRESS
from tests.conformance.histories import test_clients, test_group_conditions, test_queue_progress, test_twins
from tests.conformance.histories.audited import Audited
from tests.support.kernel import published
from tests.support.snapshots import by_table
from tests.support.times import HOUR

HISTORIES = (test_clients, test_group_conditions, test_queue_progress, test_twins)


@pytest.fixture(scope="session")
def audited() -> Audited:
    tables = published(
        by_table((table, row | {"cluster": one.CLUSTER}) for one in HISTORIES for table, row in one.snapshots()), HOUR
    )
    return Audited(_by_cluster(tables[FINDINGS]), _by_cluster(tables[QUEUE_PROGRESS]))


def _by_cluster(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {one.CLUSTER: [row for row in rows if row["cluster"] == one.CLUSTER] for one in HISTORIES}
