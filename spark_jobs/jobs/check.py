"""The gate of a run: what is checked when, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.suite import KEYS_ARE_UNIQUE, Severity
from schemas import QUALITY_RESULTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.conflicts import unless_outrun
from spark_jobs.domain.intervals import Interval
from spark_jobs.gather.fold import folded, folded_rows, stated
from spark_jobs.gather.judged import Gathered
from spark_jobs.gather.sources import Sources
from spark_jobs.parallel import run_in_parallel
from spark_jobs.publish.content import Content, of_sum
from spark_jobs.publish.request import RunRequest
from spark_jobs.quality.checks import Check, Facts, Result
from spark_jobs.quality.drift import Usual, known_values, usual_values
from spark_jobs.quality.facts import CONTENT, ROWS, collected
from spark_jobs.quality.gate import asked_on_the_way, failures, output_checks, raise_if_critical, source_checks
from spark_jobs.quality.quarantine import quarantined, set_aside, used, with_reasons
from spark_jobs.spark_types import spark_schema
from spark_jobs.warehouse import Warehouse

if TYPE_CHECKING:
    from spark_jobs.quality.validation import Validator


def site(warehouse: Warehouse) -> Path | None:
    """Where the results and pages are: beside the tables; None where the warehouse is no local folder."""
    return warehouse.local_path / "_quality" if warehouse.local_path else None


@dataclass
class Gate:
    """Checks the sources and outputs of one run, and remembers every result."""

    spark: SparkSession
    warehouse: Warehouse
    request: RunRequest
    configuration: Configuration
    run_id: str
    results: list[Result] = field(default_factory=list)
    #: By source table, once it was checked: rows that were read, and how many of them were set aside (none: left out).
    rows_read: dict[Table, int] = field(default_factory=dict)
    quarantined_rows: dict[str, int] = field(default_factory=dict)
    #: What the output tables hold.
    contents: dict[Table, Content] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Great Expectations takes seconds to import; Spark has more to do meanwhile.
        beside = ThreadPoolExecutor(1)
        self._validator = beside.submit(_validator, self.run_id, site(self.warehouse))
        beside.shutdown(wait=False)
        self._usual = self._usual_values()

    def sources(self, sources: Sources) -> Gathered:
        """The rows that keep every rule, folded; the others are set aside.

        Raises `QualityError` if a table has too many of them.
        """
        asked, conditions = asked_on_the_way(sources.by_table, self.request, self.configuration)
        gathered = self._gathered(Sources(*asked.values()), conditions)
        by_table = {table: folded_rows(gathered.folded, table) for table in SOURCES}
        checks = source_checks(sources.by_table, by_table, self.request, self.configuration, self._usual)
        facts = collected(checks)
        found = self._validate(checks, facts)
        self.rows_read = {table: sum(step[ROWS] for step in facts[table]) for table in SOURCES}
        clean = [self._without_rejected(check, sources.by_table[check.suite.table], found) for check in checks]
        raise_if_critical(found)
        return self._gathered(Sources(*clean), {}) if self.quarantined_rows else gathered

    def _gathered(self, sources: Sources, conditions: Mapping[Table, Sequence[str]]) -> Gathered:
        snapshots = stated(sources, self.configuration.grid.length, conditions)
        return Gathered(sources, snapshots, folded(snapshots).localCheckpoint())

    def outputs(self, outputs: Mapping[Table, DataFrame]) -> None:
        """Raises `QualityError` if a critical expectation of an output table fails. No outputs: no table has rows."""
        whole_groups = F.lit(self.request.topic is None)
        checks = output_checks(outputs, self.request.interval, self.configuration, self._usual, whole_groups)
        facts = collected(checks)
        self.contents = {
            table: of_sum(sum(step[ROWS] for step in steps), sum(int(step[CONTENT]) for step in steps))
            for table, steps in facts.items()
        }
        raise_if_critical(self._validate(checks, facts))

    @property
    def empty_sources(self) -> set[str]:
        """Names of the source tables of which no row was read that can be used."""
        return {
            table.name for table, rows in self.rows_read.items() if rows == self.quarantined_rows.get(table.name, 0)
        }

    @property
    def warnings(self) -> list[str]:
        """What failed and does not keep the run from being published."""
        aside = [f"{count} rows of {name} are in quarantine" for name, count in self.quarantined_rows.items()]
        return aside + failures(self.results, Severity.WARNING)

    def record(self) -> None:
        """Appends the results to `quality_results` and writes the pages, both at once."""
        run_in_parallel(
            lambda: record(self.spark, self.warehouse, self.run_id, self.results),
            lambda: self._validator.result().write_pages(),
        )

    def _validate(self, checks: list[Check], facts: Facts) -> list[Result]:
        found = self._validator.result().validate(checks, facts)
        self.results += found
        return found

    def _without_rejected(self, check: Check, frame: DataFrame, found: list[Result]) -> DataFrame:
        """The table without rows that break a rule; the table itself, untouched, where none does."""
        table = check.suite.table
        rejecting = {one.name for one in (*check.suite.rejecting, KEYS_ARE_UNIQUE)}
        if not any(
            one.unexpected_count for one in found if one.table_name == table.name and one.expectation in rejecting
        ):
            return frame
        judged = with_reasons(check.suite, check.each()).localCheckpoint()
        rejected = quarantined(check.suite, judged, self.run_id).localCheckpoint()
        set_aside(self.spark, self.warehouse, rejected)
        clean = used(check.suite, judged)
        rows_used, rows_aside = clean.count(), rejected.count()
        if self.rows_read[table] != rows_used + rows_aside:
            raise AssertionError(
                f"{table.name}: {self.rows_read[table]} rows read, {rows_used} used and {rows_aside} quarantined"
            )
        self.quarantined_rows[table.name] = rows_aside
        return clean

    def _usual_values(self) -> Usual | None:
        if not self.request.is_of_everything:
            return None
        return usual_in(self.spark, self.warehouse, self.request.interval, self.configuration)


def _validator(run_id: str, pages: Path | None) -> Validator:
    from spark_jobs.quality.validation import Validator

    return Validator(run_id, pages)


def usual_in(spark: SparkSession, warehouse: Warehouse, interval: Interval, configuration: Configuration) -> Usual:
    """What is usual in the steps of the interval, by what was seen on the days before; empty at first."""
    if not warehouse.exists(spark, QUALITY_RESULTS):
        return {}
    known = known_values(warehouse.read(spark, QUALITY_RESULTS), interval, configuration.quality)
    return usual_values(known.collect(), interval, configuration.quality)


def record(spark: SparkSession, warehouse: Warehouse, run_id: str, results: Sequence[Result]) -> None:
    """Appends what the checks of a run saw to `quality_results`."""
    warehouse.create(spark, [QUALITY_RESULTS])
    run = {"run_id": run_id, "checked_at": datetime.now(UTC)}
    rows = spark.createDataFrame([run | one._asdict() for one in results], spark_schema(QUALITY_RESULTS))
    writer = rows.coalesce(1).write.format("delta").mode("append")
    unless_outrun(lambda: warehouse.save(writer, QUALITY_RESULTS), "record the results of the checks")
