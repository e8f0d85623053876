"""Each rule of the domain, broken on purpose, is caught by the gate: by these expectations, and nothing is published.

One mutation is in the suite, as the run that is rejected; `make mutate` tries all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, QUALITY_RESULTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.attribution import Part
from spark_jobs.errors import ExitCode, QualityError
from spark_jobs.findings.finding import findings
from spark_jobs.jobs.run import RunRequest, run
from spark_jobs.publish.content import content
from spark_jobs.replay import java, ownership, strategies
from spark_jobs.replay.states import published_allocations, published_intervals
from spark_jobs.status import attribution, group_status
from spark_jobs.warehouse import Warehouse
from tests.snapshots import HOUR, load, membership, offsets, route

JOB = "spark_jobs.jobs.audit"
Mutate = Callable[[pytest.MonkeyPatch], None]


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


def off_by_one_in_avg(patch: pytest.MonkeyPatch) -> None:
    def one_too_many(rank: Column, queues: Column, clients: Column) -> Column:
        return F.floor(rank / (F.floor(queues / clients) + 2)).cast("int")

    shares = strategies._aligned(strategies._everywhere(strategies._dealt(one_too_many)))
    patch.setitem(strategies.SHARES, "AVG", shares)


def twins_take_a_share_each(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ownership, "_takers", lambda slot: F.array(slot["position"]))


def members_in_reverse(patch: pytest.MonkeyPatch) -> None:
    in_order = java.sorted_by
    patch.setattr("spark_jobs.replay.intervals.sorted_by", lambda *of, **how: F.reverse(in_order(*of, **how)))


def an_interval_is_dropped(patch: pytest.MonkeyPatch) -> None:
    left = F.col("interval_start") <= F.col("step_start")
    patch.setattr(f"{JOB}.published_intervals", lambda intervals: published_intervals(intervals).where(left))


def an_interval_is_too_long(patch: pytest.MonkeyPatch) -> None:
    def longer(intervals: DataFrame) -> DataFrame:
        return published_intervals(intervals).withColumn("interval_end", F.expr("interval_end + INTERVAL 1 SECOND"))

    patch.setattr(f"{JOB}.published_intervals", longer)


def a_queue_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(f"{JOB}.published_allocations", lambda owned: published_allocations(owned).where("queue_id <> 3"))


def stuck_owners_are_lost(patch: pytest.MonkeyPatch) -> None:
    parts = attribution.parts
    patch.setattr(attribution, "parts", lambda: parts() | {Part.STUCK_OWNER: F.lit(0)})


def the_end_is_the_beginning(patch: pytest.MonkeyPatch) -> None:
    backlogs = group_status.backlogs
    patch.setattr(
        group_status, "backlogs", lambda progress: backlogs(progress).withColumn("backlog_end", F.col("backlog_start"))
    )


def findings_leave_their_step(patch: pytest.MonkeyPatch) -> None:
    later = F.expr("end + INTERVAL 2 HOURS")
    patch.setattr(f"{JOB}.findings", lambda audited: findings(audited).withColumn("end", later))


class Mutation(NamedTuple):
    """What is broken, and which expectations fail: at least these."""

    breaks: Mutate
    caught_by: set[str]


MUTATIONS = [
    Mutation(off_by_one_in_avg, {"rebalance_intervals: even_strategies_are_even"}),
    Mutation(twins_take_a_share_each, {"rebalance_intervals: twins_leave_queues_to_nobody"}),
    Mutation(members_in_reverse, {"rebalance_intervals: members_are_in_order"}),
    Mutation(
        an_interval_is_dropped,
        {"rebalance_intervals: intervals_leave_no_hole", "allocations: interval_was_replayed"},
    ),
    Mutation(
        an_interval_is_too_long,
        {"rebalance_intervals: intervals_of_a_view_do_not_overlap", "allocations: interval_was_replayed"},
    ),
    Mutation(
        a_queue_is_forgotten,
        {"rebalance_intervals: every_readable_queue_is_allocated_once", "queue_progress: queue_is_allocated"},
    ),
    Mutation(stuck_owners_are_lost, {"group_status: parts_add_up_to_the_growth"}),
    Mutation(the_end_is_the_beginning, {"group_status: growth_is_end_less_start"}),
    Mutation(findings_leave_their_step, {"findings: span_is_inside_the_step"}),
]


def caught(error: QualityError) -> set[str]:
    return {line.partition(" failed")[0] for line in str(error).splitlines()[1:]}


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse.parse(str(tmp_path_factory.mktemp("mutations") / "warehouse"))
    history(spark, warehouse)
    return warehouse


@pytest.mark.mutation
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.breaks.__name__)
def test_every_mutation_is_caught(
    spark: SparkSession, recorded: Warehouse, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    mutation.breaks(monkeypatch)
    with pytest.raises(QualityError) as error:
        run(spark, recorded, RunRequest(HOUR), Configuration())
    print(mutation.breaks.__name__, sorted(caught(error.value)))
    assert caught(error.value) >= mutation.caught_by


def test_a_rejected_run_publishes_nothing_and_says_why(
    spark: SparkSession, recorded: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = run(spark, recorded, RunRequest(HOUR), Configuration())
    before = {table.name: recorded.version(spark, table) for table in OUTPUTS}
    twins_take_a_share_each(monkeypatch)
    with pytest.raises(QualityError) as error:
        run(spark, recorded, RunRequest(HOUR), Configuration())
    assert error.value.exit_code == ExitCode.FINDINGS
    assert caught(error.value) == {"rebalance_intervals: twins_leave_queues_to_nobody"}
    assert '"consumer_group":"twins"' in str(error.value)
    assert {table.name: recorded.version(spark, table) for table in OUTPUTS} == before
    for table in OUTPUTS:
        assert content(recorded.read(spark, table)).hash == published.run["content_hashes"][table.name]
    last, first = recorded.read(spark, AUDIT_RUNS).orderBy(F.desc("started_at")).limit(2).collect()
    assert (first.outcome, last.outcome, last.row_counts) == ("published", "rejected", {})
    assert last.message == str(error.value)
    failed = recorded.read(spark, QUALITY_RESULTS).where(f"run_id = '{last.run_id}' AND NOT success").collect()
    assert [(one.table_name, one.expectation, one.severity) for one in failed] == [
        ("rebalance_intervals", "twins_leave_queues_to_nobody", "critical")
    ]
