"""Recordings into real Delta tables."""

import gzip
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import (
    CAPTURE_CALLS,
    CLIENT_SNAPSHOTS,
    CLIENT_STACKS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    SOURCES,
    TOPIC_SNAPSHOTS,
    Table,
)
from spark_jobs.errors import InputFileError
from spark_jobs.ingest import batches
from spark_jobs.ingest.load import IngestReport, ingest
from spark_jobs.ingest.logs.snapshots import recorded_spans
from spark_jobs.store.warehouse import Warehouse
from tests.support.bodies import AT, LINES, line

RECORDING = Path(__file__).parents[3] / "examples" / "recording.jsonl.gz"
META = b'{"kind":"meta","cluster":"demo"}\n'
LOADED = (*SOURCES, QUARANTINE)
KEPT = (*LOADED, SIGHTINGS)


def recording(path: Path, *contents: bytes) -> Path:
    path.write_bytes(b"".join(contents))
    return path


def versions(spark: SparkSession, warehouse: Warehouse) -> dict[str, int]:
    return {table.name: warehouse.version(spark, table) for table in KEPT}


def rows(spark: SparkSession, warehouse: Warehouse, table: Table, *columns: str) -> list[tuple[object, ...]]:
    """The table's columns, in the order of its key."""
    frame = warehouse.read(spark, table).orderBy(*table.key).selectExpr(*columns)
    return [tuple(row) for row in frame.collect()]


