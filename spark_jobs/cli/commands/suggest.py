"""Suggest thresholds and strategies that the published rows of the last days show for each group, as YAML."""

import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from schemas import FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.cli.questions import opened
from spark_jobs.config import Configuration, audit_settings
from spark_jobs.domain.incidents.suggestions import LEAST, MARGIN, QUANTILE, Suggestion, suggestions
from spark_jobs.domain.incidents.trends import Group
from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.model.statuses import Verdict
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.phrases import count, printable
from spark_jobs.domain.rocketmq.strategies import STRATEGY_NAMES, Parameters, Resolved, StrategySource
from spark_jobs.domain.rules import consumer_lagging
from spark_jobs.domain.rules.rebalancing import REBALANCE_STORM
from spark_jobs.errors import ExitCode
from spark_jobs.show.rows import GROUP
from spark_jobs.show.trends import last_days
from spark_jobs.store.read.published import PublishedTables, Scope, published_tables
from spark_jobs.store.read.published_rows import published_findings
from spark_jobs.store.read.stored import Filter, StoredTables, tuples


def suggest_command(arguments: Namespace) -> int:
    """Exit code 0 also where nothing is suggested."""
    names = Scope(None, arguments.cluster, arguments.group)
    with opened(arguments) as warehouse:
        interval, suggestions = suggestions_of(
            warehouse.stored, names, arguments.days, warehouse.configuration, warehouse.progress
        )
    print(*suggestion_lines(interval, suggestions), sep="\n")
    return ExitCode.CLEAN


class GroupSuggestions(NamedTuple):
    """Suggested values for one group; None: too little of it was audited (microseconds). `strategy`: to configure."""

    cluster: str
    consumer_group: str
    audited: int
    suggestions: Sequence[Suggestion] | None
    strategy: Resolved | None = None


