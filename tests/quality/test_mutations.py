"""What a rule of the domain could get wrong is caught by the gate: by these expectations, and nothing is published.

One mutation is in the suite, as the run that is rejected; `make mutate` tries all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import (
    ALLOCATIONS,
    AUDIT_RUNS,
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUALITY_RESULTS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
    Table,
)
from spark_jobs.config import Configuration
from spark_jobs.errors import ExitCode, QualityError
from spark_jobs.jobs.audit import audit
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.publish.content import content
from spark_jobs.warehouse import Warehouse
from tests.snapshots import HOUR, load, membership, offsets, route

#: Makes other outputs of the outputs of an audit.
Mutate = Callable[[Mapping[Table, DataFrame]], dict[Table, DataFrame]]


def history(spark: SparkSession, warehouse: Warehouse) -> None:
    """Healthy members of which one comes and goes, twins, and a group whose backlog grows: 7 queues each."""
    times = range(0, 3600, 20)
    rows: dict[Table, list[dict[str, Any]]] = {MEMBERSHIP_SNAPSHOTS: [], ROUTE_SNAPSHOTS: [], OFFSET_SNAPSHOTS: []}
    members = {"healthy": ("a", "b", "c"), "twins": ("a", "a", "b"), "slow": ("a", "b")}
    for second in times:
        rows[ROUTE_SNAPSHOTS].append(route(second, 7))
        for group, ids in members.items():
            present = ids[:2] if group == "healthy" and 1200 <= second < 2400 else ids
            rows[MEMBERSHIP_SNAPSHOTS].append(membership(second, *present, group=group))
            consumed = 100 + second // 2 if group == "slow" else 100 + second
            rows[OFFSET_SNAPSHOTS].append(offsets(second, *[(150 + second, consumed, 1)] * 7, group=group))
    load(spark, warehouse, rows)


def of(table: Table, change: Callable[[DataFrame], DataFrame]) -> Mutate:
    """One table is changed."""
    return lambda outputs: {one: change(frame) if one is table else frame for one, frame in outputs.items()}


def with_value(table: Table, name: str, value: str, where: str = "true") -> Mutate:
    """One column has another value in some rows."""
    changed = f"CASE WHEN {where} THEN {value} ELSE {name} END"
    return of(table, lambda frame: frame.withColumn(name, F.expr(changed)))


def without(table: Table, condition: str) -> Mutate:
    """Some rows are not there."""
    return of(table, lambda frame: frame.where(f"NOT ({condition})"))


def broken(monkeypatch: pytest.MonkeyPatch, mutate: Mutate) -> None:
    monkeypatch.setattr("spark_jobs.jobs.audit.audit", lambda *given: mutate(audit(*given)))


class Mutation(NamedTuple):
    """What is wrong in the outputs, and which expectations fail: at least these."""

    mutate: Mutate
    caught_by: set[str]


_REVERSED = with_value(REBALANCE_INTERVALS, "members", "reverse(members)", "consumer_group = 'twins'")
_LOST = (
    "transform(attribution, it -> named_struct('topic', it.topic, 'growth', it.growth, 'unassigned', it.unassigned, "
    "'stuck_owner', 0L, 'hand_over', it.hand_over, 'producer_surge', it.producer_surge, 'residual', it.residual))"
)
MUTATIONS = {
    "shares are not even": Mutation(
        with_value(REBALANCE_INTERVALS, "max_queues_per_member", "max_queues_per_member + 1"),
        {"rebalance_intervals: even_strategies_are_even"},
    ),
    "twins take a share each": Mutation(
        with_value(REBALANCE_INTERVALS, "unassigned_queues", "0", "consumer_group = 'twins'"),
        {
            "rebalance_intervals: twins_leave_queues_to_nobody",
            "rebalance_intervals: unassigned_queues_are_counted",
        },
    ),
    "members in reverse": Mutation(_REVERSED, {"rebalance_intervals: members_are_in_order"}),
    "an interval is dropped": Mutation(
        without(REBALANCE_INTERVALS, "interval_start > step_start"),
        {"rebalance_intervals: intervals_leave_no_hole", "allocations: interval_was_replayed"},
    ),
    "an interval is too long": Mutation(
        with_value(REBALANCE_INTERVALS, "interval_end", "interval_end + INTERVAL 1 SECOND"),
        {"rebalance_intervals: intervals_of_a_view_do_not_overlap", "allocations: interval_was_replayed"},
    ),
    "a queue is forgotten": Mutation(
        without(ALLOCATIONS, "queue_id = 3"),
        {"rebalance_intervals: every_readable_queue_is_allocated_once", "queue_progress: queue_is_allocated"},
    ),
    "stuck owners are lost": Mutation(
        with_value(GROUP_STATUS, "attribution", _LOST), {"group_status: parts_add_up_to_the_growth"}
    ),
    "the end is the beginning": Mutation(
        with_value(GROUP_STATUS, "backlog_end", "backlog_start"), {"group_status: growth_is_end_less_start"}
    ),
    "findings leave their step": Mutation(
        with_value(FINDINGS, "end", "end + INTERVAL 2 HOURS"), {"findings: span_is_inside_the_step"}
    ),
}


def caught(error: QualityError) -> set[str]:
    return {line.partition(" failed")[0] for line in str(error).splitlines()[1:]}


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("mutations") / "warehouse"))
    history(spark, warehouse)
    return warehouse


@pytest.mark.mutation
@pytest.mark.parametrize("name", MUTATIONS)
def test_every_mutation_is_caught(
    spark: SparkSession, recorded: Warehouse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mutation = MUTATIONS[name]
    broken(monkeypatch, mutation.mutate)
    with pytest.raises(QualityError) as error:
        run(spark, recorded, RunRequest(HOUR), Configuration())
    print(name, sorted(caught(error.value)))
    assert caught(error.value) >= mutation.caught_by


def test_a_rejected_run_publishes_nothing_and_says_why(
    spark: SparkSession, recorded: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = run(spark, recorded, RunRequest(HOUR), Configuration())
    before = {table.name: recorded.version(spark, table) for table in OUTPUTS}
    broken(monkeypatch, _REVERSED)
    with pytest.raises(QualityError) as error:
        run(spark, recorded, RunRequest(HOUR), Configuration())
    assert error.value.exit_code == ExitCode.FINDINGS
    assert caught(error.value) == {"rebalance_intervals: members_are_in_order"}
    assert '"consumer_group":"twins"' in str(error.value)
    assert {table.name: recorded.version(spark, table) for table in OUTPUTS} == before
    for table in OUTPUTS:
        assert content(recorded.read(spark, table)).hash == published.run["content_hashes"][table.name]
    last, first = recorded.read(spark, AUDIT_RUNS).orderBy(F.desc("started_at")).limit(2).collect()
    assert (first.outcome, last.outcome, last.row_counts) == ("published", "rejected", {})
    assert last.message == str(error.value)
    failed = recorded.read(spark, QUALITY_RESULTS).where(f"run_id = '{last.run_id}' AND NOT success").collect()
    assert [(one.table_name, one.expectation, one.severity) for one in failed] == [
        ("rebalance_intervals", "members_are_in_order", "critical")
    ]
