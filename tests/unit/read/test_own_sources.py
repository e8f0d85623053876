"""`validate --sources`: source tables that another program wrote, each with one thing wrong."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.own_sources import SourceReport, check_sources
from spark_jobs.store.read.delta import delta_tables
from tests.support.commands import Typed
from tests.support.stored import arrow_table
from tests.support.times import DAY

TEN_MINUTES = range(0, 600, 20)
NOW = DAY + timedelta(days=1)
Rows = Sequence[Mapping[str, Any]]
KEYS = {
    MEMBERSHIP_SNAPSHOTS: {"cluster": "c", "consumer_group": "g", "broker_name": "b"},
    ROUTE_SNAPSHOTS: {"cluster": "c", "topic": "t"},
    OFFSET_SNAPSHOTS: {"cluster": "c", "consumer_group": "g", "topic": "t"},
}
STATES: Mapping[Table, Mapping[str, Any]] = {
    MEMBERSHIP_SNAPSHOTS: {
        "connections": [{"client_id": "c1", "client_addr": "10.0.0.1:1"}],
        "subscriptions": [{"topic": "t", "sub_string": "*"}, {"topic": "%RETRY%g", "sub_string": "*"}],
    },
    ROUTE_SNAPSHOTS: {"queues": [{"broker_name": "b", "perm": 6, "read_queue_nums": 4, "write_queue_nums": 4}]},
    OFFSET_SNAPSHOTS: {"offsets": [{"broker_name": "b", "queue_id": 0, "broker_offset": 9, "consumer_offset": 8}]},
}


def snapshots(
    table: Table, seconds: Sequence[float] = TEN_MINUTES, shift: timedelta = timedelta(0), **values: Any
) -> list[dict[str, Any]]:
    """A snapshot at each of these seconds, later by the shift."""
    at = (DAY + shift + timedelta(seconds=second) for second in seconds)
    return [{**KEYS[table], **STATES[table], **values, "captured_at": moment} for moment in at]


def of(table: Table, seconds: Sequence[float] = TEN_MINUTES, **values: Any) -> Mapping[str, Rows]:
    """These snapshots of one table."""
    return {table.name: snapshots(table, seconds, **values)}


def warehouse(folder: Path, **of_tables: Rows | None) -> Path:
    """Ten minutes of all required tables; of those that are named these rows, or None: no such table."""
    rows = {table.name: snapshots(table) for table in STATES} | of_tables
    for table in STATES:
        if (of_table := rows[table.name]) is not None:
            write_deltalake(folder / table.name, arrow_table(table, of_table), mode="append")
    return folder


def checked(folder: Path, interval: Interval | None = None, **settings: Any) -> SourceReport:
    return check_sources(delta_tables(str(folder)), Configuration(**settings), NOW, interval)


def wrong(folder: Path, **settings: Any) -> list[str]:
    """What is said of required tables."""
    return [
        " ".join((problem.severity, f"{problem.table}:", problem.problem, *map(str, problem.examples)))
        for problem in checked(folder, **settings).problems
        if problem.severity != "note"
    ]


def test_nothing_is_wrong_with_tables_that_fit(tmp_path: Path) -> None:
    report = checked(warehouse(tmp_path))
    expected = [("note", "topic_snapshots"), ("note", "client_snapshots")]
    assert [(problem.severity, problem.table) for problem in report.problems] == expected
    assert [(table.table, table.rows, table.keys, table.usual_seconds) for table in report.tables] == [
        ("membership_snapshots", 30, 1, 20),
        ("route_snapshots", 30, 1, 20),
        ("topic_snapshots", None, None, None),
        ("offset_snapshots", 30, 1, 20),
        ("client_snapshots", None, None, None),
    ]
    assert [table.table for table in report.tables if table.is_required] == [table.name for table in STATES]
    assert report.tables[0].first == DAY
    assert report.tables[0].last == DAY + timedelta(seconds=580)


CASES: Mapping[str, tuple[Mapping[str, Rows | None], list[str]]] = {
    "missing": ({"route_snapshots": None}, ["critical route_snapshots: there is no such table"]),
    "empty": (
        {"offset_snapshots": ()},
        [
            "critical offset_snapshots: it has no rows",
            "warning membership_snapshots: 1 group with members and without offsets cluster=c consumer_group=g",
        ],
    ),
    "client without id": (
     of(MEMBERSHIP_SNAPSHOTS, connections=[{"client_id": None}, {"client_id": ""}]),
     ["critical membership_snapshots: 60 connections without client id cluster=c consumer_group=g broker_name=b"]),
    "row without cluster": (
        {"offset_snapshots": [*snapshots(OFFSET_SNAPSHOTS), *snapshots(OFFSET_SNAPSHOTS, [0], cluster=None)]},
        [
            "critical offset_snapshots: 1 row without cluster or consumer_group or topic "
            "consumer_group=g topic=t captured_at=2026-03-01 10:00:00+00:00"
        ],
    ),
    "topic without route": (of(ROUTE_SNAPSHOTS, topic="other"),
     ["warning membership_snapshots: 1 topic with subscribers and without a route cluster=c topic=t"]),
    "group of another cluster": (of(OFFSET_SNAPSHOTS, cluster="C"),
     ["warning membership_snapshots: 1 group with members and without offsets cluster=c consumer_group=g"]),
    "broadcasting, offline and proxies need no offsets": (
        {
            "membership_snapshots": [
                *snapshots(MEMBERSHIP_SNAPSHOTS),
                *snapshots(MEMBERSHIP_SNAPSHOTS, consumer_group="b", message_model="BROADCASTING"),
                *snapshots(MEMBERSHIP_SNAPSHOTS, consumer_group="o", connections=[], subscriptions=[]),
                *snapshots(MEMBERSHIP_SNAPSHOTS, consumer_group="CID_DefaultHeartBeatSyncerTopic"),
            ]
        },
        [],
    ),
    "broker that was not asked": (
     of(ROUTE_SNAPSHOTS, queues=[{"broker_name": "b2"}, {"broker_name": "b"}]),
     ["warning route_snapshots: 1 broker in routes that no membership snapshot names cluster=c broker_name=b2"]),
    "twice": ({"route_snapshots": [*snapshots(ROUTE_SNAPSHOTS), *snapshots(ROUTE_SNAPSHOTS, [20, 40])]},
     ["critical route_snapshots: 2 snapshots with the key and time of another cluster=c topic=t"]),
    "gap": (of(MEMBERSHIP_SNAPSHOTS, [*range(0, 200, 20), 260, *range(330, 600, 20)]),
     ["warning membership_snapshots: 2 gaps longer than 1 min 00 s, the longest of 1 min 20 s "
      "cluster=c consumer_group=g broker_name=b until 2026-03-01T10:04:20Z"]),
    "a gap of exactly three cadences is none": (
     of(MEMBERSHIP_SNAPSHOTS, [*range(0, 200, 20), *range(240, 600, 20)]), []),
    "seldom": (of(OFFSET_SNAPSHOTS, range(0, 600, 60)),
     ["warning offset_snapshots: snapshots are 60 s apart, and cadence_seconds is 20"]),
    "of another zone": (of(OFFSET_SNAPSHOTS, shift=timedelta(hours=8)),
     ["critical offset_snapshots: all times are 8 h after those of membership_snapshots"]),
    "of a zone with half an hour": (
     of(ROUTE_SNAPSHOTS, shift=-timedelta(hours=5, minutes=30)),
     ["critical route_snapshots: all times are 5.5 h before those of membership_snapshots"]),
    "begins an hour later, ends at the same time": (
     of(OFFSET_SNAPSHOTS, [*range(300, 600, 20)]), []),
    "begins two hours later, ends at the same time": (
     {table.name: snapshots(table, range(7200 if table is OFFSET_SNAPSHOTS else 0, 10800, 20)) for table in STATES},
     []),
    "in the future": (
        {table.name: snapshots(table, shift=timedelta(hours=26)) for table in STATES},
        [
            f"critical {table.name}: snapshots are in the future: the last is of 2026-03-02T12:09:40Z"
            for table in STATES
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_reported(tmp_path: Path, case: str) -> None:
    """And what to do about it, in a sentence."""
    of_tables, expected = CASES[case]
    assert wrong(warehouse(tmp_path, **of_tables)) == expected
    assert all(0 < len(problem.advice.split()) <= 25 for problem in checked(tmp_path).problems)


def test_the_configuration_says_how_often_and_how_long(tmp_path: Path) -> None:
    rows = {table.name: snapshots(table, range(0, 600, 60)) for table in STATES}
    assert wrong(warehouse(tmp_path, **rows), cadence_seconds=60) == []
    assert len(wrong(tmp_path, cadence_seconds=60, max_gap_seconds=60)) == 0
    assert len(wrong(tmp_path)) == 3


def test_only_the_interval_counts(tmp_path: Path) -> None:
    gap = snapshots(MEMBERSHIP_SNAPSHOTS, [*range(0, 200, 20), *range(400, 600, 20)])
    folder = warehouse(tmp_path, membership_snapshots=gap)
    later = checked(folder, Interval(DAY + timedelta(seconds=400), DAY + timedelta(hours=1)))
    assert [table.rows for table in later.tables] == [10, 10, None, 10, None]
    assert {problem.severity for problem in later.problems} == {"note"}


def foreign(folder: Path, table: Table, without: Sequence[str] = (), **types: pa.DataType) -> None:
    """The table as another program wrote it: without some columns, some of another type, the times as they were."""
    made = arrow_table(table, snapshots(table)).drop_columns([*without])
    for name, type in types.items():
        made = made.set_column(made.column_names.index(name), name, pa.nulls(len(made), type))
    shutil.rmtree(folder / table.name, ignore_errors=True)
    write_deltalake(folder / table.name, made)


def test_optional_columns_that_are_missing_do_not_matter_to_the_other_checks(tmp_path: Path) -> None:
    folder = warehouse(tmp_path)
    foreign(folder, ROUTE_SNAPSHOTS, ["addresses", "is_static", "message_type", "listed", "name_servers"])
    foreign(folder, MEMBERSHIP_SNAPSHOTS, ["listed", "request_modes"], message_model=pa.int32())
    assert wrong(folder) == [
        "critical membership_snapshots: column message_model is int, not string",
        "warning membership_snapshots: 2 optional columns missing: listed, request_modes",
        "warning route_snapshots: 5 optional columns missing: addresses, is_static, message_type, listed, name_servers",
    ]
    assert [table.rows for table in checked(folder).tables] == [30, 30, None, 30, None]


def test_times_without_a_zone_and_fields_that_are_missing(tmp_path: Path) -> None:
    folder = warehouse(tmp_path)
    foreign(folder, OFFSET_SNAPSHOTS, ["captured_date"], captured_at=pa.timestamp("us"))
    foreign(folder, MEMBERSHIP_SNAPSHOTS, connections=pa.list_(pa.struct({"client_addr": pa.string()})))
    assert wrong(folder) == [
        "critical membership_snapshots: column connections[].client_id is missing",
        "critical offset_snapshots: column captured_at is timestamp_ntz, not timestamp, "
        "column captured_date (date) is missing",
        "warning membership_snapshots: 2 optional columns missing: connections[].language, connections[].version",
    ]
    assert checked(folder).tables[3].rows is None


def test_the_command(tmp_path: Path, typed: Typed) -> None:
    folder = warehouse(tmp_path)
    out = typed("validate --sources", warehouse=folder).lines
    times = "first=2026-03-01T10:00Z last=2026-03-01T10:09:40Z apart=20 s"
    assert out[0] == f"table=membership_snapshots required rows=30 keys=1 {times}"
    assert out[-1] == "2 notes."
    warehouse(folder, offset_snapshots=(), route_snapshots=snapshots(ROUTE_SNAPSHOTS, [900]), membership_snapshots=())
    document = typed("validate --sources --json", warehouse=folder, code=2).document
    assert document["problems"][0]["problem"] == "1 gap longer than 1 min 00 s, the longest of 5 min 20 s"
    shutil.rmtree(folder / "route_snapshots")
    typed("validate --sources", warehouse=folder, code=1)


def test_a_catalog_is_not_read(typed: Typed) -> None:
    assert "only Spark reads the warehouse lake.audit" in typed("validate --sources --warehouse lake.audit", code=3).err
