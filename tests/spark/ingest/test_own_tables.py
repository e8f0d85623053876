"""The examples of docs/snapshots.md fill the source tables from tables with other names, and an audit reads them; the
flat views of what it publishes are there in Spark too.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import CLIENT_SNAPSHOTS, INCIDENTS, OPTIONAL_SOURCES, SOURCES, VIEWS
from spark_jobs.cli.commands.sql import view_statements
from spark_jobs.cli.main import main
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.own_sources import check_sources
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.show.incidents import IncidentQuery, incidents_and_unknown
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.through_spark import SparkTables
from spark_jobs.store.warehouse import Warehouse

PAGE = (Path(__file__).parents[3] / "docs" / "snapshots.md").read_text(encoding="utf-8")
BACKLOG_PAGE = (Path(__file__).parents[3] / "docs" / "backlog.md").read_text(encoding="utf-8")
START = datetime(2026, 3, 1, 10, tzinfo=UTC)
HOUR = Interval(START, START + timedelta(hours=1))
#: Two consumers with one client id.
TABLES: Mapping[str, tuple[str, Sequence[tuple[object, ...]]]] = {
    "ops.routes": ("taken_at timestamp, topic string, broker string, queues int", [("orders", "b", 4)]),
    "ops.offsets": (
        "taken_at timestamp, grp string, topic string, broker string, queue int, end_offset bigint, committed bigint",
        [("payments", "orders", "b", queue, 900, 100) for queue in range(4)],
    ),
    "ops.members": (
        "taken_at timestamp, broker string, grp string, client string, address string, topic string",
        [("b", "payments", "10.0.0.1@1", f"10.0.0.1:{port}", "orders") for port in (1, 2)],
    ),
}


@pytest.fixture(scope="module")
def filled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse of the three tables that an audit needs, filled as the page says from half an hour of snapshots."""
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("own") / "warehouse"))
    for name, (columns, rows) in TABLES.items():
        times = [START + timedelta(seconds=second) for second in range(0, 1800, 20)]
        frame = spark.createDataFrame([(at, *row) for at in times for row in rows], columns)
        frame.createOrReplaceTempView(name.replace(".", "_"))
    warehouse.create(spark, [table for table in SOURCES if table not in OPTIONAL_SOURCES])
    (statements,) = re.findall(r"^```sql\n(.*?);\n```", PAGE, re.DOTALL | re.MULTILINE)
    for statement in statements.split(";\n"):
        spark.sql(here(statement, warehouse))
    return warehouse


def here(text: str, warehouse: Warehouse) -> str:
    """The text with the tables of this test in the place of the page's."""
    text = re.sub(r"INTO lake\.audit\.(\w+)", lambda match: f"INTO {warehouse.identifier(match[1])}", text)
    return re.sub(r"\bops\.(\w+)", r"ops_\1", text)


def test_they_are_as_an_audit_needs_them(filled: Warehouse) -> None:
    report = check_sources(DeltaTables(filled), Configuration(), HOUR.end)
    assert [(problem.table, problem.severity) for problem in report.problems] == [
        ("topic_snapshots", "note"),
        ("client_snapshots", "note"),
    ]
    assert [table.rows for table in report.tables] == [90, 90, None, 90, None]


@pytest.mark.slow
def test_an_audit_finds_the_client_ids_that_are_equal(spark: SparkSession, filled: Warehouse) -> None:
    result = run(spark, filled, RunSpec(HOUR), Configuration())
    assert {"DUPLICATE_CLIENT_ID", "UNASSIGNED_QUEUE"} <= {finding["rule"] for finding in result.findings}
    assert (result.run["outcome"], result.run["row_counts"]["allocations"]) == ("published", 4)
    assert CLIENT_SNAPSHOTS.name not in result.run["source_versions"]
    assert "CLIENT_HUNG" in result.run["not_evaluated"]

    incidents = incidents_and_unknown(DeltaTables(filled), IncidentQuery())
    by_spark = SparkTables(spark, filled)
    for stored in (DeltaTables(filled), by_spark):
        stored.replace(INCIDENTS, incidents.to_arrow())
        assert sorted(by_spark.read(INCIDENTS, ["incident_id"])["incident_id"].to_pylist()) == sorted(
            incident.incident_id for incident in incidents.incidents
        )
    for statement in view_statements(filled, "spark"):
        spark.sql(statement.replace("OR REPLACE VIEW", "OR REPLACE TEMPORARY VIEW"))
    assert {view.name: spark.table(view.name).columns for view in VIEWS} == {
        view.name: [column.name for column in view.columns] for view in VIEWS
    }
    owned = spark.sql("SELECT queue_id, owner_address, unassigned_cause FROM bi_ownership ORDER BY ALL").collect()
    assert [tuple(row) for row in owned] == [
        (0, "10.0.0.1:1", None),
        (0, "10.0.0.1:2", None),
        (1, "10.0.0.1:1", None),
        (1, "10.0.0.1:2", None),
        (2, None, "DUPLICATE_CLIENT_ID"),
        (3, None, "DUPLICATE_CLIENT_ID"),
    ]
    costs = spark.sql(
        "SELECT consumer_group, unassigned_queue_minutes > 0 FROM bi_incident_groups WHERE rule LIKE 'DUP%'"
    )
    assert [tuple(row) for row in costs.collect()] == [("payments", True)]
    # 800 messages wait in each of four queues for 30 minutes, and no offset tells how old they are.
    queries = re.findall(r"^```sql\n(.*?)\n```", BACKLOG_PAGE, re.DOTALL | re.MULTILINE)
    minutes, aged, weeks, peaks = ([tuple(row) for row in spark.sql(query).collect()] for query in queries)
    assert minutes == [("prod", "payments", START.date(), 30)]
    assert aged == []
    assert [(row[1], *row[3:]) for row in weeks] == [("payments", 3200.0, None)]
    assert [row[1:3] for row in peaks] == [("payments", 3200)]
    # Two queues, until a minute after the last sample.
    assert peaks[0][3] == pytest.approx(2 * (29 + 40 / 60 + 1))


def test_the_command_prints_what_makes_the_tables(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse.parse(str(tmp_path))
    assert main(["sql", "sources", "--warehouse", str(tmp_path), "--quiet"]) == 0
    for statement in capsys.readouterr().out.split(";\n\n"):
        spark.sql(statement.strip().removesuffix(";"))
    for table in SOURCES:
        warehouse.read(spark, table)
