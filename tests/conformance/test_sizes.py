"""Recommended sizes: no recording that ships refutes one when it is simulated with that many members."""

from datetime import timedelta
from pathlib import Path

import pytest

from schemas import FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.config.file import load
from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.domain.model.window import to_micros
from spark_jobs.errors import StrategyError
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.show.what_if import fleet_needs
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope
from spark_jobs.store.read.stored import rows
from spark_jobs.what_if.cases import Case, Change
from spark_jobs.what_if.outcome import CaseOutcome, compare
from spark_jobs.what_if.size import Goals, refuted, size
from tests.spark.recording.conftest import CONFIGURATION, EXAMPLE, ROOT
from tests.support.kernel import recorded_rows
from tests.support.recordings import recorded, write_warehouse

OTHERS = sorted((ROOT / "tests" / "data").rglob("*.jsonl.gz"))
RECORDINGS = (EXAMPLE, *(pytest.param(path, marks=pytest.mark.slow) for path in OTHERS))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_no_recommended_size_falls_behind(recording: Path, tmp_path: Path) -> None:
    interval, step_seconds = time_of(recording)
    # Field cases and others are recorded every 20 s: a state of the demo's 10 s would not last until the next.
    changed = {"step_seconds": step_seconds, "cadence_seconds": 10 if recording == EXAMPLE else 20}
    configured = load(CONFIGURATION).model_copy(update=changed)
    steps = {
        (group.cluster, group.consumer_group): steps_of(group, configured, interval) for group in recorded(recording)
    }
    published = tables([step for group_steps in steps.values() for step in group_steps])
    wanted = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)
    write_warehouse(tmp_path, {table: rows(published[table.name]) for table in wanted}, step_seconds)
    answer = fleet_needs(delta_tables(str(tmp_path)), Scope(interval), 0.7, 1.0, 0, lambda _: None)
    for *group, need in answer.needs:
        audited = [evaluated.step for evaluated in steps[group[0], group[1]]]
        strategy = strategy_settings(configured, *group)
        try:
            found = size(audited, Goals(), 1.0, strategy)
        except StrategyError:  # `what-if` ends with it, and recommends nothing
            assert need.needed is None
            continue
        if found is None:
            continue
        cases = [case_of(found.members)]
        if need.needed is not None:
            cases.append(case_of(need.needed))
        if need.reason is None and not refuted(audited, found, 1.0, strategy):
            sizes = [goal.group for goal in found.needs if goal.group]
            cases += [case_of(one.members, one.queues // found.queues) for one in sizes]
        compared = compare(audited, cases, strategy)
        assert compared is not None
        as_it_is, *recommended = compared.cases
        assert [case.label for case in recommended if falls_behind(case, as_it_is)] == [], group


def time_of(recording: Path) -> tuple[Interval, int]:
    """The whole steps that hold the recording, and their length: short, so that most of the time is observed."""
    moments = [row["captured_at"] for snapshots in recorded_rows(recording).values() for row in snapshots]
    first, last = min(moments), max(moments)
    length = timedelta(minutes=5 if last - first > timedelta(minutes=10) else 1)
    grid = StepGrid(length)
    return Interval(grid.floor(first), grid.floor(last) + length), int(length.total_seconds())


def steps_of(group: GroupHistory, configured: Configuration, interval: Interval) -> list[EvaluatedStep]:
    key = group.cluster, group.consumer_group
    settings, strategy = audit_settings(configured, *key), strategy_settings(configured, *key)
    return list(evaluate(group, strategy, settings, to_micros(interval.start), to_micros(interval.end)))


def case_of(members: int, times: int = 1) -> Case:
    return Case(f"{members} members", members=Change("=", members), queues=Change("x", times) if times > 1 else None)


def falls_behind(case: CaseOutcome, as_it_is: CaseOutcome) -> bool:
    """Beyond the model's error, which docs/what-if.md measures: 10 % of the peak, or 20 messages."""
    if case.last is None or as_it_is.last is None or case.at_most:
        return case.unassigned_queues > as_it_is.unassigned_queues
    return case.drained_after is None and case.last > as_it_is.last + max(20, 0.1 * (as_it_is.highest or 0))
