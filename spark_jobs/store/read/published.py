"""The published tables as a reader sees them: all at the versions of one run, so that they fit each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas import AUDIT_RUNS, CHECKPOINTS, GROUP_STATUS, TABLES, Table
from spark_jobs.domain.model.intervals import EVER, Interval, StepGrid, format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import NothingPublishedError, WarehouseError
from spark_jobs.store.arrow import micros_of, one_array
from spark_jobs.store.read.kept import kept_since
from spark_jobs.store.read.stored import Filter, StoredTables, rows, tuples

#: What the choice of the newest run needs.
_RUN = ("run_id", "finished_at", "interval_start")
#: Runs publish in another order than they end in, but not that much later.
_DAY = timedelta(days=1)
_GROUP_STEP = ("cluster", "consumer_group", "step_start")
#: Of rows of `audit_runs`: the run has published.
IS_PUBLISHED = Filter("outcome", "=", "published")


class AuditedGroup(NamedTuple):
    """A group, with the starts of its first and last audited steps."""

    cluster: str
    consumer_group: str
    first_step: datetime
    last_step: datetime


class Checkpoint(NamedTuple):
    """A row of `checkpoints`, without its lists: the state after all steps that begin before `before`."""

    before: datetime
    step_seconds: int
    fold_version: int
    run_finished_at: datetime
    group_status_version: int


@dataclass(frozen=True)
class Scope:
    """The time and the names that a question is about; None: every, if the question says nothing else."""

    interval: Interval | None = None
    cluster: str | None = None
    consumer_group: str | None = None

    @property
    def names(self) -> dict[str, str]:
        """The names that it gives, by column."""
        named = {"cluster": self.cluster, "consumer_group": self.consumer_group}
        return {column: name for column, name in named.items() if name is not None}

    @property
    def ever(self) -> Scope:
        """The same names, at any time."""
        return Scope(None, self.cluster, self.consumer_group)


#: Everything that was ever published.
EVERYTHING = Scope()


@dataclass(frozen=True)
class PublishedTables:
    """The output tables at the newest run's Delta versions, their steps' grid, the first published step's start, and
    the end of that run.
    """

    stored: StoredTables
    versions: Mapping[str, int]
    grid: StepGrid
    first_step: datetime
    finished_at: datetime

    def read(
        self,
        table: Table,
        scope: Scope,
        columns: Sequence[str] | None = None,
        conditions: Sequence[Filter] = (),
    ) -> pa.Table:
        """Rows of the steps that overlap the interval, of everything or of the names; all columns, or those named. A
        table that the newest run did not publish yet has those of its newest version.
        """
        interval = scope.interval or EVER
        of_interval = () if interval == EVER else self._of_steps(interval)
        of_names = (Filter(column, "=", name) for column, name in scope.names.items())
        every = (*of_interval, *of_names, *conditions)
        return self.stored.read(table, columns or table.columns, every, self.versions.get(table.name))

    def steps(self, interval: Interval) -> Interval:
        """The interval, widened to whole steps."""
        end = self.grid.floor(interval.end)
        return Interval(self.grid.floor(interval.start), end if end == interval.end else end + self.grid.length)

    def last(self, length: timedelta, cluster: str | None = None) -> Interval:
        """So long a time before the end of the newest audited step, of any cluster or of one; raises
        `NothingPublishedError` without such a step.
        """
        steps = [group.last_step for group in self.groups() if cluster in (None, group.cluster)]
        if not steps:
            check_names(self, Scope(cluster=cluster))
            raise NothingPublishedError("no group was audited: there is no newest step")
        end = max(steps) + self.grid.length
        return Interval(end - length, end)

    def groups(self) -> list[AuditedGroup]:
        """Every group that was ever audited."""
        return self._groups

    @cached_property
    def _groups(self) -> list[AuditedGroup]:
        return audited_groups(self.group_spans(self.checkpoint))

    def group_spans(self, checkpoint: Checkpoint | None) -> pa.Table:
        """Rows of `AuditedGroup`, several per group: those of the checkpoint, and each later step; None: every step."""
        steps = self.read(GROUP_STATUS, EVERYTHING, _GROUP_STEP, since(checkpoint))
        spans = steps.append_column("last_step", steps["step_start"]).rename_columns(AuditedGroup._fields)
        return pa.concat_tables(
            [spans, *self.in_checkpoint("audited_groups", checkpoint)], promote_options="permissive"
        )

    def in_checkpoint(self, column: str, checkpoint: Checkpoint | None) -> Iterator[pa.Table]:
        """The structs of a list of the checkpoint as rows, if their `last_step` is kept; none without a checkpoint."""
        if checkpoint is not None:
            of_list = pa.Table.from_struct_array(one_array(self.of_checkpoint(column, checkpoint)).flatten())
            kept = kept_since(self.stored, GROUP_STATUS)
            yield of_list if kept is None else of_list.filter(pc.greater_equal(of_list["last_step"], pa.scalar(kept)))

    def of_checkpoint(self, column: str, checkpoint: Checkpoint) -> pa.ChunkedArray:
        """The one value of the column in the checkpoint."""
        row = Filter("before", "=", checkpoint.before)
        return self.stored.read(CHECKPOINTS, (column,), [row], self._checkpoints_version)[column]

    @cached_property
    def _checkpoints_version(self) -> int:
        """The Delta version from which all checkpoints are read, as another process may replace them."""
        return self.stored.version(CHECKPOINTS)

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint; None: there is none."""
        return next(iter(self.checkpoints), None)

    def _checkpoint_rows(self) -> pa.Table:
        return self.stored.read(CHECKPOINTS, Checkpoint._fields, (), self._checkpoints_version)

    @cached_property
    def checkpoints(self) -> list[Checkpoint]:
        """The checkpoints, the newest first, that are of these versions and whose steps no run has audited again."""
        if not self.stored.exists(CHECKPOINTS):
            return []
        every = [Checkpoint(*row) for row in tuples(self._checkpoint_rows())]
        since = min((each.run_finished_at for each in every), default=self.finished_at) - _DAY
        runs = self.stored.read(
            AUDIT_RUNS, ("interval_start", "published_versions"), [IS_PUBLISHED, Filter("finished_at", ">=", since)]
        )
        later = [(start, versions.get(GROUP_STATUS.name)) for start, versions in tuples(runs)]
        length, own = self.grid.length.total_seconds(), self.versions.get(GROUP_STATUS.name, -1)

        def fits(checkpoint: Checkpoint) -> bool:
            version = checkpoint.group_status_version
            is_own = checkpoint.step_seconds == length and version <= own
            return is_own and not any(
                start < checkpoint.before and (run is None or run > version) for start, run in later
            )

        return sorted(filter(fits, every), reverse=True)

    def _of_steps(self, interval: Interval) -> tuple[Filter, ...]:
        start = self.steps(interval).start
        return (Filter("step_start", ">=", start), Filter("step_start", "<", interval.end))


