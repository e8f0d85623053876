"""Metrics: the newest step of every group, and the open incidents → what Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, write_to_textfile

from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.team_routes import TeamRoute
from spark_jobs.errors import ReportFileError
from spark_jobs.jobs.incidents import open_incidents
from spark_jobs.jobs.status import published_statuses
from spark_jobs.jobs.trends import observed_shares
from spark_jobs.read.published import PublishedTables, published_tables
from spark_jobs.read.stored import StoredTables
from spark_jobs.report.metrics import NewestSteps, registry

#: Told is what the steps of this time before the end of the newest one say: what was removed is not exported for ever,
#: and one that has stood for months costs no more. An audit forgets sightings after as many days.
KEPT = timedelta(days=7)


def metrics(
    stored: StoredTables,
    cluster: str | None = None,
    consumer_group: str | None = None,
    routes: tuple[TeamRoute, ...] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> CollectorRegistry:
    """Every gauge, of all groups or of those named, with the teams of the routes; raises `NothingPublishedError` for
    names that nobody has.
    """
    progress("reading the newest step of every group")
    tables = published_tables(stored)
    length = tables.grid.length
    found = published_statuses(tables, cluster, consumer_group)
    if found.newest_step is None:
        return registry(NewestSteps([], length, {}), [])
    end = found.newest_step + length
    groups = [row for row in found.groups if row["step_start"] >= end - KEPT]
    steps = NewestSteps(groups, length, _observed(tables, groups))
    progress("reading the findings")
    return registry(steps, open_incidents(tables, end - KEPT, cluster, consumer_group, routes))


def _observed(tables: PublishedTables, groups: Sequence[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """By group the share of its newest step in which it was observed; only those steps are read."""
    of_step: dict[Any, set[tuple[str, str]]] = {}
    for row in groups:
        of_step.setdefault(row["step_start"], set()).add((row["cluster"], row["consumer_group"]))
    return {
        group: share
        for start, wanted in of_step.items()
        for group, share in observed_shares(tables, Interval(start, start + tables.grid.length)).items()
        if group in wanted
    }


def write_metrics(found: CollectorRegistry, file: Path) -> None:
    """Writes the file whole or not at all; raises `ReportFileError` where it cannot."""
    try:
        write_to_textfile(str(file), found)
    except OSError as error:
        raise ReportFileError(f"the metrics cannot be written to {file}: {error.strerror}") from error
