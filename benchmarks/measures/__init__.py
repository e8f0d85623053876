"""Everything that is measured, in the order of the table."""

from benchmarks.measure import Measure
from benchmarks.measures import before, cluster, commands, cost, growth, java, logs, wide, year

MEASURES: tuple[Measure, ...] = (
    Measure("warm", "recording's hour, warm ÷ before", 0.8, before.warm_hour),
    Measure("cold", "recording's hour, cold ÷ before", 0.8, before.cold_hour),
    Measure("empty", "empty step, cold ÷ before", 0.8, before.empty_step),
    Measure("fleet", "fleet-day ÷ before", None, before.fleet_day, of_fleet_day=True),
    Measure("scan", "fleet-day ÷ scan", 5.0, cost.audit_by_scan, of_fleet_day=True, is_quick=True),
    Measure("hash-loop", "fleet-day ÷ Java's consistent hash", 0.12, java.hash_loop, of_fleet_day=True),
    Measure("duckdb", "snapshots to progress ÷ DuckDB", 3.0, cost.by_duckdb, of_fleet_day=True),
    Measure("gate", "gate ÷ audit", 0.2, cost.gate_by_audit, of_fleet_day=True, is_quick=True),
    Measure("strategies", "strategy_comparison ÷ audit", 0.1, cost.strategies_by_audit, of_fleet_day=True),
    Measure("backlog", "rows of backlog ÷ audit", 0.03, cost.backlog_by_audit, of_fleet_day=True),
    Measure("inference", "strategies inferred ÷ audit", 0.03, cost.inference_by_audit, of_fleet_day=True),
    Measure("memory", "peak memory", 3.6, cost.peak_memory, unit="GiB", is_quick=True),
    Measure("wide", "2,000 members × 4,096 queues ÷ 500 groups", 1.5, wide.worst_strategy),
    Measure("storms", "1,000 an hour, 10 % of the groups", 3.0, growth.storms),
    Measure("cluster", "two workers ÷ local[2]", 1.25, cluster.workers_by_local),
    Measure("history", "hour of 30 days ÷ hour of one", 1.1, growth.month_by_day),
    Measure("sightings", "hour with a week of sightings ÷ without", 1.1, growth.with_sightings),
    Measure("small", "what 12 hours cost whatever the groups", 10.0, growth.fixed_part, unit="s"),
    Measure("groups", "10 × the groups, less start-up", 10.5, growth.ten_times, of_fleet_day=True),
    Measure("year-run", "incidents of a run, old ÷ a day", 1.2, year.incidents_of_run),
    Measure("year-status", "status, old ÷ a day", 1.2, year.status),
    Measure("year-incidents", "incidents --last 1h, old ÷ a day", 1.2, year.incidents),
    Measure("year-metrics", "metrics, old ÷ a day", 1.2, year.metrics),
    Measure("year-missing", "runs --missing, old ÷ a day", 1.2, year.missing),
    Measure("year-notify", "notify --dry-run, old ÷ a day", 1.2, year.notify),
    Measure("logs-cores", "200 MB of logs, two cores ÷ one", 0.7, logs.two_cores),
    Measure("logs-linear", "200 MB of logs ÷ 50 MB", 4.4, logs.linear),
    Measure("status", "rebalance-audit status", 1.5, commands.status, unit="s"),
    Measure("explain", "rebalance-audit explain", 1.5, commands.explain, unit="s"),
    Measure("report", "rebalance-audit report", 3.0, commands.report, unit="s"),
    Measure("help", "rebalance-audit --help", 0.5, commands.help_text, unit="s", is_quick=True),
    Measure("tests", "make test", 6.0, commands.test_suite, unit="min", is_quick=True),
)
