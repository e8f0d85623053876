"""Simulates changes of one group on its recorded history: reads its snapshots as its newest run did, compares cases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from schemas import CLIENT_SNAPSHOTS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.evaluate import audited_step
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import RETRY, GroupHistory
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.errors import NothingPublishedError
from spark_jobs.pipeline.gather.checked import Checked, checked
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.without_spark import gathered
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.published import Scope, check_group, published_tables, run_of_step
from spark_jobs.store.read.stored import Filter, StoredTables
from spark_jobs.what_if.cases import Case, with_new_room
from spark_jobs.what_if.outcome import Comparison, compare
from spark_jobs.what_if.plan import Plan, plan
from spark_jobs.what_if.rollout import RolloutComparison, other_orders

Say = Callable[[str], None]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class GroupSteps:
    """The audited steps of one group to simulate, and how its strategy was configured. `backlog_max`: the most messages
    of all its topics at one moment of these steps, as published; None: not known of each.
    """

    cluster: str
    consumer_group: str
    interval: Interval
    steps: Sequence[AuditedStep] = field(repr=False)
    configured: StrategySettings
    backlog_max: int | None = None

    def __str__(self) -> str:
        return f"{self.consumer_group} in {self.interval}"

    @property
    def is_filtered(self) -> bool:
        """Return whether the group subscribes to only some messages of a topic."""
        return any(progress.is_filtered for step in self.steps for progress in step.progress)


def what_if(stored: StoredTables, scope: Scope, cases: Sequence[Case], say: Say) -> tuple[GroupSteps, Comparison]:
    """Compares every case with what really happened; raises `NothingPublishedError` where no step was replayed."""
    group = group_steps(stored, scope, say)
    say("simulating the cases")
    return known(group, compare(group.steps, cases, group.configured))


def planned(stored: StoredTables, scope: Scope, change: int, say: Say) -> tuple[GroupSteps, Plan]:
    """The plan for the group as it was last, with up to `change` members less and more; raises as `what_if`."""
    group = group_steps(stored, scope, say)
    return known(group, plan(group.steps, change, group.configured))


def rollout(
    stored: StoredTables, scope: Scope, orders: Sequence[str], say: Say
) -> tuple[GroupSteps, RolloutComparison]:
    """The group's last rollout in other orders; raises `NothingPublishedError` if there was none."""
    group = group_steps(stored, scope, say)
    compared = other_orders(group.steps, orders, group.configured)
    if compared is None:
        raise NothingPublishedError(
            f"{group.consumer_group} had no rollout in {group.interval}: name the time of one with --interval, as "
            "`rebalance-audit incidents --rule ROLLOUT` shows it"
        )
    return group, compared


def known(group: GroupSteps, answer: _Answer | None) -> tuple[GroupSteps, _Answer]:
    """The group and the answer; raises `NothingPublishedError` without one: no step was replayed."""
    if answer is not None:
        return group, answer
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
    checks = RunSpec(interval).check_settings(configuration)
    window, usable = Interval(checks.read_start, checks.read_end), partial(checked, settings=checks)
    snapshots = _Snapshots(stored, run["source_versions"], *key, window, usable)
    history, replays = snapshots.history(), Replays(configured)
    starts = range(to_micros(interval.start), to_micros(interval.end), settings.step)
    steps = [audited_step(history, replays, settings, start) for start in starts]
    published = tables.read(GROUP_STATUS, Scope(interval, *key), ["backlog_max"])["backlog_max"]
    highest = None if published.null_count else pc.max(published).as_py()
    return GroupSteps(*key, interval, steps, with_new_room(configured, steps), highest)


@dataclass(frozen=True)
class _Snapshots:
    """The source rows of one group that an audit would use."""

    stored: StoredTables
    versions: Mapping[str, int]
    cluster: str
    consumer_group: str
    window: Interval
    usable: Callable[[pa.Table, pa.Table], Checked]

    def history(self) -> GroupHistory:
        """The group's history, of all its topics except retry topics."""
        is_group = Filter("consumer_group", "=", self.consumer_group)
        is_group_or_proxies = Filter("consumer_group", "IN", [self.consumer_group, PROXIES_GROUP])
        members = self._read(MEMBERSHIP_SNAPSHOTS, is_group_or_proxies)
        clients = self._read(CLIENT_SNAPSHOTS, is_group)
        offsets = self._read(OFFSET_SNAPSHOTS, is_group)
        offsets = offsets.filter(pc.invert(pc.starts_with(offsets["topic"], RETRY)))
        group_members = members.filter(pc.equal(members["consumer_group"], self.consumer_group))
        topics = {*_subscribed(group_members), *_subscribed(clients), *offsets["topic"].to_pylist()}
        routed = sorted(topic for topic in topics if not topic.startswith(RETRY))
        routes = self._read(ROUTE_SNAPSHOTS, Filter("topic", "IN", routed))
        snapshots = {
            MEMBERSHIP_SNAPSHOTS: members,
            CLIENT_SNAPSHOTS: clients,
            OFFSET_SNAPSHOTS: offsets,
            ROUTE_SNAPSHOTS: routes,
        }
        usable = self.usable(*gathered(snapshots))
        by_group = {history.consumer_group: history for history in histories(usable.states, usable.samples)}
        return by_group.get(self.consumer_group, GroupHistory(self.cluster, self.consumer_group))

    def _read(self, table: Table, condition: Filter) -> pa.Table:
        """The table's rows of the window that meet the condition; none where the run did not read the table."""
        if table.name not in self.versions:
            return arrow_schema(table).empty_table()
        time = (Filter("captured_at", ">=", self.window.start), Filter("captured_at", "<", self.window.end))
        conditions = (Filter("cluster", "=", self.cluster), condition, *time)
        return self.stored.read(table, table.columns, conditions, self.versions[table.name])


def _subscribed(snapshots: pa.Table) -> set[str]:
    """The topics of the `subscriptions` of all rows."""
    topics = pc.struct_field(pc.list_flatten(snapshots["subscriptions"]), "topic")
    return {topic for topic in pc.unique(topics).to_pylist() if topic is not None}
