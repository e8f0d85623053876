"""Steps whose snapshots, or those of days before, came or changed after they were audited; those by `sightings`."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import AUDIT_RUNS, OPTIONAL_SOURCES, SIGHTINGS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.series import NO_SIGHTINGS, Sightings, last_hour_before
from spark_jobs.domain.model.window import AuditSettings, to_micros
from spark_jobs.errors import WarehouseError
from spark_jobs.operate.validate import check_step
from spark_jobs.pipeline.gather.sightings import sighted
from spark_jobs.pipeline.publish.content import Content, content_of_steps
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.sources import during, sightings_before
from spark_jobs.store.read.delta import DeltaTables, is_reached
from spark_jobs.store.read.kept import auditable_since
from spark_jobs.store.read.published import runs_of
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import is_gone, readable_tables
from spark_jobs.store.spark_types import per_step_that_reads
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
#: Commits that leave every row as it is.
_SAME_ROWS = frozenset(
    (
        *("ADD COLUMNS", "OPTIMIZE", "VACUUM START", "VACUUM END", "CLUSTER BY"),
        *("SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "ADD CONSTRAINT", "DROP CONSTRAINT"),
    )
)
#: Steps by the version of a table that their last run has read; None: there was no such table.
StepsByVersion = Mapping[int | None, Sequence[Interval]]
#: What was there before a step's window: a group, as (cluster, group); or so many queues of a broker that could be
#: read, as (cluster, topic, broker, number, start of the last hour in which they could, microseconds; no broker: in
#: which the topic had no route).
Known = tuple[str, str] | tuple[str, str, str | None, int, int]
#: To be logged of a table and a version.
GONE = "%s: version %s is gone, the steps that read it count as late"


def late_steps(
    spark: SparkSession, warehouse: Warehouse, configuration: Configuration, interval: Interval
) -> list[Interval]:
    """The published steps of the interval that would now read other rows than their last complete run, in order.

    A step reads `[start - look_back, end)`, and earlier `sightings`. A step whose run read a version that is gone is
    late; one whose snapshots or results were deleted is not, and is logged. Raises `IntervalError` off the grid,
    `WarehouseError` or `SchemaMismatchError` for a table, `ConfigurationError` for another step length.
    """
    stored = readable_tables(warehouse, lambda: spark)
    late = changed_steps(spark, warehouse, stored, configuration, _versions_read(stored, configuration, interval))
    _warn_of_deleted(stored, configuration, interval)
    return sorted(late)


def changed_steps(
    spark: SparkSession,
    warehouse: Warehouse,
    stored: StoredTables,
    configuration: Configuration,
    versions: Mapping[Interval, Mapping[str, int]],
) -> set[Interval]:
    """The steps that would now read other rows than at these versions of the sources. Raises as `late_steps`."""
    late: set[Interval] = set()
    rewritten = _rewritten(stored, configuration, versions)
    by_sightings, newest = rewritten.pop(SIGHTINGS, ({}, None))
    for table, (by_version, present) in rewritten.items():
        late |= _changed(spark, warehouse, table, by_version, present, configuration)
    unchanged = {version: [step for step in steps if step not in late] for version, steps in by_sightings.items()}
    return late | with_other_sightings(stored, configuration, unchanged, newest)


def is_nothing_late(stored: DeltaTables, configuration: Configuration, interval: Interval) -> bool:
    """Return whether Delta's log and `sightings` prove, without Spark, that no step is late. Raises as `late_steps`."""
    if not is_reached(stored.location):
        return False
    try:
        rewritten = _rewritten(stored, configuration, _versions_read(stored, configuration, interval))
        by_sightings, newest = rewritten.pop(SIGHTINGS, ({}, None))
        is_nothing = not rewritten and not with_other_sightings(stored, configuration, by_sightings, newest)
        if is_nothing:
            _warn_of_deleted(stored, configuration, interval)
        return is_nothing
    except WarehouseError as error:
        _LOG.info("Spark is asked what is late: %s", error)
        return False


def _rewritten(
    stored: StoredTables, configuration: Configuration, versions: Mapping[Interval, Mapping[str, int]]
) -> dict[Table, tuple[StepsByVersion, int | None]]:
    """Per changed source, and `sightings`: the steps that may read other rows, and its version (None: gone)."""
    rewritten: dict[Table, tuple[StepsByVersion, int | None]] = {}
    read_by_runs = (*SOURCES, SIGHTINGS) if configuration.sightings_days else SOURCES
    for table in read_by_runs if versions else ():
        by_version: dict[int | None, list[Interval]] = {}
        for step, read in versions.items():
            by_version.setdefault(read.get(table.name), []).append(step)
        is_optional = table in (*OPTIONAL_SOURCES, SIGHTINGS)
        present = None if is_optional and not stored.exists(table) else stored.version(table)
        if steps := _of_other_rows(stored, table, by_version, present):
            rewritten[table] = steps, present
    return rewritten


def _versions_read(
    stored: StoredTables, configuration: Configuration, interval: Interval
) -> dict[Interval, Mapping[str, int]]:
    """The source versions that the last complete run has read, by step; without steps whose rows were deleted."""
    configuration.grid.check_whole_steps(interval)
    if not stored.exists(AUDIT_RUNS):
        return {}
    runs = [RunRecord(row) for row in runs_of(stored, interval)]
    check_step(runs, configuration)
    since = auditable_since(stored, configuration.look_back)
    versions: dict[Interval, Mapping[str, int]] = {}
    for published in runs:  # newest first
        audited = published.spec.interval.intersect(interval)
        if audited and published.spec.covers_everything:
            for step in configuration.grid.steps(audited):
                if since is None or step.start >= since:
                    versions.setdefault(step, published.run["source_versions"])
    return versions


