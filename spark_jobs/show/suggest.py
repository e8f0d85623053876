"""Reads what was published of the last days, and suggests thresholds for each group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any

from schemas import FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration, audit_settings
from spark_jobs.domain.incidents.suggestions import LEAST, GroupPast, GroupSuggestions, suggestions
from spark_jobs.domain.incidents.trends import Group
from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.kernel.verdicts import Verdict
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.rules import consumer_lagging, rebalance_storm
from spark_jobs.show.trends import TrendQuery, last_days
from spark_jobs.store.read.finding_rows import published_findings
from spark_jobs.store.read.published import PublishedTables, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

_GROUP = ("cluster", "consumer_group")


def suggestions_of(
    stored: StoredTables,
    query: TrendQuery,
    configuration: Configuration,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Interval, list[GroupSuggestions]]:
    """The days that were looked at, and every group in them by name; a step counts in which the group was replayed.

    Raises `NothingPublishedError` for names that nobody has.
    """
    tables = published_tables(stored)
    interval = last_days(tables, query)
    progress("reading the findings")
    steps = _by_group(tables, GROUP_STATUS, ("step_start",), interval, query, [Filter("members", ">=", 0)])
    findings: dict[Group, list[PublishedFinding]] = defaultdict(list)
    for one in published_findings(tables.read(FINDINGS, interval, None, query.cluster, query.consumer_group)):
        findings[one.group].append(one)
    progress("reading lags and rebalances")
    is_ok = [Filter("verdict", "=", Verdict.OK), _of(consumer_lagging.NAME, findings)]
    lags = _by_group(tables, QUEUE_PROGRESS, ("lag_max",), interval, query, is_ok)
    is_rebalance = [Filter("queues_moved", ">=", 1), _of(rebalance_storm.NAME, findings)]
    moments = _by_group(tables, REBALANCE_INTERVALS, ("topic", "interval_start"), interval, query, is_rebalance)
    found = []
    for group, of_group in sorted(steps.items()):
        audited = {to_micros(step) for (step,) in of_group}
        past = GroupPast(
            steps=sorted(audited),
            findings=findings[group],
            lags=[lag for (lag,) in lags[group]],
            rebalances={(topic, to_micros(at)) for topic, at in moments[group]},
        )
        length = len(audited) * (tables.grid.length // timedelta(microseconds=1))
        thresholds = audit_settings(configuration, *group).thresholds
        found.append(GroupSuggestions(*group, length, suggestions(past, thresholds) if length >= LEAST else None))
    return interval, found


def _of(rule: str, findings: dict[Group, list[PublishedFinding]]) -> Filter:
    """Only groups in which the rule found something: of the others there are many, and nothing is suggested."""
    return Filter(
        "consumer_group", "IN", [group for (_, group), every in findings.items() if _has(rule, every)] or [""]
    )


def _has(rule: str, findings: Iterable[PublishedFinding]) -> bool:
    return any(one.finding.rule == rule for one in findings)


def _by_group(
    tables: PublishedTables,
    table: Table,
    columns: Sequence[str],
    interval: Interval,
    query: TrendQuery,
    keep: Sequence[Filter],
) -> dict[Group, list[tuple[Any, ...]]]:
    """The rows that keep all conditions, by group."""
    found: dict[Group, list[tuple[Any, ...]]] = defaultdict(list)
    read = tables.read(table, interval, (*_GROUP, *columns), query.cluster, query.consumer_group, keep)
    for cluster, group, *values in tuples(read):
        found[cluster, group].append(tuple(values))
    return found