def published_tables(stored: StoredTables) -> PublishedTables:
    """The newest published run's tables. Raises `NothingPublishedError`, or `WarehouseError` without a table."""
    runs = stored.read(AUDIT_RUNS, _RUN, [IS_PUBLISHED]) if stored.exists(AUDIT_RUNS) else None
    if not runs:
        raise _nothing_published(stored)
    newest = _newest(stored, runs, ("finished_at", "step_seconds", "published_versions"))
    grid = StepGrid(timedelta(seconds=newest["step_seconds"]))
    first_step = from_micros(int(micros_of(runs["interval_start"]).min()))
    return PublishedTables(stored, newest["published_versions"], grid, first_step, newest["finished_at"])


def since(checkpoint: Checkpoint | None) -> list[Filter]:
    """A condition on steps: those that are not in the checkpoint."""
    return [] if checkpoint is None else [Filter("step_start", ">=", checkpoint.before)]


def audited_groups(spans: pa.Table) -> list[AuditedGroup]:
    """Each group once, of rows of `AuditedGroup` of which it has several. Not by `group_by`, which loads pandas."""
    clusters, groups = (one_array(spans[name]).dictionary_encode() for name in ("cluster", "consumer_group"))
    first, last = (micros_of(spans[name]) for name in ("first_step", "last_step"))
    names = clusters.dictionary.to_pylist(), groups.dictionary.to_pylist()
    pairs = np.from_dlpack(clusters.indices).astype(np.int64) * len(names[1]) + np.from_dlpack(groups.indices)
    distinct, place = np.unique(pairs, return_inverse=True)
    firsts, lasts = np.full(len(distinct), first.max(initial=0)), np.zeros(len(distinct), np.int64)
    np.minimum.at(firsts, place, first)
    np.maximum.at(lasts, place, last)
    return [
        AuditedGroup(names[0][cluster], names[1][group], from_micros(first), from_micros(last))
        for cluster, group, first, last in zip(
            *(each.tolist() for each in (*np.divmod(distinct, len(names[1])), firsts, lasts)), strict=True
        )
    ]


def _newest(stored: StoredTables, runs: pa.Table, columns: Sequence[str]) -> dict[str, Any]:
    """These columns of the run that ended last; of several, of the first by its id."""
    last = pc.max(runs["finished_at"])
    run_id = min(runs.filter(pc.equal(runs["finished_at"], last))["run_id"].to_pylist())
    finished_at = from_micros(last.value)  # as_py loads pandas
    of_run = [IS_PUBLISHED, Filter("run_id", "=", run_id), Filter("finished_at", "=", finished_at)]
    return rows(stored.read(AUDIT_RUNS, columns, of_run))[0]


def covers_clusters(run: Mapping[str, Any]) -> bool:
    """Return whether a row of `audit_runs` is of all groups and topics of its clusters."""
    return run["consumer_group"] is None and run["topic"] is None


