"""Arrivals that a schedule waits for, in hand-made tables. Times are seconds after 10:00; the interval is the hour."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from schemas import (
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    SOURCES,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.errors import WarehouseError
from spark_jobs.operate.arrivals import missing_sources
from tests.support.stored import write
from tests.support.times import HOUR, at

#: A cadence is 20 s: the last snapshots of the step before, and of this one.
BEFORE, WHOLE = range(-3600, 0, 20), range(0, 3600, 20)


def seen(warehouse: Path, table: Table, *times: Iterable[float], cluster: str = "c") -> None:
    write(warehouse, table, [{"cluster": cluster, "captured_at": at(second)} for some in times for second in some])


def missing(warehouse: Path, minute: int = 0) -> list[str] | None:
    """At that minute of the next hour; a cluster is late after five."""
    return missing_sources(str(warehouse), "", str(HOUR), timedelta(minutes=5), at(3600 + 60 * minute))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """All sources of both hours but offsets, topics and clients, which are empty."""
    for table in SOURCES:
        some = table not in (OFFSET_SNAPSHOTS, TOPIC_SNAPSHOTS, CLIENT_SNAPSHOTS)
        seen(tmp_path, table, *((BEFORE, WHOLE) if some else ()))
    return tmp_path


def test_all_that_was_there_before_has_come(recorded: Path) -> None:
    assert missing(recorded) == []
    seen(recorded, OFFSET_SNAPSHOTS, WHOLE)
    assert missing(recorded) == []


def test_what_ends_too_early_is_named_with_its_newest_snapshot(recorded: Path) -> None:
    seen(recorded, OFFSET_SNAPSHOTS, BEFORE, range(0, 1800, 20))
    assert missing(recorded) == ["c, offset_snapshots: the newest snapshot is of 2026-03-01T10:29:40Z"]
    # A cadence before the end is near enough; 21 seconds are not.
    seen(recorded, OFFSET_SNAPSHOTS, [3579])
    assert missing(recorded) == ["c, offset_snapshots: the newest snapshot is of 2026-03-01T10:59:39Z"]
    seen(recorded, OFFSET_SNAPSHOTS, [3580])
    assert missing(recorded) == []


def test_what_is_recorded_less_often_is_waited_for_less_long(recorded: Path) -> None:
    seen(recorded, CLIENT_SNAPSHOTS, range(-3600, 0, 600), range(0, 2401, 600))
    assert missing(recorded) == ["c, client_snapshots: the newest snapshot is of 2026-03-01T10:40Z"]
    seen(recorded, CLIENT_SNAPSHOTS, [3000])
    assert missing(recorded) == []


def test_what_is_recorded_in_rounds_of_many_calls_is_as_far_apart_as_its_rounds(recorded: Path) -> None:
    """Ten calls in a second, every ten minutes."""
    calls = [start + call / 10 for start in range(-3600, 2401, 600) for call in range(10)]
    seen(recorded, CLIENT_SNAPSHOTS, calls)
    assert missing(recorded) == ["c, client_snapshots: the newest snapshot is of 2026-03-01T10:40:00.900Z"]
    seen(recorded, CLIENT_SNAPSHOTS, [3000])
    assert missing(recorded) == []


def test_a_gap_in_the_hour_before_lets_nothing_count_as_arrived(recorded: Path) -> None:
    """One of 59 minutes: a source that ends half an hour too early has not come."""
    seen(recorded, OFFSET_SNAPSHOTS, range(-3600, -3560, 20), [-40, -20], range(0, 1800, 20))
    assert missing(recorded) == ["c, offset_snapshots: the newest snapshot is of 2026-03-01T10:29:40Z"]


def test_each_cluster_is_waited_for_whatever_others_do(recorded: Path) -> None:
    seen(recorded, MEMBERSHIP_SNAPSHOTS, BEFORE, range(0, 360, 20), cluster="d")
    seen(recorded, ROUTE_SNAPSHOTS, BEFORE, WHOLE, cluster="d")
    assert missing(recorded, 9) == ["d, membership_snapshots: the newest snapshot is of 2026-03-01T10:05:40Z"]


def test_a_cluster_of_which_nothing_comes_is_given_up_and_no_other_is(
    recorded: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The recorder of `d` died six minutes after ten; the offsets of `c` are still to come."""
    for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS):
        seen(recorded, table, BEFORE, range(0, 360, 20), cluster="d")
    seen(recorded, OFFSET_SNAPSHOTS, BEFORE)
    of_c = "c, offset_snapshots: the newest snapshot is of 2026-03-01T09:59:40Z"
    of_d = [
        f"d, {table.name}: the newest snapshot is of 2026-03-01T10:05:40Z"
        for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS)
    ]
    assert (missing(recorded, 4), caplog.messages) == ([of_c, *of_d], [])
    assert missing(recorded, 5) == [of_c]
    assert caplog.messages == ["no longer waiting for the cluster d: its snapshots end at 2026-03-01T10:05:40Z"]


def test_what_nothing_has_come_of_in_this_hour(recorded: Path) -> None:
    seen(recorded, TOPIC_SNAPSHOTS, [-60])
    assert missing(recorded) == ["c, topic_snapshots: the newest snapshot is of 2026-03-01T09:59Z"]


def test_later_snapshots_show_that_the_recorder_has_continued(recorded: Path) -> None:
    seen(recorded, OFFSET_SNAPSHOTS, BEFORE, [4000])
    assert missing(recorded) == []


def test_without_an_hour_before_it_is_unknown_what_should_come(tmp_path: Path) -> None:
    for table in SOURCES:
        if table is not CLIENT_SNAPSHOTS:
            seen(tmp_path, table, [0] if table is MEMBERSHIP_SNAPSHOTS else [])
    assert missing(tmp_path) is None
    assert missing_sources("hdfs://somewhere/audit", None, str(HOUR)) is None
    assert missing_sources("lake.audit", None, str(HOUR)) is None


def test_a_source_that_cannot_be_read_is_an_error_and_no_wait(recorded: Path) -> None:
    with pytest.raises(WarehouseError, match="there is no table membership_snapshots in the warehouse"):
        missing(recorded / "elsewhere")
    for file in (recorded / "route_snapshots").rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    with pytest.raises(WarehouseError, match="route_snapshots cannot be read: "):
        missing(recorded)
