"""Reads the newest published step of every group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas import GROUP_STATUS
from spark_jobs.domain.intervals import EVER
from spark_jobs.domain.severities import WORST_FIRST
from spark_jobs.read.published import AuditedGroup, PublishedTables, check_cluster, check_group, published_tables
from spark_jobs.read.stored import Filter, StoredTables, rows


@dataclass(frozen=True)
class Statuses:
    """A row of `group_status` per group, those that need attention first; `newest_step`: of all groups together, None
    where no group was audited.
    """

    newest_step: datetime | None
    groups: list[dict[str, Any]]


def statuses(
    stored: StoredTables,
    cluster: str | None = None,
    consumer_group: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Statuses:
    """`published_statuses` of what stands there now."""
    progress("reading the newest step of every group")
    return published_statuses(published_tables(stored), cluster, consumer_group)


def published_statuses(
    tables: PublishedTables, cluster: str | None = None, consumer_group: str | None = None
) -> Statuses:
    """The newest step of every group, or of those named; raises `NothingPublishedError` for names that nobody has."""
    if consumer_group is not None:
        cluster = check_group(tables, EVER, cluster, consumer_group)
    every = tables.groups()
    wanted = [one for one in every if cluster in (None, one.cluster) and consumer_group in (None, one.consumer_group)]
    if cluster is not None and not wanted:
        check_cluster(tables, cluster)
    newest = max((one.last_step for one in every), default=None)
    return Statuses(newest, in_order(_newest_steps(tables, wanted)))


def _newest_steps(tables: PublishedTables, groups: Iterable[AuditedGroup]) -> list[dict[str, Any]]:
    """The row of each group's last step; only those steps are read."""
    last = {(one.cluster, one.consumer_group): one.last_step for one in groups}
    steps = Filter("step_start", "IN", sorted(set(last.values())))
    found = rows(tables.read(GROUP_STATUS, EVER, conditions=[steps])) if last else []
    return [row for row in found if last.get((row["cluster"], row["consumer_group"])) == row["step_start"]]


def in_order(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst severity first, then the largest backlog at the end of the step, unknown last, then by name."""

    def rank(group: dict[str, Any]) -> tuple[object, ...]:
        backlog = group["backlog_end"]
        severity = (*WORST_FIRST, None).index(group["worst_severity"])
        return severity, backlog is None, -(backlog or 0), group["consumer_group"], group["cluster"]

    return sorted(groups, key=rank)