def _nothing_published(stored: StoredTables) -> NothingPublishedError | WarehouseError:
    location, folder = stored.location.location, stored.location.local_path
    if any(map(stored.exists, TABLES)):
        return NothingPublishedError(
            f"nothing has been published in the warehouse {location}: audit it first, with "
            "`rebalance-audit run --warehouse URI --interval START/END`"
        )
    why = "it has no table" if folder is None or folder.is_dir() else "no such folder"
    return WarehouseError(f"there is no warehouse {location}: {why}. Check the URI, or load a recording with `ingest`")


def runs_of(stored: StoredTables, interval: Interval | None, *, rejected: bool = False) -> list[dict[str, Any]]:
    """Runs that published some of the interval's steps (None: any), newest first; with `rejected` ones if asked."""
    overlap: tuple[Filter, ...] = ()
    if interval is not None:
        overlap = (Filter("interval_start", "<", interval.end), Filter("interval_end", ">", interval.start))
    outcome = () if rejected else (IS_PUBLISHED,)
    runs = rows(stored.read(AUDIT_RUNS, AUDIT_RUNS.columns, (*outcome, *overlap)))
    return sorted(runs, key=lambda run: run["finished_at"], reverse=True)


def newest_configuration(stored: StoredTables) -> dict[str, Any]:
    """The values of the configuration of the newest published run; none without a run."""
    runs = stored.read(AUDIT_RUNS, _RUN, [IS_PUBLISHED]) if stored.exists(AUDIT_RUNS) else None
    if not runs:
        return {}
    values: dict[str, Any] = json.loads(_newest(stored, runs, ("configuration",))["configuration"])
    return values


def published_run(stored: StoredTables, run_id: str) -> dict[str, Any]:
    """The row of a run that published something; raises `NothingPublishedError` where there is none of that id."""
    runs = rows(stored.read(AUDIT_RUNS, AUDIT_RUNS.columns, (IS_PUBLISHED, Filter("run_id", "=", run_id))))
    if not runs:
        raise NothingPublishedError(
            f"no run {run_id} has published anything in {stored.location.location}: audit_runs names those that have"
        )
    return runs[0]


def run_of_step(
    stored: StoredTables, step: Interval, cluster: str, consumer_group: str, topic: str | None = None
) -> dict[str, Any] | None:
    """The newest run that published the step for the group, of all its topics or of the one that is named."""
    named = {"cluster": cluster, "consumer_group": consumer_group, "topic": topic}
    return next(
        (
            run
            for run in runs_of(stored, step)
            if run["interval_start"] <= step.start
            and run["interval_end"] >= step.end
            and all(run[name] in (None, value) for name, value in named.items())
        ),
        None,
    )


def check_group(tables: PublishedTables, scope: Scope) -> tuple[str, str]:
    """Cluster and name of a group. Raises `NothingPublishedError` for an unknown or ambiguous group, or time."""
    consumer_group = str(scope.consumer_group)
    if scope.interval is None:
        clusters = sorted(group.cluster for group in tables.groups() if scope.names.items() <= group._asdict().items())
    else:
        clusters = sorted(set(tables.read(GROUP_STATUS, scope, ("cluster",))["cluster"].to_pylist()))
    if len(clusters) == 1:
        return str(clusters[0]), consumer_group
    if clusters:
        named = ", ".join(clusters)
        raise NothingPublishedError(f"{consumer_group} is in several clusters ({named}): name one with --cluster")
    steps = tables.steps(scope.interval or EVER)
    raise NothingPublishedError(_why_no_group(tables.groups(), steps, scope.cluster, consumer_group))


def check_names(tables: PublishedTables, scope: Scope) -> None:
    """`check_group` if a group is named; else raise `NothingPublishedError` if the named cluster was never audited."""
    if scope.consumer_group is not None:
        check_group(tables, scope)
    elif scope.cluster is not None:
        known = sorted({group.cluster for group in tables.groups()})
        if scope.cluster not in known:
            audited = ", ".join(known) or "none"
            raise NothingPublishedError(f"there is no cluster {scope.cluster}; audited clusters: {audited}")


def _why_no_group(groups: Iterable[AuditedGroup], interval: Interval, cluster: str | None, consumer_group: str) -> str:
    groups = list(groups)
    same = [group for group in groups if group.consumer_group == consumer_group and cluster in (None, group.cluster)]
    if same:
        first, last = min(group.first_step for group in same), max(group.last_step for group in same)
        return (
            f"{consumer_group} was not audited in {interval}: its first audited step began at {format_utc(first)}, its "
            f"last at {format_utc(last)}"
        )
    elsewhere = sorted({group.cluster for group in groups if group.consumer_group == consumer_group})
    if elsewhere:
        return f"there is no cluster {cluster} with a group {consumer_group}: that group is in {', '.join(elsewhere)}"
    names = sorted({group.consumer_group for group in groups if cluster in (None, group.cluster)})
    where = "" if cluster is None else f" in the cluster {cluster}"
    hint = did_you_mean(consumer_group, names) or f"{len(names)} groups were audited{where}"
    return f"there is no consumer group {consumer_group}{where}: {hint}"
