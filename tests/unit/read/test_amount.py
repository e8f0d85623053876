"""The amount of work by Delta's log, and the Spark that starts for it. No Spark."""

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from schemas import AUDIT_RUNS, FINDINGS, ROUTE_SNAPSHOTS, SOURCES, TOPIC_SNAPSHOTS, Table
from spark_jobs.api import start
from spark_jobs.api.start import SMALL_BYTES, is_small, snapshots_of
from spark_jobs.domain.model.intervals import EVER, Interval
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import bytes_in, delta_tables
from tests.support.stored import arrow_table, write
from tests.support.times import HOUR, at

NEXT = Interval(HOUR.end, HOUR.end + (HOUR.end - HOUR.start))


def add(warehouse: Path, table: Table, seconds: Iterable[float]) -> int:
    """A file with snapshots of these times; its bytes."""
    key = {"cluster": "c", "topic": "t", "queues": []}
    before = set(DeltaTable(warehouse / table.name).file_uris()) if (warehouse / table.name).exists() else set()
    write(warehouse, table, [key | {"captured_at": at(second)} for second in seconds])
    (new,) = set(DeltaTable(warehouse / table.name).file_uris()) - before
    return Path(new.removeprefix("file://")).stat().st_size


def amount(warehouse: Path, interval: Interval, *tables: Table) -> int:
    return bytes_in(delta_tables(str(warehouse)), tables or SOURCES, interval)


def test_of_a_file_the_part_of_its_time_counts(tmp_path: Path) -> None:
    first = add(tmp_path, ROUTE_SNAPSHOTS, (0, 3599))
    second = add(tmp_path, ROUTE_SNAPSHOTS, (7200, 7300))
    alone = add(tmp_path, TOPIC_SNAPSHOTS, (3600,))
    both = add(tmp_path, TOPIC_SNAPSHOTS, (1800, 5400))
    assert amount(tmp_path, HOUR) == pytest.approx(first + both / 2, abs=1)
    assert amount(tmp_path, NEXT) == pytest.approx(alone + both / 2, abs=1)
    assert amount(tmp_path, NEXT, ROUTE_SNAPSHOTS) == 0
    assert amount(tmp_path, EVER) == first + second + alone + both


def test_outputs_count_by_their_step_and_other_tables_whole(tmp_path: Path) -> None:
    for hour in (0, 1):
        rows = arrow_table(FINDINGS, [{"step_start": at(3600 * hour)}])
        write_deltalake(tmp_path / FINDINGS.name, rows, mode="append", partition_by=["step_start"])
    write(tmp_path, AUDIT_RUNS, [{"run_id": "r"}])
    one, other = (path.stat().st_size for path in sorted(tmp_path.glob("findings/*/*.parquet")))
    assert amount(tmp_path, HOUR, FINDINGS) == one
    assert amount(tmp_path, NEXT, FINDINGS) == other
    (runs,) = (path.stat().st_size for path in tmp_path.glob("audit_runs/*.parquet"))
    assert amount(tmp_path, HOUR, AUDIT_RUNS) == runs


def test_small_work_is_known_by_the_log_and_what_the_user_says_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    size = add(tmp_path, ROUTE_SNAPSHOTS, (0, 3599))
    warehouse, hour = Location.parse(str(tmp_path)), snapshots_of(HOUR)
    assert is_small(warehouse, None, hour)
    assert caplog.messages[-1].startswith("Spark is started for small work: 0.0 MB")
    assert is_small(warehouse, None, lambda _: SMALL_BYTES)
    assert not is_small(warehouse, None, lambda _: SMALL_BYTES + 1)
    monkeypatch.setattr(start, "SMALL_BYTES", size - 1)
    assert not is_small(warehouse, None, hour)
    assert is_small(warehouse, None, snapshots_of(NEXT))
    assert is_small(warehouse, "small", hour)
    assert not is_small(warehouse, "large", snapshots_of(NEXT))


@pytest.mark.parametrize("warehouse", ["lake.audit", "hdfs://host/audit", "gs://bucket/audit"])
def test_where_the_log_is_not_read_cheaply_work_is_large(warehouse: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert not is_small(Location.parse(warehouse), None, snapshots_of(HOUR))
    assert caplog.messages[-1] == f"Spark is started for large work: only Spark knows how much there is in {warehouse}"


def test_a_table_that_cannot_be_read_or_is_of_an_older_version_makes_work_large(tmp_path: Path) -> None:
    write_deltalake(tmp_path / ROUTE_SNAPSHOTS.name, arrow_table(ROUTE_SNAPSHOTS, []).drop_columns("queues"))
    assert not is_small(Location.parse(str(tmp_path)), None, snapshots_of(HOUR))
    shutil.rmtree(tmp_path / ROUTE_SNAPSHOTS.name)
    (tmp_path / "route_snapshots" / "_delta_log").mkdir(parents=True)
    (tmp_path / "route_snapshots" / "_delta_log" / f"{0:020d}.json").write_text("no commit")
    assert not is_small(Location.parse(str(tmp_path)), None, snapshots_of(HOUR))
