"""Expectations of the tables, one module each; this is the only list of their suites."""

from collections.abc import Mapping

from expectations import (
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
from expectations.suite import Suite
from schemas import Table

SUITES: tuple[Suite, ...] = (
    membership_snapshots.SUITE,
    route_snapshots.SUITE,
    topic_snapshots.SUITE,
    offset_snapshots.SUITE,
    client_snapshots.SUITE,
    rebalance_intervals.SUITE,
    allocations.SUITE,
    queue_progress.SUITE,
    group_status.SUITE,
    strategy_comparison.SUITE,
    findings.SUITE,
    coverage.SUITE,
    backlog.SUITE,
)
BY_TABLE: Mapping[Table, Suite] = {suite.table: suite for suite in SUITES}

__all__ = ["BY_TABLE", "SUITES", "Suite"]