def _warn_of_deleted(stored: StoredTables, configuration: Configuration, interval: Interval) -> None:
    since = auditable_since(stored, configuration.look_back)
    if since is not None and interval.start < since:
        _LOG.warning(
            "the steps before %s stay as they are: `maintain` has deleted their snapshots or results", format_utc(since)
        )


def _of_other_rows(stored: StoredTables, table: Table, steps: StepsByVersion, present: int | None) -> StepsByVersion:
    """Without the versions that hold the same rows as the present one, as far as Delta's history tells."""
    earlier = [version for version in steps if version is not None and present is not None and version < present]
    if present is None or not earlier:
        return {version: readers for version, readers in steps.items() if version != present}
    commits = stored.operations(table, present - min(earlier))
    same = {v for v in earlier if all(commits.get(later) in _SAME_ROWS for later in range(v + 1, present + 1))}
    return {version: readers for version, readers in steps.items() if version not in {present, *same}}


def _changed(
    spark: SparkSession,
    warehouse: Warehouse,
    table: Table,
    steps: StepsByVersion,
    present: int | None,
    configuration: Configuration,
) -> set[Interval]:
    """The steps whose rows differ between the version read and the present one; all of a version that is gone."""

    def contents(versions: StepsByVersion) -> dict[datetime, Content]:
        """Of every step that has rows; one job."""
        frames = [
            _rows(spark, warehouse, table, version, readers, configuration)
            for version, readers in versions.items()
            if version is not None
        ]
        return content_of_steps(reduce(DataFrame.union, frames)) if frames else {}

    everything = [step for readers in steps.values() for step in readers]
    if present is None:
        return set(everything)
    try:
        before, now = contents(steps), contents({present: everything})
    except (PySparkException, Py4JJavaError) as error:
        if not is_gone(error):
            raise
        if len(steps) > 1:  # which of them is gone?
            parts = ({version: readers} for version, readers in steps.items())
            return set().union(*(_changed(spark, warehouse, table, part, present, configuration) for part in parts))
        _LOG.warning(GONE, table.name, *steps)
        return set(everything)
    return {step for step in everything if before.get(step.start) != now.get(step.start)}


def _rows(
    spark: SparkSession,
    warehouse: Warehouse,
    table: Table,
    version: int,
    steps: Sequence[Interval],
    configuration: Configuration,
) -> DataFrame:
    """Rows that the steps read of the table at a version, each once per step that reads it."""
    around = Interval(min(step.start for step in steps), max(step.end for step in steps))
    read = Interval(around.start - configuration.look_back, around.end)
    rows = warehouse.read(spark, table, version).where(during(read, "captured_at")).select(*table.columns)
    per_step = per_step_that_reads(rows, configuration.grid.length, configuration.look_back)
    return per_step.where(F.col("step_start").isin([step.start for step in steps]))


def with_other_sightings(
    stored: StoredTables, configuration: Configuration, steps: StepsByVersion, present: int | None
) -> set[Interval]:
    """The steps whose run knew other things of the time before its window than by the `present` version; all of a
    version that is gone, and all without a `present` one. Hours behind a step do not count. Raises `WarehouseError` or
    `SchemaMismatchError` if the present version cannot be read.
    """
    steps = {version: readers for version, readers in steps.items() if readers}
    every = {step for readers in steps.values() for step in readers}
    if present is None or not every:
        return every
    now = _known_before(stored, configuration, every, present)
    late: set[Interval] = set()
    for version, readers in steps.items():
        try:
            then = {} if version is None else _known_before(stored, configuration, readers, version)
        except (WarehouseError, PySparkException, Py4JJavaError) as error:
            if not is_gone(error):
                raise
            _LOG.warning(GONE, SIGHTINGS.name, version)
            late.update(readers)
        else:
            late.update(step for step in readers if then.get(step, set()) != now[step])
    return late


def _known_before(
    stored: StoredTables, configuration: Configuration, steps: Iterable[Interval], version: int
) -> dict[Interval, set[Known]]:
    """Knowledge of a run of these steps by this version, step by step."""
    by_start = {to_micros(step.start): step for step in steps}
    ordered = sorted(by_start.values())
    rows = sightings_before(stored, Interval(ordered[0].start, ordered[-1].end), configuration, version)
    seen = sighted(rows, ordered[0].start - configuration.look_back)
    known = known_before(seen, configuration.audit_settings, by_start)
    return {by_start[start]: of_step for start, of_step in known.items()}


def known_before(sighted: pa.Table, settings: AuditSettings, steps: Iterable[int]) -> dict[int, set[Known]]:
    """Per start of a step (microseconds) all that its kernel can ask about rows of `sighted`."""
    captured: dict[tuple[str, str], Sightings] = {}
    deleted: dict[tuple[str, str], Sightings] = {}
    readable: dict[tuple[str, str, str | None, int], Sightings] = {}
    for row in sighted.to_pylist():
        times = Sightings.of(np.array(row["times"], np.int64))
        if row["topic"] is None:
            (deleted if row["deleted"] else captured)[row["cluster"], row["consumer_group"]] = times
        else:
            readable[row["cluster"], row["topic"], row["broker_name"], row["read_queue_nums"]] = times
    groups = [
        GroupHistory(*group, captured=captured[group], deleted=deleted.get(group, NO_SIGHTINGS)) for group in captured
    ]
    known: dict[int, set[Known]] = {}
    for start in steps:
        window = settings.window(start)
        hours = {queues: last_hour_before(times, window, settings) for queues, times in readable.items()}
        known[start] = {(*queues, hour) for queues, hour in hours.items() if hour is not None}
        known[start] |= {(of.cluster, of.consumer_group) for of in groups if of.was_there_before(window, settings)}
    return known
