"""Which published steps `sightings` would now tell something else; known without Spark. A step reads snapshots from
420 s before it on; what was seen in the seven days before that it knows from the table.
"""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from schemas import AUDIT_RUNS, FINDINGS, SIGHTINGS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.late import StepsByVersion, is_nothing_late, with_other_sightings
from spark_jobs.store.read.delta import delta_tables
from tests.support.commands import Typed
from tests.support.snapshots import sighting
from tests.support.stored import audit_run, write
from tests.support.times import at

HOUR, WEEK = 3600, 7 * 24 * 3600
STEPS = TEN, ELEVEN, TWELVE = [Interval(at(start), at(start + HOUR)) for start in (0, HOUR, 2 * HOUR)]
AUDITED = Interval(TEN.start, TWELVE.end)


def group(seconds: float, name: str = "g", cluster: str = "c") -> dict[str, Any]:
    return sighting(seconds, consumer_group=name, cluster=cluster)


def broker(seconds: float, name: str = "b") -> dict[str, Any]:
    return sighting(seconds, topic="t", broker_name=name)


#: 09:20.
BEFORE = -2400
DELETED = {"deleted": True}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Version 0 of `sightings`: a group and a broker at 09:20."""
    write(tmp_path, SIGHTINGS, [group(BEFORE), broker(BEFORE)])
    return tmp_path


def late(warehouse: Path, steps: StepsByVersion | None = None, days: int = 7) -> list[Interval]:
    """Of all three steps, whose runs have read version 0 unless something else is named."""
    stored, configuration = delta_tables(str(warehouse)), Configuration(sightings_days=days)
    return sorted(with_other_sightings(stored, configuration, steps or {0: STEPS}, stored.version(SIGHTINGS)))


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        (group(-5 * HOUR, "h"), STEPS),
        (group(-5 * HOUR, cluster="d"), STEPS),
        (group(HOUR + 1800, "h"), [TWELVE]),
        (group(HOUR - 421, "h"), [ELEVEN, TWELVE]),
        (group(HOUR - 420, "h"), [TWELVE]),
        (group(2 * HOUR - 420, "h"), []),
        (group(3 * HOUR, "h"), []),
        (group(-WEEK, "h"), [TEN]),
        (group(-WEEK - 1, "h"), []),
        (group(BEFORE) | DELETED, STEPS),
        (group(1800) | DELETED, [ELEVEN, TWELVE]),
        (broker(-5 * HOUR, "a"), STEPS),
        (broker(1800), [ELEVEN, TWELVE]),
        (broker(HOUR + 1800), [TWELVE]),
        (broker(3 * HOUR), []),
        # More of what was seen already: of a group it counts only that it was there after it was deleted, of a broker
        # only the last hour.
        (group(-5 * HOUR), []),
        (group(1800), []),
        (group(-5 * HOUR) | DELETED, []),
        (group(-5 * HOUR, "unknown") | DELETED, []),
        (broker(-5 * HOUR), []),
        (broker(BEFORE - 600), []),
        (broker(BEFORE + 600), []),
    ],
)
def test_the_steps_are_late_for_which_another_thing_or_hour_is_sighted(
    warehouse: Path, came: dict[str, Any], expected: list[Interval]
) -> None:
    write(warehouse, SIGHTINGS, [came])
    assert late(warehouse) == expected


def test_how_far_back_a_step_remembers_is_configured(warehouse: Path) -> None:
    write(warehouse, SIGHTINGS, [group(-3 * 24 * HOUR, "h")])
    assert late(warehouse, days=2) == []
    assert late(warehouse, days=3) == [TEN]


def test_what_went_is_missed(warehouse: Path) -> None:
    DeltaTable(warehouse / SIGHTINGS.name).delete("consumer_group = 'g'")
    assert late(warehouse) == STEPS


def test_every_step_is_compared_with_the_version_that_its_run_read(warehouse: Path) -> None:
    write(warehouse, SIGHTINGS, [group(-5 * HOUR, "h")])
    write(warehouse, SIGHTINGS, [group(HOUR + 1800, "i")])
    assert late(warehouse, {0: [TEN], 1: [ELEVEN, TWELVE]}) == [TEN, TWELVE]
    assert late(warehouse, {0: [], 1: [ELEVEN]}) == []


def test_a_run_that_had_no_table_has_remembered_nothing(warehouse: Path) -> None:
    assert late(warehouse, {None: STEPS}) == STEPS
    DeltaTable(warehouse / SIGHTINGS.name).delete()
    assert late(warehouse, {None: STEPS}) == []


def test_a_version_that_is_gone_makes_its_steps_late(warehouse: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(warehouse, SIGHTINGS, [group(3 * HOUR)])
    table = DeltaTable(warehouse / SIGHTINGS.name)
    table.optimize.compact()
    table.vacuum(0, enforce_retention_duration=False, dry_run=False)
    assert late(warehouse, {0: [TEN, ELEVEN], 2: [TWELVE]}) == [TEN, ELEVEN]
    assert caplog.messages == ["sightings: version 0 is gone, the steps that read it count as late"]


def audited(warehouse: Path) -> None:
    """Three hours without snapshots, in one run that has read version 0 of all tables."""
    for table in SOURCES:
        write(warehouse, table, [])
    versions = {table.name: 0 for table in (*SOURCES, SIGHTINGS)}
    write(warehouse, AUDIT_RUNS, [audit_run(AUDITED, {}, source_versions=versions)])


def nothing_late(warehouse: Path, days: int = 7) -> bool:
    return is_nothing_late(delta_tables(str(warehouse)), Configuration(sightings_days=days), AUDITED)


def test_no_java_is_needed_to_know_that_sightings_make_nothing_late(warehouse: Path) -> None:
    audited(warehouse)
    assert nothing_late(warehouse)
    write(warehouse, SIGHTINGS, [group(3 * HOUR, "h")])
    assert nothing_late(warehouse)
    write(warehouse, SIGHTINGS, [group(-5 * HOUR, "h")])
    assert not nothing_late(warehouse)
    assert nothing_late(warehouse, days=0)


def test_a_table_that_vanished_makes_the_steps_late_that_had_it(warehouse: Path) -> None:
    audited(warehouse)
    shutil.rmtree(warehouse / SIGHTINGS.name)
    stored = delta_tables(str(warehouse))
    assert with_other_sightings(stored, Configuration(), {0: STEPS}, None) == {*STEPS}
    assert not nothing_late(warehouse)
    assert nothing_late(warehouse, days=0)


def test_tables_that_show_nothing_late_are_checked_when_steps_are_audited_again(warehouse: Path, typed: Typed) -> None:
    audited(warehouse)
    write_deltalake(warehouse / FINDINGS.name, pa.table({"other": ["columns"]}))
    command = f"late --warehouse {warehouse} --interval {AUDITED}"
    assert f"0 published steps of {AUDITED} were late." in typed(command).lines
    write(warehouse, SIGHTINGS, [group(-5 * HOUR, "h")])
    assert "findings is not as schemas/findings.py says" in typed(command, code=3).err
