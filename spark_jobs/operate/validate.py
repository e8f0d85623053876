"""Expectations on the warehouse as it is. Writes only `quality_results` and the pages."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations import BY_TABLE
from schemas import AUDIT_RUNS, OUTPUTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import EVER, Interval, StepGrid
from spark_jobs.errors import ConfigurationError, PublishConflictError
from spark_jobs.pipeline.check import record_results, validated
from spark_jobs.pipeline.gather.evaluated import IN_PART, WITHOUT_COVERAGE, checked_outputs, checked_snapshots
from spark_jobs.pipeline.gather.gather import Gathered
from spark_jobs.pipeline.publish.claims import check_free
from spark_jobs.pipeline.publish.content import NOTHING, content_of_run, content_of_steps
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.quality.counted import counted_in
from spark_jobs.pipeline.quality.drift import usual_values
from spark_jobs.pipeline.quality.facts import Facts
from spark_jobs.pipeline.run_context import Progress
from spark_jobs.pipeline.run_record import RunRecord, of_one_topic, without_coverage
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.pipeline.sources import during
from spark_jobs.store.read.published import runs_of
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse


@dataclass(frozen=True)
class Validation:
    """A validation: `run_id` names it in `quality_results` and pages; `interval` is None if there was nothing."""

    run_id: str
    interval: Interval | None
    results: Sequence[Result]
    pages: Path | None


def validate(
    spark: SparkSession,
    warehouse: Warehouse,
    configuration: Configuration,
    table: Table | None = None,
    interval: Interval | None = None,
    progress: Progress = lambda _: None,
) -> Validation:
    """Check one table or all, in whole steps of the interval or all of them. Raises `IntervalError` off the grid,
    `WarehouseError` or `SchemaMismatchError` for a table, `ConfigurationError` for another step length,
    `PublishConflictError` while a run publishes some of the steps.
    """
    if interval:
        configuration.grid.check_whole_steps(interval)
    wanted = [table] if table else [known for known in BY_TABLE if warehouse.exists(spark, known)] or [SOURCES[0]]
    for wanted_table in wanted:
        warehouse.delta_table(spark, wanted_table)
    run_id = uuid.uuid4().hex
    frames, runs = _unchanged(spark, warehouse, interval)
    check_step(runs, configuration)
    interval = interval or _hull({table: frames[table] for table in wanted}, runs, configuration)
    if interval is None:
        return Validation(run_id, None, [], None)
    usual = usual_values(stored_in(spark, warehouse), interval, configuration.quality)
    unchanged = {
        table: _unchanged_steps(table, frames[table], runs, interval, configuration.grid)
        for table in wanted
        if table in OUTPUTS
    }
    facts = _facts(frames, runs, interval, configuration, wanted, progress)
    checked = validated(wanted, interval, configuration, usual, facts, unchanged)
    pages = record_results(spark, warehouse, run_id, checked)
    return Validation(run_id, interval, checked.results, pages)


def _unchanged(
    spark: SparkSession, warehouse: Warehouse, interval: Interval | None
) -> tuple[dict[Table, DataFrame], list[RunRecord]]:
    """The rows of all tables, and their runs; raises `PublishConflictError` if a run publishes meanwhile."""
    folder, stored = warehouse.folder(spark), stored_in(spark, warehouse)
    check_free(folder, spec := RunSpec(interval or EVER))
    runs = _runs(stored, interval)
    frames = {known: _rows(spark, warehouse, known, interval) for known in BY_TABLE}
    check_free(folder, spec)
    if _runs(stored, interval) != runs:
        raise PublishConflictError("a run has published some of the steps meanwhile: try again")
    return frames, runs


def _rows(spark: SparkSession, warehouse: Warehouse, table: Table, interval: Interval | None) -> DataFrame:
    """The table's rows in the interval, of the version that it has now; none if there is no table."""
    if not warehouse.exists(spark, table):
        return spark.createDataFrame([], spark_schema(table))
    rows = warehouse.read(spark, table, warehouse.version(spark, table))
    return rows if interval is None else rows.where(during(interval, _time(table)))


