"""Which recorded steps no run has audited whole, in tables written by hand. No Spark.

Hours count from 10:00. Runs finish in the order in which they are written.
"""

from collections.abc import Collection, Mapping, Set
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas import AUDIT_RUNS, COVERAGE, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.backfill import Filling, filling
from spark_jobs.operate.missing import missing_times, recorded_steps
from spark_jobs.runtime.version import code_version
from spark_jobs.store.read.delta import delta_tables
from tests.support.commands import Typed
from tests.support.snapshots import sighting
from tests.support.stored import audit_run, write
from tests.support.times import at

HOUR = 3600
CONFIGURATION = Configuration()
#: All steps are over.
LATER = at(100 * HOUR)
_ENDS = count()


def step(hour: float, hours: float = 1) -> Interval:
    return Interval(at(HOUR * hour), at(HOUR * (hour + hours)))


def record(warehouse: Path, hours: Collection[float], cluster: str = "c") -> None:
    """A group was seen in these hours, from the first minute to the last."""
    rows = [sighting(HOUR * hour, HOUR * hour + 3540, consumer_group="g", cluster=cluster) for hour in hours]
    write(warehouse, SIGHTINGS, rows)


def audit(warehouse: Path, hours: Collection[int], *clusters: str, **of_run: Any) -> None:
    """A run per hour, that found these clusters."""
    for hour in hours:
        seconds = dict.fromkeys((field.name for field in COVERAGE.schema if field.name.endswith("_seconds")), 0.0)
        rows = [{"cluster": name, "step_start": at(HOUR * hour), "missing": [], **seconds} for name in clusters]
        write(warehouse, COVERAGE, rows)
        add_run(warehouse, hour, **{"published_versions": {"coverage": version(warehouse)}} | of_run)


def add_run(warehouse: Path, hour: int, **of_run: Any) -> None:
    own = {"configuration_hash": CONFIGURATION.hash(), "code_version": code_version()}
    run = audit_run(step(hour), **{"published_versions": {}} | own | {"finished_at": at(next(_ENDS))} | of_run)
    write(warehouse, AUDIT_RUNS, [run])


def reject(warehouse: Path, hour: int, cluster: str | None = "c", **of_run: Any) -> None:
    add_run(warehouse, hour, cluster=cluster, **{"outcome": "rejected", "source_versions": {"m": 1}} | of_run)


def version(warehouse: Path) -> int:
    return DeltaTable(warehouse / COVERAGE.name).version()


def missing(
    warehouse: Path, now: datetime = LATER, interval: Interval | None = None, read_since: datetime | None = None
) -> list[str]:
    """Cluster, hours and reason of each time."""
    found = recorded_steps(delta_tables(str(warehouse)), CONFIGURATION, now, interval, read_since)
    return [
        f"{row['cluster']} {hours(row['interval'].start)}-{hours(row['interval'].end)} {row['why']}"
        for row in missing_times(found) or ()
    ]


