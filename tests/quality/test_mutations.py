"""A row that is broken after the kernel and before the check is caught, by every expectation; nothing is published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations import BY_TABLE
from expectations.suite import KEYS_ARE_UNIQUE
from schemas import (
    ALLOCATIONS,
    AUDIT_RUNS,
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
    STRATEGY_COMPARISON,
    Table,
)
from spark_jobs.config import Configuration
from spark_jobs.domain.judge import JudgedStep
from spark_jobs.errors import ExitCode, QualityError
from spark_jobs.pipeline.gather import judged as judged_module
from spark_jobs.pipeline.gather.rows import tables
from spark_jobs.pipeline.publish.content import content
from spark_jobs.pipeline.quality.facts import BROKEN, by_name, facts_of_outputs
from spark_jobs.pipeline.run import RunRequest, run
from spark_jobs.store.warehouse import Warehouse
from tests.expectations.cases import SETTINGS
from tests.kernel import judged
from tests.snapshots import HOUR, load, membership, offsets, route

Row = dict[str, Any]
#: Makes a wrong row of a right one.
Change = Callable[[Row], Row]
Where = Callable[[Row], bool]


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


def always(_: Row) -> bool:
    return True


def of_group(name: str) -> Where:
    return lambda row: row["consumer_group"] == name


def is_replayed(row: Row) -> bool:
    return bool(row["status"] == "REPLAYED")


def set_to(**values: Any) -> Change:
    return lambda row: row | values


def more(name: str, by: Any) -> Change:
    return lambda row: row | {name: row[name] + by}


def without_cause(row: Row) -> Row:
    return row | {"unassigned_cause": None, "double_owned_cause": None}


def first_queue(**values: Any) -> Change:
    def change(row: Row) -> Row:
        first, *others = row["evidence"]["queues"]
        return row | {"evidence": row["evidence"] | {"queues": [first | values, *others]}}

    return change


def has_queues(row: Row) -> bool:
    queues = row["evidence"]["queues"] or ()
    return any(one["role"] in ("UNASSIGNED", "DOUBLE_OWNED") for one in queues)


def owned_by(count: int) -> Where:
    return lambda row: len(row["owners"]) == count


def in_evidence(**values: Any) -> Change:
    return lambda row: row | {"evidence": row["evidence"] | values}


def in_attribution(**values: Any) -> Change:
    return lambda row: row | {"attribution": [row["attribution"][0] | values, *row["attribution"][1:]]}


def twice(name: str) -> Change:
    return lambda row: row | {name: [*row[name], row[name][0]]}


def reverse(name: str) -> Change:
    return lambda row: row | {name: row[name][::-1]}


SECOND = timedelta(seconds=1)
#: By table and expectation: which row is changed (the first of them), and what becomes of it.
MUTATIONS: Mapping[Table, Mapping[str, tuple[Where, Change]]] = {
    REBALANCE_INTERVALS: {
        "intervals_of_a_view_do_not_overlap": (of_group("healthy"), more("interval_end", SECOND)),
        "intervals_leave_no_hole": (of_group("healthy"), more("interval_end", -SECOND)),
        "status_is_known": (is_replayed, set_to(status="ODD")),
        "reason_is_known": (is_replayed, set_to(reason="NO_ROUTE")),
        "strategy_source_is_known": (is_replayed, set_to(strategy_source="ODD")),
        "trigger_is_known": (is_replayed, set_to(trigger="ODD")),
        "every_readable_queue_is_allocated_once": (is_replayed, more("queue_count", 1)),
        "unassigned_queues_are_counted": (of_group("twins"), set_to(unassigned_queues=0)),
        "double_owned_queues_are_counted": (of_group("twins"), set_to(double_owned_queues=1)),
        "shares_add_up": (is_replayed, set_to(min_queues_per_member=7)),
        "even_strategies_are_even": (of_group("slow"), more("max_queues_per_member", 1)),
        "even_strategies_leave_nothing": (of_group("slow"), set_to(unassigned_queues=1)),
        "nothing_is_owned_twice_without_a_reason": (of_group("slow"), set_to(double_owned_queues=1)),
        "twins_leave_queues_to_nobody": (of_group("twins"), set_to(unassigned_queues=0)),
        "members_are_counted": (is_replayed, more("member_count", 1)),
        "members_are_in_order": (of_group("twins"), reverse("members")),
        "queues_are_in_order": (is_replayed, reverse("queues")),
        "moves_are_possible": (lambda row: bool(row["queues_moved"]), set_to(least_moves=8)),
    },
    ALLOCATIONS: {
        "interval_was_replayed": (always, more("interval_end", SECOND)),
        "unassigned_has_a_cause": (owned_by(0), without_cause),
        "double_owned_has_a_cause": (owned_by(2), without_cause),
        "causes_are_known": (owned_by(0), set_to(unassigned_cause="ODD")),
        "unreadable_is_nobodys": (owned_by(1), set_to(readable=False)),
        "owners_are_connections": (owned_by(1), twice("owners")),
        "queue_ids_are_0_to_65535": (always, set_to(queue_id=65536)),
    },
    QUEUE_PROGRESS: {
        "queue_is_allocated": (always, set_to(queue_id=7)),
        "verdict_is_known": (always, set_to(verdict="ODD")),
        "unknown_stays_unknown": (always, set_to(lag_last=None)),
        "messages_are_not_negative": (always, set_to(produced=-1)),
        "greatest_lag_is_the_greatest": (always, set_to(lag_max=0)),
        "what_came_less_what_went_is_what_is_left": (
            lambda row: row["consumer_group"] == "healthy" and row["interval_start"] > row["step_start"],
            more("produced", 1),
        ),
    },
    GROUP_STATUS: {
        "findings_are_counted": (always, more("finding_count", 1)),
        "worst_severity_is_the_worst": (of_group("twins"), set_to(worst_severity="INFO")),
        "limit_is_known": (always, set_to(limit="ODD")),
        "every_queue_is_counted": (always, more("queues", 1)),
        "members_are_counted": (always, set_to(idle_members=4)),
        "parts_add_up_to_the_growth": (of_group("slow"), in_attribution(stuck_owner=1)),
        "growth_is_end_less_start": (of_group("slow"), more("backlog_end", 1)),
        "messages_are_not_negative": (always, set_to(in_rate=-1.0)),
        "utilisation_is_known_or_not": (always, set_to(headroom=1.0)),
        "utilisation_is_not_negative": (always, set_to(utilisation=2.0, busiest_utilisation=1.0)),
        "busiest_limit_is_known": (always, set_to(busiest_limit="ODD")),
        "time_left_is_not_negative": (always, set_to(retention_left_seconds=-1.0)),
    },
    STRATEGY_COMPARISON: {
        "strategy_can_be_replayed": (always, set_to(strategy="ODD")),
        "queues_are_counted": (always, set_to(unassigned_queues=8)),
        "share_is_possible": (always, set_to(largest_share=-1)),
        "moves_are_possible": (always, set_to(least_moves=8)),
    },
    FINDINGS: {
        "span_is_inside_the_step": (always, more("end", timedelta(hours=2))),
        "rule_is_known": (always, set_to(rule="ODD")),
        "severity_is_known": (always, set_to(severity="FATAL")),
        "cause_is_known": (always, set_to(cause="ODD")),
        "group_was_audited": (has_queues, set_to(consumer_group="another")),
        "topic_was_audited": (has_queues, set_to(topic="another")),
        "queues_are_allocated": (has_queues, first_queue(queue_id=7, role="UNASSIGNED")),
        "root_is_a_root": (always, set_to(root_finding_id="nowhere")),
        "evidence_is_not_negative": (always, in_evidence(backlog_max=-1)),
        "backlog_balances": (has_queues, first_queue(backlog_start=1, produced=5, consumed=0, backlog_end=1)),
    },
}


@pytest.fixture(scope="module")
def written() -> dict[str, pa.Table]:
    """The rows of all groups, as they would be written."""
    return tables(judged(history(), HOUR))


def broken_in(rows: Mapping[str, pa.Table]) -> set[tuple[str, str]]:
    """Table and name of every expectation that is broken."""
    found = ((one, by_name(suite, one)) for one in facts_of_outputs(rows, SETTINGS) for suite in [_suite(one)])
    return {(one.table_name, name) for one, named in found for name, count in named[BROKEN].items() if count}


def _suite(fact: Any) -> Any:
    return next(suite for table, suite in BY_TABLE.items() if table.name == fact.table_name)


def test_every_expectation_of_the_outputs_has_a_mutation(written: Mapping[str, pa.Table]) -> None:
    assert {table: set(of_table) for table, of_table in MUTATIONS.items()} == {
        table: {one.name for one in BY_TABLE[table].expectations} for table in OUTPUTS
    }
    assert broken_in(written) == set()


@pytest.mark.parametrize(("table", "name"), [(table, name) for table, several in MUTATIONS.items() for name in several])
def test_a_broken_row_is_caught(written: Mapping[str, pa.Table], table: Table, name: str) -> None:
    where, change = MUTATIONS[table][name]
    rows = written[table.name].to_pylist()
    place = next(place for place, row in enumerate(rows) if where(row))
    rows[place] = change(rows[place])
    assert (table.name, name) in broken_in(_with(written, table, rows))


@pytest.mark.parametrize("table", OUTPUTS, ids=lambda table: table.name)
def test_a_row_that_is_there_twice_is_caught(written: Mapping[str, pa.Table], table: Table) -> None:
    """An interval that is there twice overlaps itself: only rows that keep the other rules have a key twice."""
    rows = written[table.name].to_pylist()
    name = "intervals_of_a_view_do_not_overlap" if table is REBALANCE_INTERVALS else KEYS_ARE_UNIQUE.name
    assert (table.name, name) in broken_in(_with(written, table, [*rows, rows[-1]]))


def _with(written: Mapping[str, pa.Table], table: Table, rows: Sequence[Row]) -> dict[str, pa.Table]:
    return {**written, table.name: pa.Table.from_pylist(list(rows), written[table.name].schema)}


def caught(error: QualityError) -> set[str]:
    return {line.partition(" failed")[0] for line in str(error).splitlines()[1:]}


def break_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Arrow function lists the members of `twins` the other way round."""
    really = judged_module._judged

    def broken(*given: Any, **named: Any) -> pa.Table:
        def rows_in_reverse(steps: Sequence[JudgedStep], topic: str | None = None) -> dict[str, pa.Table]:
            written = tables(steps, topic)
            rows = written[REBALANCE_INTERVALS.name].to_pylist()
            changed = [reverse("members")(row) if row["consumer_group"] == "twins" else row for row in rows]
            return _with(written, REBALANCE_INTERVALS, changed)

        # Of the function's own copy, which the worker was given.
        really.__globals__["tables"] = rows_in_reverse
        return really(*given, **named)

    monkeypatch.setattr(judged_module, "_judged", broken)


def test_a_rejected_run_publishes_nothing_and_says_why(
    spark: SparkSession, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(spark, warehouse, history())
    published = run(spark, warehouse, RunRequest(HOUR), Configuration())
    before = {table.name: warehouse.version(spark, table) for table in OUTPUTS}
    break_rows(monkeypatch)
    with pytest.raises(QualityError) as error:
        run(spark, warehouse, RunRequest(HOUR), Configuration())
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
    assert [(one.table_name, one.expectation, one.severity) for one in failed] == [
        ("rebalance_intervals", "members_are_in_order", "critical")
    ]