def _time(table: Table) -> str:
    return "captured_at" if table in SOURCES else "step_start"


def _runs(stored: StoredTables, interval: Interval | None) -> list[RunRecord]:
    """The runs that published some of the interval's steps (None: of any), newest first."""
    return [*map(RunRecord, runs_of(stored, interval))] if stored.exists(AUDIT_RUNS) else []


def check_step(runs: Iterable[RunRecord], configuration: Configuration) -> None:
    """Raises `ConfigurationError` for a run with steps of another length than the configuration's."""
    for record in runs:
        if (seconds := record.run["step_seconds"]) != configuration.step_seconds:
            raise ConfigurationError(
                f"{record.spec.interval} was audited in steps of {seconds} s, and step_seconds is "
                f"{configuration.step_seconds}: name the configuration of the warehouse with --config"
            )


def _hull(
    frames: Mapping[Table, DataFrame], runs: Iterable[RunRecord], configuration: Configuration
) -> Interval | None:
    """The whole steps that hold every row, and every step that was published: one that lost all its rows counts."""
    floor, length = configuration.grid.floor, configuration.grid.length
    starts = [moment for run in runs for moment in (run.spec.interval.start, run.spec.interval.end - length)]
    for table, frame in frames.items():
        row = frame.agg(F.min(_time(table)), F.max(_time(table))).head()
        starts += [floor(moment.astimezone(UTC)) for moment in row or () if moment is not None]
    return Interval(min(starts), max(starts) + length) if starts else None


def _facts(
    frames: Mapping[Table, DataFrame],
    runs: list[RunRecord],
    interval: Interval,
    configuration: Configuration,
    wanted: Iterable[Table],
    progress: Progress,
) -> Facts:
    """Counts that a run would make of the wanted tables, without its look-back."""
    settings = RunSpec(interval).check_settings(configuration)
    facts: dict[Table, Sequence[Mapping[str, object]]] = {}
    if not set(SOURCES).isdisjoint(wanted):
        progress("checking the sources")
        gathered = Gathered.of({table: frames[table] for table in SOURCES})
        facts |= counted_in(checked_snapshots(gathered, settings), settings).facts
    if not set(OUTPUTS).isdisjoint(wanted):
        progress("checking the outputs")
        published = {IN_PART: F.expr(of_one_topic(runs)), WITHOUT_COVERAGE: F.expr(without_coverage(runs))}
        outputs = {table: frames[table].withColumns(published) for table in OUTPUTS}
        of_outputs = counted_in(checked_outputs(outputs, settings), settings).facts
        facts |= {table: of_outputs[table] for table in OUTPUTS}
    return facts


def _unchanged_steps(
    table: Table, frame: DataFrame, runs: Sequence[RunRecord], interval: Interval, grid: StepGrid
) -> dict[datetime, bool]:
    """Per step, whether its content is that of the complete run that published it, inside the interval."""
    contents = content_of_steps(frame.select(*table.columns))
    unchanged: dict[datetime, bool] = {}
    for run in _last_word(runs, interval):
        if (published := run.contents.get(table.name)) is not None:
            steps = [step.start for step in grid.steps(run.spec.interval)]
            is_same = content_of_run(contents.get(step, NOTHING) for step in steps) == published
            unchanged |= dict.fromkeys(steps, is_same)
    return unchanged


def _last_word(runs: Sequence[RunRecord], interval: Interval) -> Iterable[RunRecord]:
    for place, run in enumerate(runs):
        steps = run.spec.interval
        is_replaced = any(newer.spec.overlaps(run.spec) for newer in runs[:place])
        if run.spec.covers_everything and steps.intersect(interval) == steps and not is_replaced:
            yield run
