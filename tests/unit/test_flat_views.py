"""The flat views of the recording, in DuckDB, show the numbers of the commands."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

import rebalance_audit as ra
from schemas import INCIDENTS, OUTPUTS, VIEWS, FlatView
from spark_jobs.cli.commands.sql import view_statements
from spark_jobs.store.location import Location
from tests.support.commands import Typed

Database = duckdb.DuckDBPyConnection
#: Reserved in PostgreSQL, BigQuery, Trino, MySQL or SQL Server, and names of columns elsewhere in the warehouse.
RESERVED = """
all and any array as asc at between by case cast collate column create cross current cube date default desc
distinct else end escape except exists extract false fetch following for from full group grouping groups hash
having if ignore in inner intersect interval into is join key lateral left like limit lookup member merge natural
new no not null nulls of offset on or order outer over partition preceding primary proto range rank recursive
respect right rollup row rows select set some start struct table tablesample then time timestamp to treat trigger
true unbounded union unique unnest user using value values view when where window with within
"""


@pytest.fixture(scope="module")
def database(example_warehouse: str) -> Iterator[Database]:
    """The published tables of the recording, what `incidents --publish` writes, and the views that `sql` prints."""
    warehouse = ra.open(example_warehouse)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE SCHEMA audit")
        tables = {table.name: warehouse.rows(table.name).to_arrow() for table in OUTPUTS}
        for name, rows in {**tables, INCIDENTS.name: warehouse.incidents().to_arrow()}.items():
            connection.register(f"{name}_rows", rows)
            connection.execute(f"CREATE TABLE audit.{name} AS SELECT * FROM {name}_rows")
        for statement in view_statements(Location("memory.audit", in_catalog=True), "duckdb"):
            connection.execute(statement)
        yield connection


def rows(database: Database, sql: str) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = database.sql(sql).to_arrow_table().to_pylist()
    return result


def text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_incidents_are_those_of_the_command(database: Database, example_warehouse: str, typed: Typed) -> None:
    shown = typed("incidents --json", warehouse=example_warehouse, code=1).document["incidents"]
    found = {row["incident_id"]: row for row in rows(database, "SELECT * FROM audit.bi_incidents")}
    assert len(shown) == len(found) > 10
    same = ("cluster", "severity", "rule", "cause", "headline", "resolution", "advice")
    numbers, lists = ("peak_backlog_messages", "unassigned_queue_minutes"), ("consumer_groups", "topics", "client_ids")
    times = ("opened_at", "resolved_at", "last_seen_at")
    for incident in shown:
        row = found[incident["incident_id"]]
        flat = {name: text(row[name]) if name in times else row[name] for name in (*same, *numbers, *lists, *times)}
        assert flat == {name: ", ".join(incident[name]) if name in lists else incident[name] for name in flat}


def test_the_cost_of_every_group(database: Database, example_warehouse: str, typed: Typed) -> None:
    columns = "incident_id, consumer_group, peak_backlog_messages, unassigned_queue_minutes, team"
    found = database.execute(f"SELECT {columns} FROM audit.bi_incident_groups ORDER BY ALL").fetchall()
    shown = [
        (
            incident["incident_id"],
            *(cost[name] for name in ("consumer_group", "peak_backlog_messages", "unassigned_queue_minutes", "team")),
        )
        for incident in typed("incidents --json", warehouse=example_warehouse, code=1).document["incidents"]
        for cost in incident["costs"]
    ]
    assert found == sorted(shown, key=lambda row: row[:2])
    assert any(minutes for *_, minutes, _ in shown)


def test_findings(database: Database, example_warehouse: str) -> None:
    measured = {"backlog_max": "peak_backlog_messages", "backlog_end": "backlog_end_messages"}
    measured |= {"queue_count": "queue_count"}
    found = {row["finding_id"]: row for row in rows(database, "SELECT * FROM audit.bi_findings")}
    published = {row["finding_id"]: row for row in ra.open(example_warehouse).findings()}
    assert found.keys() == published.keys()
    for finding_id, row in published.items():
        flat = {**row, **{new: row["evidence"][old] for old, new in measured.items()}}
        for name, value in found[finding_id].items():
            assert name not in flat or value == flat[name], name
    assert any(row["peak_backlog_messages"] for row in found.values())


def test_group_status(database: Database, example_warehouse: str, tmp_path: Path, typed: Typed) -> None:
    """The recording is shorter than the hour: `status` shows what is known of it, if so little is complete."""
    same = ["member_count", "unassigned_queues", "double_owned_queues", "consumed_messages_per_second"]
    same += ["bottleneck", "worst_severity", "more_members_help"]
    renamed = {name: name for name in same} | {"backlog_end_messages": "backlog_end"}
    found = {row["consumer_group"]: row for row in rows(database, "SELECT * FROM audit.bi_group_status")}
    config = tmp_path / "audit.yaml"
    config.write_text("complete_share: 0\n")
    shown = typed("status --json --config", config, warehouse=example_warehouse, code=1).document["groups"]
    assert len(shown) == len(found) == 17
    for group in shown:
        row = found[group["consumer_group"]]
        assert {new: row[new] for new in renamed} == {new: group[old] for new, old in renamed.items()}


@pytest.fixture(scope="module")
def by_minute(example_warehouse: str) -> Mapping[tuple[str, str, datetime], int | None]:
    """By group, topic and minute what its last snapshot adds up to; None: an offset is not known, or beyond the end, or
    a queue is missing, since its broker does not answer.
    """
    backlogs: dict[tuple[str, str, datetime], int | None] = {}
    snapshots = DeltaTable(f"{example_warehouse}/offset_snapshots").to_pyarrow_table().to_pylist()
    most = Counter[tuple[str, str]]()
    for row in sorted(snapshots, key=lambda row: row["captured_at"]):
        pairs = [(queue["broker_offset"], queue["consumer_offset"]) for queue in row["offsets"]]
        most[row["consumer_group"], row["topic"]] = max(most[row["consumer_group"], row["topic"]], len(pairs))
        is_whole = len(pairs) == most[row["consumer_group"], row["topic"]]
        is_known = is_whole and all(committed and committed <= end for end, committed in pairs)
        minute = row["captured_at"].astimezone(UTC).replace(second=0, microsecond=0)
        backlog = sum(end - committed for end, committed in pairs) if is_known else None
        backlogs[row["consumer_group"], row["topic"], minute] = backlog
    return backlogs


def test_the_backlog_of_a_minute_is_that_of_its_last_snapshot(
    database: Database, by_minute: Mapping[tuple[str, str, datetime], int | None]
) -> None:
    compared = 0
    for row in rows(database, "SELECT * FROM audit.bi_backlog WHERE unknown_queues = 0"):
        expected = by_minute[row["consumer_group"], row["topic"], row["minute_start"]]
        if expected is not None:
            assert row["backlog_messages"] == expected, row
            compared += 1
    assert compared > 200


def test_the_queries_of_the_page_about_the_backlog(
    database: Database, by_minute: Mapping[tuple[str, str, datetime], int | None]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "backlog.md").read_text(encoding="utf-8")
    database.execute("USE audit")
    answers = [rows(database, query) for query in re.findall(r"```sql\n(.*?)```", page, re.S)]
    database.execute("USE main")
    minutes, aged, weeks, peaks = answers
    large = [key for key, messages in by_minute.items() if key[0] == "payment-service" and (messages or 0) > 1000]
    assert {row["consumer_group"]: row["minutes"] for row in minutes}["payment-service"] == len(large) > 5
    # Its messages waited for 9 min 25 s at the end.
    assert ("legacy-import", "legacy") in {(row["consumer_group"], row["topic"]) for row in aged}
    assert len(weeks) > 10
    assert {row["growth"] for row in weeks} == {None}
    # Of 16 queues without owner.
    assert (peaks[0]["consumer_group"], peaks[0]["peak_messages"]) == ("batch-export", 18_846)


def test_ownership_is_what_explain_shows(database: Database, example_warehouse: str) -> None:
    """Of every connection how many queues of each topic it owns, and how many have no owner."""
    warehouse = ra.open(example_warehouse)
    owned = """
        SELECT topic, membership_view, owner_client_id, owner_address, count(*) AS queues FROM audit.bi_ownership
        WHERE consumer_group = ? AND owned_from <= CAST(? AS TIMESTAMPTZ) AND CAST(? AS TIMESTAMPTZ) < owned_until
            AND NOT starts_with(topic, '%RETRY%')
        GROUP BY ALL"""
    groups = [row[0] for row in database.execute("SELECT DISTINCT consumer_group FROM audit.bi_ownership").fetchall()]
    moments = ["2026-11-21T02:05", "2026-11-21T02:17:30", "2026-11-21T02:25"]
    compared = 0
    for group, at in [*((group, "2026-11-21T02:10") for group in groups), *(("payment-service", at) for at in moments)]:
        result = {row[:4]: row[4] for row in database.execute(owned, [group, at, at]).fetchall()}
        shown = dict[tuple[str, str, str | None, str | None], int]()
        for topic in warehouse.explain(group, at).facts.topics:
            for view in topic.views if not topic.is_retry else ():
                key = topic.topic, view.membership_view
                shown |= {(*key, each.client_id, each.client_addr): each.queue_count for each in view.members}
                shown[*key, None, None] = sum(each.queue_count for each in view.unassigned)
        assert result == {key: number for key, number in shown.items() if number}, (group, at)
        compared += len(result)
    assert compared > 30


def test_who_owned_one_queue_from_when_to_when(database: Database) -> None:
    """Two consumers share a client id from 02:07:05 on: queue 4 lies in the share of the second."""
    sql = """
        SELECT owner_client_id, unassigned_cause, strftime(owned_from, '%H:%M:%S'), strftime(owned_until, '%H:%M:%S')
        FROM audit.bi_ownership WHERE consumer_group = 'payment-service' AND topic = 'payments' AND queue_id = 4
        ORDER BY owned_from"""
    assert database.execute(sql).fetchall() == [
        ("10.31.79.122@7177#1317910090893", None, "02:02:28", "02:07:05"),
        (None, "DUPLICATE_CLIENT_ID", "02:07:05", "02:17:26"),
        ("172.17.0.1@1", None, "02:17:26", "02:17:35"),
        ("10.31.79.122@7178#2254047088240", None, "02:17:35", "02:26:55"),
    ]


def test_ownership_has_no_two_rows_that_continue_each_other(database: Database) -> None:
    same = ("cluster", "consumer_group", "topic", "membership_view", "broker_name", "queue_id", "is_readable")
    of_owner = ("owner_client_id", "owner_address", "unassigned_cause", "double_owned_cause")
    joined = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in (*same, *of_owner))
    twice = f"audit.bi_ownership a JOIN audit.bi_ownership b ON {joined} AND a.owned_until = b.owned_from"
    numbers = [
        database.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0]
        for source in (twice, "audit.bi_ownership", "audit.allocations")
    ]
    assert numbers[0] == 0
    assert numbers[1] < numbers[2]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_columns_are_flat_explained_and_named_for_any_engine(database: Database, view: FlatView) -> None:
    keywords = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    reserved = {*RESERVED.split(), *(name for (name,) in database.execute(keywords).fetchall())}
    columns = "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = ?"
    made = database.execute(columns, [view.name]).fetchall()
    assert [name for name, _, _ in made] == [column.name for column in view.columns]
    assert [name for name, _, _ in made if name in reserved] == []
    assert [name for name, type, _ in made if any(mark in type for mark in ("[", "STRUCT", "MAP"))] == []
    assert all(comment for _, _, comment in made)
    assert database.execute(f"SELECT count(*) > 0 FROM audit.{view.name}").fetchall() == [(True,)]


def test_over_a_path_duckdb_reads_the_tables_of_the_folder(typed: Typed) -> None:
    out = typed("sql views --quiet", warehouse="s3a://lake/it's").out
    assert out.startswith("INSTALL delta;\n\nLOAD delta;\n\nCREATE OR REPLACE VIEW bi_incidents AS SELECT\n")
    assert "FROM delta_scan('s3://lake/it''s/findings');" in out


def test_trino_needs_a_catalog(typed: Typed) -> None:
    line = "sql views --engine trino --quiet"
    assert "give --warehouse catalog.schema" in typed(line, warehouse="/data/audit", code=3).err
    assert (
        'FROM delta.audit.incidents LEFT JOIN UNNEST("costs") AS '
        "cost(consumer_group, peak_backlog_messages, unassigned_queue_minutes, team) ON true;"
    ) in typed(line, warehouse="delta.audit").out


@pytest.mark.parametrize("engine", ["spark", "trino"])
def test_each_engine_has_every_view_and_comment(engine: str) -> None:
    statements = "\n".join(view_statements(Location("lake.audit", in_catalog=True), engine))
    assert "{" not in statements
    for view in VIEWS:
        assert f"VIEW lake.audit.{view.name} " in statements
    assert statements.count("COMMENT ") == sum(1 + len(view.columns) for view in VIEWS)


@pytest.mark.parametrize("what", ["sources", "views --engine duckdb", "views --engine spark", "views --engine trino"])
def test_a_program_can_split_what_is_printed_at_semicolons(what: str, typed: Typed) -> None:
    *statements, end = typed(f"sql {what} --quiet", warehouse="lake.audit").out.split(";")
    assert end.strip() == ""
    assert len(statements) >= 5
    assert [part for part in statements if not part.strip().startswith(("CREATE ", "COMMENT ON "))] == []
