"""Simulates changes of one group on its recorded history, whose snapshots are read as its newest run did; and how many
members groups need, and whether enough of them was recorded to know it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from schemas import CLIENT_SNAPSHOTS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.evaluate import audited_step
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RETRY, GroupHistory
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.domain.phrases import backlog_bound, count, number_text, short_repr
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules import unobserved
from spark_jobs.errors import NothingPublishedError
from spark_jobs.pipeline.gather.checked import checked
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.without_spark import gathered
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.show.coverage import observed_parts
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.rows import GROUP
from spark_jobs.show.tabular import framed
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.published import (
    PublishedTables,
    Scope,
    check_group,
    check_names,
    published_tables,
    run_of_step,
)
from spark_jobs.store.read.stored import Filter, StoredTables, tuples
from spark_jobs.what_if.cases import Case, with_new_room
from spark_jobs.what_if.outcome import CaseOutcome, Comparison, compare
from spark_jobs.what_if.plan import Plan, PlannedSize, plan
from spark_jobs.what_if.rollout import RolloutComparison, other_orders
from spark_jobs.what_if.size import (
    FleetNeed,
    Goals,
    PublishedStep,
    Size,
    SizeVerdict,
    fleet_need,
    refuted,
    size,
    why_no_verdict,
)

Say = Callable[[str], None]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class GroupSteps:
    """The audited steps of one group to simulate, and how its strategy was configured. `backlog_max`: the most messages
    of all its topics at one moment of these steps, as published; None: not known of each. `advice`: what the audit
    answered about more consumers in the last one.
    """

    cluster: str
    consumer_group: str
    interval: Interval
    steps: Sequence[AuditedStep] = field(repr=False)
    configured: StrategySettings
    backlog_max: int | None = None
    advice: str | None = None

    def __str__(self) -> str:
        return f"{self.consumer_group} in {self.interval}"

    @property
    def is_filtered(self) -> bool:
        """Return whether the group subscribes to only some messages of a topic."""
        return any(progress.is_filtered for step in self.steps for progress in step.progress)


@dataclass(frozen=True)
class WhatIf:
    """A group's history, as recorded and as simulated: `comparison` has the outcomes, `group` what they are made of."""

    group: GroupSteps
    comparison: Comparison

    @property
    def recorded(self) -> CaseOutcome:
        """The outcome that really happened."""
        return self.comparison.recorded

    @property
    def cases(self) -> Sequence[CaseOutcome]:
        """The outcomes that would have been, in the order in which the cases were given."""
        return self.comparison.cases

    def page(self) -> str:
        """The backlogs over each other, as a page of HTML."""
        from spark_jobs.show.page.page import what_if_page

        return what_if_page(self.group.consumer_group, self.group.interval, self.comparison)

    def __str__(self) -> str:
        return "\n".join([f"{self.group} (UTC)", *map(_case_text, (self.recorded, *self.cases))])

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        return framed(self.page())


@dataclass(frozen=True)
class GroupPlan:
    """The group as it was at last, with fewer and more members."""

    group: GroupSteps
    plan: Plan

    def __str__(self) -> str:
        at = format_utc(from_micros(self.plan.at))
        return "\n".join([f"{self.group.consumer_group} as it was at {at}", *map(_planned_text, self.plan.sizes)])

    __repr__ = short_repr


@dataclass(frozen=True)
class GroupRollout:
    """The group's last rollout, as it was and in other orders."""

    group: GroupSteps
    comparison: RolloutComparison

    def __str__(self) -> str:
        outcomes = (f"{each.order}: {count(each.queues_moved, 'queue')} moved" for each in self.comparison.outcomes)
        return "\n".join([f"{self.group} (UTC)", *outcomes])

    __repr__ = short_repr


@dataclass(frozen=True)
class GroupSize:
    """How many members a group needs for each goal."""

    group: GroupSteps
    size: Size

    def __str__(self) -> str:
        had = f"{count(self.size.members, 'member')}, {count(self.size.queues, 'queue')}"
        none = "no number of members is enough"
        needs = (
            f"{need.goal} {need.wanted:g}: {count(need.group.members, 'member') if need.group else none}"
            for need in self.size.needs
        )
        return "\n".join([f"{self.group} (UTC): {had}", *needs])

    __repr__ = short_repr


@dataclass(frozen=True)
class FleetSize:
    """How many members every group needs: (cluster, group, need), the worst verdict first."""

    interval: Interval
    needs: Sequence[tuple[str, str, FleetNeed]]

    def __str__(self) -> str:
        rows = (
            f"{cluster} {group}: {need.verdict}, members {number_text(need.members)}, needed {number_text(need.needed)}"
            for cluster, group, need in self.needs
        )
        return "\n".join([f"{count(len(self.needs), 'group')} in {self.interval} (UTC)", *rows])

    __repr__ = short_repr


