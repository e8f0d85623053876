"""Everything that is measured, in the order of the table."""

from __future__ import annotations

from benchmarks.measure import Measure
from benchmarks.measures import cluster, cost, growth, history, java, replay, start, storms, wide

MEASURES: tuple[Measure, ...] = (
    Measure("scan", "audit ÷ scan", 2.0, cost.audit_by_scan, of_fleet_day=True, is_quick=True),
    Measure("hash-loop", "audit ÷ Java's consistent hash", 0.05, java.hash_loop, of_fleet_day=True),
    Measure("avg-loop", "replay of states ÷ Java's AVG", 1.0, java.avg_loop, of_fleet_day=True),
    Measure("duckdb", "replay ÷ DuckDB", 1.0, replay.by_duckdb, of_fleet_day=True),
    Measure("history", "hour of 30 days ÷ hour of one", 1.1, history.month_by_day),
    Measure("groups", "10 × the groups, less start-up", 10.5, growth.ten_times, of_fleet_day=True),
    Measure("line", "largest residual of the line ÷ audit", None, growth.line),
    Measure("storm", "1,000 rebalances an hour, one group", 3.0, storms.one_group),
    Measure("storms", "1,000 an hour, 10 % of the groups", 3.0, storms.tenth_of_groups),
    Measure("wide", "2,000 members, 4,096 queues", 1.5, wide.worst_strategy),
    Measure("gate", "quality gate ÷ audit", 0.3, cost.gate_by_audit, of_fleet_day=True, is_quick=True),
    Measure("memory", "peak memory", 4.0, cost.peak_memory, unit="GiB", is_quick=True),
    Measure("help", "rebalance-audit --help", 0.5, start.help_text, unit="s", is_quick=True),
    Measure("empty", "a run over an empty step", 12.0, start.empty_step, unit="s"),
    Measure("cluster", "two workers ÷ local[2]", 1.25, cluster.workers_by_local),
    Measure("tests", "make test", 8.0, start.test_suite, unit="min", is_quick=True),
)
