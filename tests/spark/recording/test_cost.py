"""Costs of a run that do not depend on the size of the recording: jobs of Spark, and the files that it reads."""

from __future__ import annotations

import pytest

from schemas import SOURCES
from tests.spark.recording.conftest import EXAMPLE, RECORDING, Audited

pytestmark = pytest.mark.skipif(RECORDING != EXAMPLE, reason="the counts are those of a run of one step")


def test_a_run_is_few_actions_and_stages(audited: Audited) -> None:
    print(f"\n{audited.cost}")
    assert audited.cost.actions <= 7
    assert audited.cost.stages <= 26


def test_a_source_is_read_once_for_its_states_and_once_for_its_readings(audited: Audited) -> None:
    scans = {table.name: audited.cost.scans.get(table.name, 0) for table in SOURCES}
    twice = ("topic_snapshots", "offset_snapshots", "client_snapshots")
    assert scans == dict.fromkeys(("membership_snapshots", "route_snapshots"), 1) | dict.fromkeys(twice, 2)
