"""A run of Spark over the recording publishes what the kernel evaluates of its rows, whole and cut into steps.

So what the kernel says of rows without Spark, in this folder and others, is what a run would publish of them. The costs
of a run, jobs of Spark and files that it reads, do not depend on the size of the recording.
"""

from datetime import timedelta
from typing import Any

import pytest

from schemas import COVERAGE, OUTPUTS, SOURCES, Table
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import rows
from tests.spark.recording.conftest import CONFIGURATION, EXAMPLE, RECORDING, Audited
from tests.support import recordings as by_kernel

pytestmark = pytest.mark.skipif(RECORDING != EXAMPLE, reason="the kernel is given the recording of the project")

#: With twins that appear and stay, a group that goes offline, one that flaps, and a scale-out.
HALF_AN_HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T02:30")


def in_order(published: by_kernel.Published) -> dict[Table, list[dict[str, Any]]]:
    return {table: sorted(found, key=repr) for table, found in published.items()}


def test_a_run_publishes_what_the_kernel_evaluates(audited: Audited) -> None:
    tables = DeltaTables(audited.warehouse)
    found = in_order({table: rows(tables.read(table, table.columns)) for table in OUTPUTS})
    expected = in_order(by_kernel.audited(3600, [audited.interval], OUTPUTS))
    # Only Spark knows all groups of a cluster.
    clusters = [row for row in found[COVERAGE] if row["consumer_group"] is None]
    found[COVERAGE] = [row for row in found[COVERAGE] if row["consumer_group"] is not None]
    assert [(row["cluster"], row["last_snapshot_at"]) for row in clusters] == [
        ("demo", max(row["last_snapshot_at"] for row in found[COVERAGE]))
    ]
    for table in OUTPUTS:
        assert found[table] == expected[table] != [], table.name


@pytest.mark.slow
def test_a_step_of_its_own_snapshots_alone_is_the_step_of_the_whole() -> None:
    """Every step is given what a run of it reads, and the sightings of all time before."""
    minutes = timedelta(minutes=5)
    steps = StepGrid(minutes).steps(HALF_AN_HOUR)
    look_back = load(CONFIGURATION).look_back
    alone = (by_kernel.audited(300, [step], OUTPUTS, read=Interval(step.start - look_back, step.end)) for step in steps)
    found: by_kernel.Published = {table: [] for table in OUTPUTS}
    for published in alone:
        for table in OUTPUTS:
            found[table] += published[table]
    assert in_order(found) == in_order(by_kernel.audited(300, [HALF_AN_HOUR], OUTPUTS))


def test_a_run_is_few_actions_and_stages(audited: Audited) -> None:
    print(f"\n{audited.cost}")
    assert audited.cost.actions == 13  # of which 10 write a table
    assert audited.cost.stages <= 26


def test_a_source_is_read_once_for_its_states_and_once_for_its_samples(audited: Audited) -> None:
    scans = {table.name: audited.cost.scans.get(table.name, 0) for table in SOURCES}
    twice = ("topic_snapshots", "offset_snapshots", "client_snapshots")
    assert scans == dict.fromkeys(("membership_snapshots", "route_snapshots"), 1) | dict.fromkeys(twice, 2)
