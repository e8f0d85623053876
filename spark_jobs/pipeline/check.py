"""The gate of a run: what is checked when, and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from expectations import BY_TABLE
from expectations.rows import CheckSettings
from expectations.suite import Severity
from schemas import QUALITY_RESULTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.gather.gather import rejected_snapshots, said
from spark_jobs.pipeline.gather.sources import Sources
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.quality.checks import Check, Result
from spark_jobs.pipeline.quality.drift import Usual, known_values, usual_values
from spark_jobs.pipeline.quality.facts import LEFT_OUT, ROWS, Facts
from spark_jobs.pipeline.quality.gate import failures, output_checks, raise_if_critical, settings_of, source_checks
from spark_jobs.pipeline.quality.quarantine import quarantined, set_aside, with_reasons
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.warehouse import Warehouse

if TYPE_CHECKING:
    from spark_jobs.pipeline.quality.validation import Validator


def site(warehouse: Warehouse) -> Path | None:
    """Where the results and pages are: beside the tables; None where the warehouse is no local folder."""
    return warehouse.local_path / "_quality" if warehouse.local_path else None


@dataclass
class Gate:
    """Judges what was counted of the sources and outputs of one run, and remembers every result."""

    spark: SparkSession
    warehouse: Warehouse
    request: RunRequest
    configuration: Configuration
    run_id: str
    results: list[Result] = field(default_factory=list)
    #: Names of the source tables of which no row was read that can be used.
    empty_sources: set[str] = field(default_factory=set)
    #: By source table: rows that were set aside (none: left out).
    quarantined_rows: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Great Expectations takes seconds to import; Spark has more to do meanwhile.
        beside = ThreadPoolExecutor(1)
        self._validator = beside.submit(_validator, self.run_id, site(self.warehouse))
        beside.shutdown(wait=False)
        self._usual = self._usual_values()

    @property
    def settings(self) -> CheckSettings:
        """What expectations know of the run."""
        return settings_of(self.request.interval, self.configuration, whole_groups=self.request.topic is None)

    def sources(self, facts: Facts, packed: DataFrame, sources: Sources) -> None:
        """Sets the snapshots aside that the pass over the sources has left out, as `packed` names them.

        Raises `QualityError` if a table has too many of them.
        """
        found = self._validate(source_checks(self.request.interval, self.configuration, self._usual), facts)
        for table in SOURCES:
            rows, left_out = (sum(step[name] for step in facts[table]) for name in (ROWS, LEFT_OUT))
            if left_out:
                self._set_aside(table, left_out, packed, sources)
            if rows == left_out:
                self.empty_sources.add(table.name)
        raise_if_critical(found)

    def outputs(self, facts: Facts) -> None:
        """Raises `QualityError` if a critical expectation of an output table fails."""
        checks = output_checks(self.request.interval, self.configuration, self._usual)
        raise_if_critical(self._validate(checks, facts))

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

    def _set_aside(self, table: Table, left_out: int, packed: DataFrame, sources: Sources) -> None:
        rows = rejected_snapshots(packed, table, sources.by_table[table])
        judged = with_reasons(BY_TABLE[table], rows, said(table), self.settings)
        rejected = quarantined(BY_TABLE[table], judged, self.run_id).localCheckpoint()
        set_aside(self.spark, self.warehouse, rejected)
        aside = rejected.count()
        if aside != left_out:
            raise AssertionError(f"{table.name}: {left_out} rows were not used, and {aside} quarantined")
        self.quarantined_rows[table.name] = aside

    def _usual_values(self) -> Usual | None:
        if not self.request.is_of_everything:
            return None
        return usual_in(stored_in(self.spark, self.warehouse), self.request.interval, self.configuration)


def _validator(run_id: str, pages: Path | None) -> Validator:
    from spark_jobs.pipeline.quality.validation import Validator

    return Validator(run_id, pages)


def usual_in(tables: StoredTables, interval: Interval, configuration: Configuration) -> Usual:
    """What is usual in the steps of the interval, by what was seen on the days before; empty at first."""
    if not tables.exists(QUALITY_RESULTS):
        return {}
    return usual_values(known_values(tables, interval, configuration.quality), interval, configuration.quality)


def record(spark: SparkSession, warehouse: Warehouse, run_id: str, results: Sequence[Result]) -> None:
    """Appends what the checks of a run saw to `quality_results`."""
    run = {"run_id": run_id, "checked_at": datetime.now(UTC)}
    SparkTables(spark, warehouse).append(QUALITY_RESULTS, [run | one._asdict() for one in results])