def _case_text(outcome: CaseOutcome) -> str:
    highest, last = (backlog_bound(messages, at_most=outcome.at_most) for messages in (outcome.highest, outcome.last))
    queues = f"{outcome.unassigned_queues:.1f} queues without owner, {outcome.double_owned_queues:.1f} owned twice"
    return f"{outcome.label}: highest backlog {highest}, last {last}, {queues}"


def _planned_text(planned: PlannedSize) -> str:
    queues = f"{planned.unassigned_queues} queues without owner, {planned.double_owned_queues} owned twice"
    return f"{planned.change:+}: {count(len(planned.members), 'member')}, {planned.idle} idle, {queues}"


def what_if(stored: StoredTables, scope: Scope, cases: Sequence[Case], say: Say) -> WhatIf:
    """Compares every case with what really happened; raises `NothingPublishedError` where no step was replayed."""
    group = group_steps(stored, scope, say)
    say("simulating the cases")
    return WhatIf(group, known(group, compare(group.steps, cases, group.configured)))


def planned(stored: StoredTables, scope: Scope, change: int, say: Say) -> GroupPlan:
    """The plan for the group as it was last, with up to `change` members less and more; raises as `what_if`."""
    group = group_steps(stored, scope, say)
    return GroupPlan(group, known(group, plan(group.steps, change, group.configured)))


def rollout(stored: StoredTables, scope: Scope, orders: Sequence[str], say: Say) -> GroupRollout:
    """The group's last rollout in other orders; raises `NothingPublishedError` if there was none."""
    group = group_steps(stored, scope, say)
    compared = other_orders(group.steps, orders, group.configured)
    if compared is None:
        raise NothingPublishedError(
            f"{group.consumer_group} had no rollout in {group.interval}: name the time of one with --interval, as "
            "`rebalance-audit incidents --rule ROLLOUT` shows it"
        )
    return GroupRollout(group, compared)


def known(group: GroupSteps, answer: _Answer | None) -> _Answer:
    """The answer; raises `NothingPublishedError` without one: no step was replayed."""
    if answer is not None:
        return answer
    raise NothingPublishedError(
        f"{group.consumer_group} cannot be simulated in {group.interval}: the owners of the queues were never known "
        "for any topic. `rebalance-audit explain` says why"
    )


def group_steps(stored: StoredTables, scope: Scope, say: Say) -> GroupSteps:
    """Replays the group's steps from its snapshots, with the table versions and configuration of the newest run.

    The scope names the group; without an interval its newest step counts.
    """
    say("looking for the group")
    tables = published_tables(stored)
    interval, key = scope.interval, check_group(tables, scope)
    if interval is None:
        newest = next(group.last_step for group in tables.groups() if (group.cluster, group.consumer_group) == key)
        interval = Interval(newest, newest + tables.grid.length)
    tables.grid.check_whole_steps(interval)
    last_step = Interval(interval.end - tables.grid.length, interval.end)
    run = run_of_step(stored, last_step, *key)
    if run is None:
        raise NothingPublishedError(f"{key[1]} was never audited with all its topics in {last_step}: run it")
    configuration = Configuration.model_validate_json(run["configuration"])
    settings, configured = audit_settings(configuration, *key), strategy_settings(configuration, *key)
    say("reading its snapshots")
    history = _history(stored, run["source_versions"], key, RunSpec(interval), configuration)
    replays = Replays(configured)
    starts = range(to_micros(interval.start), to_micros(interval.end), settings.step)
    steps = [audited_step(history, replays, settings, start) for start in starts]
    published = tables.read(GROUP_STATUS, Scope(interval, *key), ["step_start", "backlog_max", "advice"])
    backlogs, advice = published["backlog_max"], published.sort_by("step_start")["advice"].to_pylist()
    highest = None if backlogs.null_count else pc.max(backlogs).as_py()
    return GroupSteps(*key, interval, steps, with_new_room(configured, steps), highest, advice[-1] if advice else None)


