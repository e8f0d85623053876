"""The rows of the kernel pass the gate; a row that is broken after the kernel is caught, and nothing is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations import BY_TABLE
from expectations.suite import KEYS_ARE_UNIQUE
from schemas import (
    AUDIT_RUNS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
    Table,
)
from spark_jobs.config import Configuration
from spark_jobs.domain.judge import JudgedStep
from spark_jobs.errors import ExitCode, QualityError
from spark_jobs.pipeline.gather import judged as judged_module
from spark_jobs.pipeline.publish.content import content
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.pipeline.quality.facts import BROKEN, by_name, facts_of_outputs
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.support.kernel import judged
from tests.support.snapshots import load, membership, offsets, route
from tests.support.times import HOUR
from tests.unit.expectations.cases import SETTINGS

Row = dict[str, Any]


def history() -> dict[Table, list[Row]]:
    """Healthy members of which one comes and goes, twins, and a group whose backlog grows: 7 queues each."""
    rows: dict[Table, list[Row]] = {MEMBERSHIP_SNAPSHOTS: [], ROUTE_SNAPSHOTS: [], OFFSET_SNAPSHOTS: []}
    members = {"healthy": ("a", "b", "c"), "twins": ("a", "a", "b"), "slow": ("a", "b")}
    for second in range(0, 3600, 20):
        rows[ROUTE_SNAPSHOTS].append(route(second, 7))
        for group, ids in members.items():
            present = ids[:2] if group == "healthy" and 1200 <= second < 2400 else ids
            rows[MEMBERSHIP_SNAPSHOTS].append(membership(second, *present, group=group))
            consumed = 100 + second // 2 if group == "slow" else 100 + second
            rows[OFFSET_SNAPSHOTS].append(offsets(second, *[(150 + second, consumed, 1)] * 7, group=group))
    return rows


@pytest.fixture(scope="module")
def written() -> dict[str, pa.Table]:
    """The rows of all groups, as they would be written."""
    return tables(judged(history(), HOUR))


def broken_in(rows: Mapping[str, pa.Table]) -> set[tuple[str, str]]:
    """Table and name of every expectation that is broken."""
    suites = {table.name: suite for table, suite in BY_TABLE.items()}
    facts = ((fact, by_name(suites[fact.table_name], fact)) for fact in facts_of_outputs(rows, SETTINGS))
    return {(fact.table_name, name) for fact, counts in facts for name, count in counts[BROKEN].items() if count}


def test_what_the_kernel_judges_keeps_every_expectation(written: Mapping[str, pa.Table]) -> None:
    """Each fails alone on rows that break it: `tests/unit/expectations`."""
    assert all(rows.num_rows for rows in written.values())
    assert broken_in(written) == set()


@pytest.mark.parametrize("table", OUTPUTS, ids=lambda table: table.name)
def test_a_row_that_is_there_twice_is_caught(written: Mapping[str, pa.Table], table: Table) -> None:
    """An interval that is there twice overlaps itself: only rows that keep the other rules have a key twice."""
    rows = written[table.name].to_pylist()
    name = "intervals_of_a_view_do_not_overlap" if table is REBALANCE_INTERVALS else KEYS_ARE_UNIQUE.name
    repeated = pa.Table.from_pylist([*rows, rows[-1]], written[table.name].schema)
    assert (table.name, name) in broken_in({**written, table.name: repeated})


def caught(error: QualityError) -> set[str]:
    return {line.partition(" failed")[0] for line in str(error).splitlines()[1:]}


def break_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Arrow function lists the members of `twins` the other way round."""
    really = judged_module._judged

    def broken(*given: Any, **named: Any) -> pa.Table:
        def rows_in_reverse(steps: Sequence[JudgedStep], topic: str | None = None) -> dict[str, pa.Table]:
            written = tables(steps, topic)
            intervals = written[REBALANCE_INTERVALS.name]
            rows = [
                row | {"members": row["members"] and row["members"][::-1]} if row["consumer_group"] == "twins" else row
                for row in intervals.to_pylist()
            ]
            return {**written, REBALANCE_INTERVALS.name: pa.Table.from_pylist(rows, intervals.schema)}

        # Of the function's own copy, which the worker was given.
        really.__globals__["tables"] = rows_in_reverse
        return really(*given, **named)

    monkeypatch.setattr(judged_module, "_judged", broken)


@pytest.mark.usefixtures("tables")
def test_a_rejected_run_publishes_nothing_and_says_why(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(spark, warehouse, history())
    published = run(spark, warehouse, RunSpec(HOUR), Configuration())
    before = {table.name: warehouse.version(spark, table) for table in OUTPUTS}
    break_rows(monkeypatch)
    with pytest.raises(QualityError) as error:
        run(spark, warehouse, RunSpec(HOUR), Configuration())
    assert error.value.exit_code == ExitCode.FINDINGS
    assert caught(error.value) == {"rebalance_intervals: members_are_in_order"}
    assert '"consumer_group":"twins"' in str(error.value)
    assert {table.name: warehouse.version(spark, table) for table in OUTPUTS} == before
    for table in OUTPUTS:
        assert content(warehouse.read(spark, table)).hash == published.run["content_hashes"][table.name]
    last, first = warehouse.read(spark, AUDIT_RUNS).orderBy(F.desc("started_at")).limit(2).collect()
    assert (first.outcome, last.outcome, last.row_counts) == ("published", "rejected", {})
    assert last.message == str(error.value)
    failed = warehouse.read(spark, QUALITY_RESULTS).where(f"run_id = '{last.run_id}' AND NOT success").collect()
    assert [(row.table_name, row.expectation, row.severity) for row in failed] == [
        ("rebalance_intervals", "members_are_in_order", "critical")
    ]