def hours(moment: datetime) -> int:
    return int((moment - at(0)).total_seconds() // HOUR)


def to_fill(
    warehouse: Path, interval: Interval | None = None, most: int | None = None, changed: Set[int] = frozenset()
) -> Filling:
    """Steps as hours; `changed`: those whose input is another one now."""

    def of_other_input(versions: Mapping[Interval, Mapping[str, int]]) -> set[Interval]:
        return {each for each in versions if hours(each.start) in changed}

    return filling(delta_tables(str(warehouse)), CONFIGURATION, LATER, of_other_input, interval, most)


def filled(warehouse: Path, **options: Any) -> tuple[list[int], list[int], int]:
    """The steps to audit, those not tried again, and how many are left for another time."""
    found = to_fill(warehouse, **options)
    steps, rejected = ([hours(each.start) for each in some] for some in (found.steps, found.rejected))
    return steps, rejected, found.postponed


@pytest.fixture
def down(tmp_path: Path) -> Path:
    """The scheduler was down from 12 to 15, in an hour of which nothing was recorded, and has audited the rest."""
    record(tmp_path, [0, 1, 2, 4, 5, 6])
    audit(tmp_path, [0, 1, 5, 6], "c")
    return tmp_path


def test_hours_in_which_the_scheduler_was_down_are_missing_from_the_first_to_the_last_recorded_one(
    down: Path,
) -> None:
    assert missing(down) == ["c 2-5 NOT_AUDITED"]
    assert missing(down, interval=step(3, 10)) == ["c 3-5 NOT_AUDITED"]
    assert missing(down, interval=step(5, 10)) == []
    assert filled(down) == ([2, 3, 4], [], 0)
    assert filled(down, most=2) == ([3, 4], [], 1)
    assert filled(down, interval=step(-3, 6)) == ([2], [], 0)


@pytest.mark.parametrize(
    ("hour", "expected"),
    [(-9, ["c 2-5 NOT_AUDITED"]), (2.5, ["c 2-5 NOT_AUDITED"]), (3, ["c 4-5 NOT_AUDITED"]), (5, []), (9, [])],
)
def test_what_is_older_is_not_read_and_a_cluster_begins_with_its_first_snapshot_since_then(
    down: Path, hour: float, expected: list[str]
) -> None:
    assert missing(down, read_since=at(HOUR * hour)) == expected


def test_a_run_over_the_time_since_which_is_read_counts(tmp_path: Path) -> None:
    record(tmp_path, range(4))
    audit(tmp_path, range(4), "c")
    assert missing(tmp_path, read_since=at(HOUR * 1.5)) == []


def test_runs_that_ended_before_the_interval_are_not_read(down: Path) -> None:
    found = recorded_steps(delta_tables(str(down)), CONFIGURATION, LATER, step(5, 10))
    assert [hours(run["interval_start"]) for run in found.runs_by_end] == [5, 6]


def test_a_step_is_not_missing_before_it_is_over(down: Path) -> None:
    record(down, [7])
    assert missing(down, at(8 * HOUR - 1)) == ["c 2-5 NOT_AUDITED"]
    assert missing(down, at(8 * HOUR)) == ["c 2-5 NOT_AUDITED", "c 7-8 NOT_AUDITED"]


def test_runs_of_a_cluster_count_for_it_and_no_other(tmp_path: Path) -> None:
    for cluster in ("c", "d"):
        record(tmp_path, range(3), cluster)
    audit(tmp_path, range(3), "c", cluster="c")
    assert missing(tmp_path) == ["d 0-3 NOT_AUDITED"]
    assert filled(tmp_path) == ([0, 1, 2], [], 0)
    audit(tmp_path, [1, 2], "d", cluster="d")
    assert missing(tmp_path) == ["d 0-1 NOT_AUDITED"]
    assert filled(tmp_path, interval=step(0, 3)) == ([0], [], 0)


def test_runs_of_a_group_or_a_topic_are_no_complete_audit(down: Path) -> None:
    audit(down, [2], cluster="c", consumer_group="g")
    add_run(down, 3, topic="t", published_versions={"findings": 1})  # such a run publishes no coverage
    assert missing(down) == ["c 2-5 NOT_AUDITED"]


def test_runs_of_before_there_was_coverage_count(down: Path) -> None:
    for hour in (2, 3):
        add_run(down, hour, published_versions={"findings": 1})
    add_run(down, 4, cluster="d", published_versions={"findings": 1})
    reject(down, 2)  # audited again: what was published stays
    audit(down, [6], "c")
    assert missing(down) == ["c 4-5 NOT_AUDITED"]


def test_an_audited_hour_without_snapshots_is_missing_only_when_some_come(down: Path) -> None:
    audit(down, [2, 4], "c")
    audit(down, [3])
    assert missing(down) == []
    record(down, [3])
    assert missing(down) == ["c 3-4 NOT_AUDITED"]
    assert filled(down, changed={3}) == ([3], [], 0)
    assert filled(down) == ([], [], 0)  # the same rows: a run would find as little


def test_what_was_deleted_is_not_missing(down: Path) -> None:
    write(down, MEMBERSHIP_SNAPSHOTS, [])
    write(down, GROUP_STATUS, [])
    table = DeltaTable(down / MEMBERSHIP_SNAPSHOTS.name)
    table.alter.set_table_properties({"rebalance_audit.kept_since": "2026-03-01T13:00Z"}, raise_if_not_exists=False)
    # 13:00 needs snapshots of before.
    assert missing(down) == ["c 4-5 NOT_AUDITED"]
    assert filled(down, interval=step(0, 7)) == ([4], [], 0)


def test_a_closed_gate_is_not_tried_again_with_the_same_input(down: Path) -> None:
    reject(down, 3)
    reject(down, 4, None)
    assert missing(down) == ["c 2-3 NOT_AUDITED", "c 3-5 REJECTED"]
    assert filled(down) == ([2], [3, 4], 0)
    assert filled(down, changed={4}) == ([2, 4], [3], 0)
    assert filled(down, most=1, changed={4}) == ([4], [3], 1)


@pytest.mark.parametrize("other", [{"configuration_hash": "x"}, {"code_version": "x"}])
def test_a_closed_gate_is_tried_again_with_another_configuration_or_code(down: Path, other: dict[str, str]) -> None:
    reject(down, 3, **other)
    assert filled(down) == ([2, 3, 4], [], 0)


def test_a_closed_gate_of_one_cluster_does_not_keep_another_from_being_audited(down: Path) -> None:
    record(down, [3, 4], "d")
    for hour in (3, 4):
        reject(down, hour)
    audit(down, [4], "d", cluster="d")
    assert missing(down) == ["c 2-3 NOT_AUDITED", "c 3-5 REJECTED", "d 3-4 NOT_AUDITED"]
    assert filled(down) == ([2, 3], [4], 0)


def test_an_interval_is_audited_with_one_configuration(down: Path) -> None:
    """The hour at 11:00 was published with another one; then its gate closed with this one."""
    audit(down, [1], "c", configuration_hash="x")
    assert filled(down) == ([2, 3, 4], [], 0)
    assert filled(down, interval=step(0, 7)) == ([1, 2, 3, 4], [], 0)
    add_run(down, 1, cluster="d")
    assert filled(down, interval=step(0, 7)) == ([1, 2, 3, 4], [], 0)
    reject(down, 1)
    assert filled(down, interval=step(0, 7)) == ([2, 3, 4], [1], 0)


def test_hours_after_the_last_snapshot_are_audited_once_if_they_are_asked_for(down: Path) -> None:
    """Sightings of another program's snapshots may come later."""
    audit(down, [7])
    assert filled(down, interval=step(5, 4)) == ([8], [], 0)
    assert filled(down, interval=step(200)) == ([], [], 0)


def test_without_sightings_every_step_that_no_run_published_is_audited(tmp_path: Path) -> None:
    assert filled(tmp_path, interval=step(0, 2)) == ([0, 1], [], 0)
    audit(tmp_path, [1])
    assert (filled(tmp_path, interval=step(0, 2)), filled(tmp_path)) == (([0], [], 0), ([], [], 0))


def test_runs_missing_lists_them(down: Path, typed: Typed) -> None:
    reject(down, 4)
    assert typed("runs --missing", warehouse=down, code=2).lines == [
        "c 2026-03-01T12:00Z/2026-03-01T14:00Z NOT_AUDITED",
        "c 2026-03-01T14:00Z/2026-03-01T15:00Z REJECTED",
        "2 times without a complete audit.",
    ]
    assert typed(
        "runs --missing --json --interval 2026-03-01T14:00/2026-03-01T15:00", warehouse=down, code=2
    ).document == {
        "missing": [{"cluster": "c", "interval": "2026-03-01T14:00:00Z/2026-03-01T15:00:00Z", "why": "REJECTED"}]
    }
    assert typed("runs --missing --format csv", warehouse=down, code=2).out.splitlines()[1] == (
        "c,2026-03-01T12:00:00Z,2026-03-01T14:00:00Z,NOT_AUDITED"
    )
    audit(down, [2, 3, 4], "c")
    assert typed("runs --missing", warehouse=down).lines == ["0 times without a complete audit."]


def test_runs_missing_is_about_the_last_seven_days_unless_a_time_is_named(tmp_path: Path, typed: Typed) -> None:
    record(tmp_path, [0, 1, 4, 171])
    audit(tmp_path, [0, 171], "c")
    assert typed("runs --missing", warehouse=tmp_path, code=2).lines[:-1] == [
        "c 2026-03-01T14:00Z/2026-03-08T13:00Z NOT_AUDITED"
    ]
    assert typed("runs --missing --interval 2026-03-01/2026-03-09", warehouse=tmp_path, code=2).lines[:-1] == [
        "c 2026-03-01T11:00Z/2026-03-08T13:00Z NOT_AUDITED"
    ]


def test_without_sightings_it_is_unknown_what_is_missing(tmp_path: Path, typed: Typed) -> None:
    audit(tmp_path, [1])
    assert typed("runs --missing --json", warehouse=tmp_path, code=2).document == {"missing": None}
    assert typed("runs --missing", warehouse=tmp_path, code=2).lines == [
        "It is unknown what was recorded: `maintain` fills the table sightings."
    ]