def suggestions_of(
    stored: StoredTables,
    names: Scope,
    days: int,
    configuration: Configuration,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Interval, list[GroupSuggestions]]:
    """The days that were read, and suggestions per group, by name. Raises `NothingPublishedError` for unknown names."""
    tables = published_tables(stored)
    interval = last_days(tables, names, days)
    scope = replace(names, interval=interval)
    progress("reading the findings")
    steps = _by_group(tables, GROUP_STATUS, ("step_start",), scope, [Filter("member_count", ">=", 0)])
    findings = [*published_findings(tables.read(FINDINGS, scope))]
    findings_per_group = by_key(findings, attrgetter("group"))
    progress("reading lags and rebalances")
    is_ok = [Filter("verdict", "=", Verdict.OK), _groups_with(consumer_lagging.RULE.name, findings)]
    lags = _by_group(tables, QUEUE_PROGRESS, ("lag_max",), scope, is_ok)
    is_rebalance = [Filter("queues_moved", ">=", 1), _groups_with(REBALANCE_STORM.name, findings)]
    moments = _by_group(tables, REBALANCE_INTERVALS, ("topic", "interval_start"), scope, is_rebalance)
    strategies = _observed(tables, scope)
    suggested = []
    for group, group_steps in sorted(steps.items()):
        audited = {to_micros(step) for (step,) in group_steps}
        length = len(audited) * (tables.grid.length // timedelta(microseconds=1))
        raised = None
        if length >= LEAST:
            raised = suggestions(
                sorted(audited),
                findings_per_group.get(group, []),
                [lag for (lag,) in lags.get(group, ())],
                {(topic, to_micros(at)) for topic, at in moments.get(group, ())},
                audit_settings(configuration, *group).thresholds,
            )
        suggested.append(GroupSuggestions(*group, length, raised, strategies.get(group)))
    return interval, suggested


def _observed(tables: PublishedTables, scope: Scope) -> dict[Group, Resolved]:
    """By group, the strategy that was observed last; none of groups whose members differ."""
    names = ("interval_start", "topic", "strategy", "strategy_alternatives", "observed_virtual_nodes", "observed_rooms")
    is_observed = [Filter("strategy_source", "=", StrategySource.OBSERVED)]
    rows = _by_group(tables, REBALANCE_INTERVALS, names, scope, is_observed)
    last = {group: max(of_group, key=itemgetter(0, 1))[2:] for group, of_group in rows.items()}
    return {
        group: Resolved(
            strategy,
            StrategySource.OBSERVED,
            Parameters(virtual_nodes, None if rooms is None else frozenset(rooms)),
            tuple(alternatives or ()),
        )
        for group, (strategy, alternatives, virtual_nodes, rooms) in last.items()
        if strategy in STRATEGY_NAMES
    }


def _groups_with(rule: str, findings: Iterable[PublishedFinding]) -> Filter:
    """Keeps the rows of groups that have a finding of the rule: most have none, and get no suggestion."""
    groups = {finding.consumer_group for finding in findings if finding.finding.rule == rule}
    return Filter("consumer_group", "IN", sorted(groups) or [""])


def _by_group(
    tables: PublishedTables, table: Table, columns: Sequence[str], scope: Scope, conditions: Sequence[Filter]
) -> dict[Group, list[tuple[Any, ...]]]:
    """The rows that meet all conditions, as tuples of the columns, by group."""
    rows_per_group = by_key(tuples(tables.read(table, scope, (*GROUP, *columns), conditions)), itemgetter(0, 1))
    return {group: [row[2:] for row in rows] for group, rows in rows_per_group.items()}


#: Of what 95 % stayed within the number.
_VALUES = {
    "allowed_lag": "the highest lags of queues that made progress",
    "skew_ratio": "steps, by the greatest ratio found",
    "storm_rebalances": "steps, by the most rebalances of a storm in storm_seconds",
    "flapping_times": "steps, by how often a member joined and left",
}
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")


def suggestion_lines(interval: Interval, groups: Iterable[GroupSuggestions]) -> Iterator[str]:
    """A complete YAML configuration: an entry of `groups` per group with suggestions; the other groups as comments."""
    all_groups = list(groups)
    suggested = [group for group in all_groups if group.suggestions or group.strategy]
    yield f"# Thresholds by what was found in {interval}: {QUANTILE:.0%} of a group's values stayed within a number;"
    yield f"# suggested is {MARGIN} times as much. Nothing is suggested that hides a queue whose consumer stopped."
    for group in all_groups:
        if group.suggestions is None:
            audited = f"{_span(group.audited)} audited, {_span(LEAST)} are needed"
            yield printable(f"# {group.cluster} {group.consumer_group}: no suggestion: {audited}")
    fine = sum(group.suggestions == [] for group in all_groups)
    yield f"# {count(fine, 'group')}: no threshold to raise"
    yield "groups:" if suggested else "groups: []"
    for group in suggested:
        yield f"  - cluster: {_pattern(group.cluster)}"
        yield f"    group: {_pattern(group.consumer_group)}"
        yield from _strategy_lines(group.strategy)
        if group.suggestions:
            yield "    thresholds:"
            yield from map(_line, group.suggestions)


def _strategy_lines(observed: Resolved | None) -> Iterator[str]:
    if observed is None:
        return
    also = f"; {' and '.join(observed.alternatives)} would explain them, too" if observed.alternatives else ""
    yield f"    strategy: {observed.strategy}  # as the queues that clients report show{also}"
    if observed.parameters.virtual_node_cnt is not None:
        yield f"    virtual_node_count: {observed.parameters.virtual_node_cnt}"
    if observed.parameters.rooms is not None:
        yield f"    rooms: {json.dumps(sorted(observed.parameters.rooms))}"


def _line(suggestion: Suggestion) -> str:
    reason = f"{QUANTILE:.0%} of {_VALUES[suggestion.key]}: up to {round(suggestion.usual, 2):.12g}"
    kept, dropped = suggestion.kept, suggestion.dropped
    would = f"would have kept {kept} and dropped {dropped} of {count(kept + dropped, 'finding')}"
    return f"      {suggestion.key}: {suggestion.value:.12g}  # {reason}; {would}"


def _span(micros: int) -> str:
    return duration_text(timedelta(microseconds=micros))


def _pattern(name: str) -> str:
    """A regular expression that matches exactly this name, quoted for YAML."""
    return json.dumps(_SPECIAL.sub(r"\\\g<0>", name))