def _history(
    stored: StoredTables,
    versions: Mapping[str, int],
    key: tuple[str, str],
    spec: RunSpec,
    configuration: Configuration,
) -> GroupHistory:
    """The history of one group as such an audit of these table versions has it, of all its topics but retry topics."""
    (cluster, group), checks = key, spec.check_settings(configuration)
    during = (Filter("captured_at", ">=", checks.read_start), Filter("captured_at", "<", checks.read_end))

    def read(table: Table, condition: Filter) -> pa.Table:
        """The rows that meet the condition; none where the run did not read the table."""
        if table.name not in versions:
            return arrow_schema(table).empty_table()
        conditions = (Filter("cluster", "=", cluster), condition, *during)
        return stored.read(table, table.columns, conditions, versions[table.name])

    is_group = Filter("consumer_group", "=", group)
    members = read(MEMBERSHIP_SNAPSHOTS, Filter("consumer_group", "IN", [group, PROXIES_GROUP]))
    clients, offsets = read(CLIENT_SNAPSHOTS, is_group), read(OFFSET_SNAPSHOTS, is_group)
    offsets = offsets.filter(pc.invert(pc.starts_with(offsets["topic"], RETRY)))
    group_members = members.filter(pc.equal(members["consumer_group"], group))
    topics = {*_subscribed(group_members), *_subscribed(clients), *offsets["topic"].to_pylist()}
    routed = sorted(topic for topic in topics if not topic.startswith(RETRY))
    snapshots = {
        MEMBERSHIP_SNAPSHOTS: members,
        CLIENT_SNAPSHOTS: clients,
        OFFSET_SNAPSHOTS: offsets,
        ROUTE_SNAPSHOTS: read(ROUTE_SNAPSHOTS, Filter("topic", "IN", routed)),
    }
    usable = checked(*gathered(snapshots), settings=checks)
    by_group = {history.consumer_group: history for history in histories(usable.states, usable.samples)}
    return by_group.get(group, GroupHistory(cluster, group))


def _subscribed(snapshots: pa.Table) -> set[str]:
    """The topics of the `subscriptions` of all rows."""
    topics = pc.struct_field(pc.list_flatten(snapshots["subscriptions"]), "topic")
    return {topic for topic in pc.unique(topics).to_pylist() if topic is not None}


def sized(stored: StoredTables, scope: Scope, goals: Goals, load: float, say: Say) -> GroupSize:
    """How many members the group would have needed, with `load` times the messages; raises as `what_if`."""
    group = group_steps(stored, scope, say)
    say("trying group sizes")
    needed = known(group, size(group.steps, goals, load, group.configured))
    tables, names = published_tables(stored), Scope(group.interval, group.cluster, group.consumer_group)
    share = observed_parts(tables, group.interval, names).get((group.cluster, group.consumer_group), 0.0)
    open_rules = _open_rules(tables, names, group.interval)[group.cluster, group.consumer_group]
    reason = why_no_verdict(share, open_rules) or refuted(group.steps, needed, load, group.configured)
    return GroupSize(group, replace(needed, observed_share=share, reason=reason))


def fleet_needs(stored: StoredTables, scope: Scope, wanted: float, load: float, spare: int, say: Say) -> FleetSize:
    """The needs of all groups, or of a cluster's. Raises `NothingPublishedError`."""
    say("reading how busy the groups were")
    tables = published_tables(stored)
    interval = tables.steps(scope.interval or tables.last(tables.grid.length))
    names = replace(scope, interval=interval)
    check_names(tables, names)
    published = tables.read(GROUP_STATUS, names, [*GROUP, *PublishedStep._fields])
    shares, open_rules = observed_parts(tables, interval, names), _open_rules(tables, names, interval)
    needs = []
    for group, rows in by_key(tuples(published), itemgetter(0, 1)).items():
        share = shares.get(group, 0.0)
        need = fleet_need([PublishedStep(*step) for _, _, *step in rows], wanted, load, spare)
        if reason := why_no_verdict(share, open_rules[group]):
            need = need._replace(verdict=SizeVerdict.UNKNOWN, needed=None, reason=reason)
        needs.append((*group, need._replace(observed_share=share)))
    order = list(SizeVerdict)
    needs.sort(key=lambda need: (order.index(need[2].verdict), -(need[2].busiest or 0), *need[:2]))
    return FleetSize(interval, needs)


def _open_rules(tables: PublishedTables, names: Scope, interval: Interval) -> Mapping[tuple[str, str], set[str]]:
    """By group the rules of its incidents above INFO that are open at the end of the interval. How much was observed
    is known otherwise.
    """
    end = to_micros(interval.end)
    rules = defaultdict[tuple[str, str], set[str]](set)
    for incident in published_incidents(tables, IncidentQuery(interval, names.cluster, names.consumer_group)):
        is_wrong = incident.severity != INFO and incident.rule != unobserved.RULE.name
        if is_wrong and (incident.resolved_at is None or incident.resolved_at > end):
            for consumer_group in incident.consumer_groups:
                rules[incident.cluster, consumer_group].add(incident.rule)
    return rules