@pytest.mark.slow
@pytest.mark.usefixtures("filled_tables")
def test_the_head_of_the_real_recording_twice(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    with gzip.open(RECORDING) as file:
        head = file.readlines()[:400]
    path = recording(tmp_path / "head.jsonl", *head, b"\n", b"garbage\n", head[1], line("stats", body="{"))

    first = ingest(spark, warehouse, [path])
    # Counted with zcat, head and grep: 114 connection, 84 route, 95 running, 78 stats (2 errors), 28 topicstats.
    counts = {"membership": 114, "route": 84, "client": 95, "offset": 76, "topic": 28}
    new = {f"{name}_snapshots": count for name, count in counts.items()}
    assert vars(first) == {
        "lines": 404,
        "meta": 1,
        "blank": 1,
        "no_observation": {"stats": 2},
        "new": new,
        "already_there": dict.fromkeys(new, 0) | {"route_snapshots": 1},
        "quarantined": {"NOT_JSON": 1, "BODY_UNREADABLE": 1},
        # The first and the last `at` of these lines: 1795226546403, 1795226566005.
        "span": (
            datetime(2026, 11, 21, 2, 2, 26, 403_000, tzinfo=UTC),
            datetime(2026, 11, 21, 2, 2, 46, 5_000, tzinfo=UTC),
        ),
    }
    assert first.accounted_for == 404
    assert {t.name: warehouse.read(spark, t).count() for t in LOADED} == new | {"quarantine": 2}
    before = versions(spark, warehouse)
    assert set(before.values()) == {1}

    second = ingest(spark, warehouse, [path])
    assert second.new == dict.fromkeys(new, 0)
    assert second.already_there == new | {"route_snapshots": 85}
    assert second.quarantined == first.quarantined
    assert versions(spark, warehouse) == before


def test_every_kind_of_line_in_its_table(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    path = recording(tmp_path / "all.jsonl", META, *map(line, LINES), b"\xff\n")
    ingest(spark, warehouse, [str(path)])

    key = ("cluster", "unix_millis(captured_at)", "CAST(captured_date AS STRING)")
    for table in (*SOURCES, CAPTURE_CALLS, CLIENT_STACKS):
        times = [AT, AT + 60_000] if table is OFFSET_SNAPSHOTS else [AT]
        assert rows(spark, warehouse, table, *key) == [("demo", at, "2026-11-21") for at in times]
    members = "transform(connections, c -> c.client_id || ' ' || c.client_addr)", "connections[0].version"
    assert rows(spark, warehouse, MEMBERSHIP_SNAPSHOTS, "consumer_group", "broker_name", *members) == [
        ("pay", "broker-a", ["10.0.0.9@7 10.0.0.9:1", "172.17.0.1@1 10.0.0.2:2001", "172.17.0.1@1 10.0.0.2:2002"], None)
    ]
    assert rows(spark, warehouse, ROUTE_SNAPSHOTS, "topic", "queues.write_queue_nums") == [("orders", [1, 10])]
    offsets = ("offsets.consumer_offset", "offsets.broker_offset", "offsets.pull_offset")
    assert rows(spark, warehouse, OFFSET_SNAPSHOTS, *offsets) == [
        ([2, 1, 9007199254740993], [2, 3, 9223372036854775807], [2, None, -1]),
        ([3, 7], [None, None], [None, None]),
    ]
    # 02:02:20 to 02:02:40: what logs say of this time is left out. Committed offsets alone are out of logs.
    assert recorded_spans(spark, warehouse, "demo") == [(AT - 7_799, AT - 7_799 + 19_999)]
    assert recorded_spans(spark, warehouse, "other") == []
    assert rows(spark, warehouse, TOPIC_SNAPSHOTS, "queues.max_offset") == [([12, 0, 9007199254740993],)]
    owned = "transform(owned_queues, q -> q.queue_id || ' ' || q.dropped)", "unix_millis(started_at)"
    assert rows(spark, warehouse, CLIENT_SNAPSHOTS, "answered", "consume_threads", *owned) == [
        (True, 20, ["0 true", "1 false"], 1795226515156)
    ]
    stacks = "threads", "stacks.state", "stacks.threads", "stacks.frames"
    frames = ["java.base@17.0.15/java.lang.Object.wait(Native Method)", "app//com.acme.Dao.query(Dao.java:12)"]
    assert rows(spark, warehouse, CLIENT_STACKS, "consumer_group", "client_id", *stacks) == [
        ("pay", "172.17.0.1@1", 5, ["WAITING", "RUNNABLE"], [3, 1], [frames, []])
    ]
    assert rows(spark, warehouse, CAPTURE_CALLS, "called", "request", "subject", "outcome", "took_ms") == [
        ("broker-a", "stats", "pay orders", "TIMED_OUT", 3004)
    ]
    assert rows(spark, warehouse, QUARANTINE, *QUARANTINE.columns[1:-1]) == [
        (None, "all.jsonl", 10, None, ["NOT_UTF8"], "invalid start byte at byte 0", None, "�\n")
    ]


@pytest.mark.usefixtures("filled_tables")
def test_of_conflicting_observations_the_first_stays(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def route(at: int, queues: int) -> bytes:
        return line("route", at=at, body=f'{{"queueDatas":[{_queue_data(queues)}]}}')

    monkeypatch.setattr(batches, "CHUNK_LINES", 3)
    path = recording(
        tmp_path / "conflict.jsonl", META, route(AT, 4), route(AT, 5), route(AT, 6), route(AT, 4), route(AT + 1, 7)
    )
    report = ingest(spark, warehouse, [path])

    assert (report.lines, report.accounted_for) == (6, 6)
    assert (report.new, report.already_there) == ({"route_snapshots": 2}, {"route_snapshots": 1})
    assert report.quarantined == {"CONFLICTING_KEY": 2}
    loaded = [(AT, 4), (AT + 1, 7)]
    count = "unix_millis(captured_at)", "queues[0].read_queue_nums"
    assert rows(spark, warehouse, ROUTE_SNAPSHOTS, *count) == loaded
    told = warehouse.read(spark, QUARANTINE).orderBy("line_number").select("source_table", "line_number", "row_key")
    key = '{"cluster": "demo", "topic": "orders", "captured_at": "2026-11-21T02:02:27.799Z"}'
    assert [tuple(row) for row in told.collect()] == [("route_snapshots", 3, key), ("route_snapshots", 4, key)]

    before = versions(spark, warehouse)
    monkeypatch.setattr(batches, "CHUNK_LINES", 100)
    again = ingest(spark, warehouse, [path])
    assert (again.new, again.already_there) == ({"route_snapshots": 0}, {"route_snapshots": 3})
    assert (again.quarantined, versions(spark, warehouse)) == ({"CONFLICTING_KEY": 2}, before)


@pytest.mark.usefixtures("filled_tables")
def test_files_are_loaded_together(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    """A version per table and command; each file has its own cluster, and its own lines in quarantine. Lines without a
    cluster wait for its name.
    """
    files = [
        recording(
            tmp_path / f"{name}.jsonl",
            META.replace(b"demo", name.encode()),
            *(line("topicstats", at=AT + i) for i in range(3)),
            b"bad\n",
        )
        for name in ("one", "two", "three")
    ]
    nameless = recording(tmp_path / "nameless.jsonl", line("route"))
    report = ingest(spark, warehouse, [*files, nameless])
    assert (report.new, report.quarantined) == ({"topic_snapshots": 9}, {"NOT_JSON": 3, "NO_CLUSTER": 1})
    clusters = Counter(rows(spark, warehouse, TOPIC_SNAPSHOTS, "cluster"))
    assert clusters == {("one",): 3, ("two",): 3, ("three",): 3}
    quarantined = Counter(rows(spark, warehouse, QUARANTINE, "source_file", "line_number"))
    of_files = {(f"{name}.jsonl", 5): 1 for name in ("one", "two", "three")}
    assert quarantined == of_files | {("nameless.jsonl", 1): 1}
    assert versions(spark, warehouse) | {"topic_snapshots": 1, "quarantine": 1} == versions(spark, warehouse)
    named = ingest(spark, warehouse, [nameless], cluster_name="eu")
    assert (named.new, named.quarantined) == ({"route_snapshots": 1}, {})
    assert rows(spark, warehouse, ROUTE_SNAPSHOTS, "cluster") == [("eu",)]


@pytest.mark.usefixtures("filled_tables")
def test_what_comes_before_a_file_that_cannot_be_read_is_loaded(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    good = recording(tmp_path / "good.jsonl", META, line("topicstats", at=AT))
    broken = recording(tmp_path / "broken.jsonl.gz", b"\x1f\x8b no gzip")
    with pytest.raises(InputFileError, match="broken"):
        ingest(spark, warehouse, [good, broken])
    assert rows(spark, warehouse, TOPIC_SNAPSHOTS, "cluster") == [("demo",)]


def _queue_data(queues: int) -> str:
    return f'{{"brokerName":"a","perm":6,"readQueueNums":{queues},"writeQueueNums":{queues}}}'


@pytest.mark.usefixtures("filled_tables")
def test_an_ingest_that_was_cut_off_is_completed_by_two_at_once_without_duplicates(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    observations = [line("topicstats", at=AT + i) for i in range(200)]
    ingest(spark, warehouse, [recording(tmp_path / "cut.jsonl", META, *observations[:9])])
    path = recording(tmp_path / "cut.jsonl", META, *observations, b"bad\n")
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: ingest(spark, warehouse, [path]), range(2)))
    moments = [at for (at,) in rows(spark, warehouse, TOPIC_SNAPSHOTS, "unix_millis(captured_at)")]
    assert moments == [AT + i for i in range(200)]
    assert warehouse.read(spark, QUARANTINE).count() == 1
    assert sum(report.new["topic_snapshots"] for report in reports) == 191
    assert sum(report.already_there["topic_snapshots"] for report in reports) == 209


def test_a_missing_file_stops_everything_before_it_begins(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    good = recording(tmp_path / "good.jsonl", META, line("route"))
    with pytest.raises(InputFileError, match=r"nowhere\.jsonl cannot be read: No such file"):
        ingest(spark, warehouse, [good, tmp_path / "nowhere.jsonl"])
    assert not any(warehouse.exists(spark, table) for table in LOADED)


def test_a_report_names_every_count_in_a_line_of_text() -> None:
    report = IngestReport(
        lines=1_010,
        meta=1,
        blank=2,
        no_observation=Counter(running=3, connection=1),
        new=Counter(route_snapshots=1_000),
        already_there=Counter(route_snapshots=1),
        quarantined=Counter(NOT_JSON=2),
    )
    assert str(report) == (
        "1,010 lines read\n"
        "  route_snapshots: 1,000 new, 1 known\n"
        "  no observation: 4 (connection 1, running 3)\n"
        "  quarantined: 2 (NOT_JSON 2)\n"
        "  meta: 1, blank: 2"
    )
