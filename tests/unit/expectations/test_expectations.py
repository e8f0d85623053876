"""Every expectation fails on rows that break it, alone, and holds on rows at its edge."""

from collections import Counter

import pytest

from expectations import SUITES, Suite
from tests.unit.expectations import (
    allocations,
    backlog,
    client_snapshots,
    coverage,
    findings,
    group_status,
    membership_snapshots,
    offset_snapshots,
    queue_progress,
    rebalance_intervals,
    route_snapshots,
    strategy_comparison,
    topic_snapshots,
)
from tests.unit.expectations.cases import Cases, broken_by_case

ALL = (
    membership_snapshots.CASES,
    route_snapshots.CASES,
    topic_snapshots.CASES,
    offset_snapshots.CASES,
    client_snapshots.CASES,
    rebalance_intervals.CASES,
    allocations.CASES,
    queue_progress.CASES,
    group_status.CASES,
    strategy_comparison.CASES,
    findings.CASES,
    coverage.CASES,
    backlog.CASES,
)


def test_every_suite_has_cases() -> None:
    assert {cases.suite.table.name for cases in ALL} == {suite.table.name for suite in SUITES}


@pytest.mark.parametrize("cases", ALL, ids=lambda cases: cases.suite.table.name)
def test_every_expectation_is_broken_alone_and_kept_at_its_edge(cases: Cases) -> None:
    assert set(cases.breaks) == cases.expectations
    assert all(cases.breaks.values())
    assert broken_by_case(cases) == {name: breaks for name, breaks, _ in cases.named()}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.table.name)
def test_names_of_a_suite_are_its_own(suite: Suite) -> None:
    assert [name for name, count in Counter(one.name for one in suite.expectations).items() if count > 1] == []
    assert "keys_are_unique" not in {one.name for one in suite.expectations}
