"""The gate of a run: what is checked when, and what becomes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations.suite import KEYS_ARE_UNIQUE, Severity
from schemas import QUALITY_RESULTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.conflicts import unless_outrun
from spark_jobs.domain.intervals import Interval
from spark_jobs.publish.request import RunRequest
from spark_jobs.quality.drift import Usual, as_mapping, usual_values
from spark_jobs.quality.gate import failures, output_checks, raise_if_critical, source_checks
from spark_jobs.quality.quarantine import quarantined, set_aside, used, with_reasons
from spark_jobs.quality.validation import Check, Result, Validator
from spark_jobs.replay.sources import Sources
from spark_jobs.warehouse import Warehouse


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
    quarantined_rows: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._validator = Validator(self.run_id, site(self.warehouse))
        self._usual = self._usual_values()

    def sources(self, sources: Sources) -> Sources:
        """The rows that keep every rule; the others are set aside.

        Raises `QualityError` if a table has too many of them.
        """
        frames = dict(zip(SOURCES, sources.tables, strict=True))
        checks = source_checks(frames, self.request, self.configuration, self._usual)
        found = self._validate(checks)
        clean = [self._without_rejected(check, frames[check.suite.table], found) for check in checks]
        raise_if_critical(found)
        return Sources(*clean)

    def outputs(self, staged: Mapping[Table, DataFrame]) -> None:
        """Raises `QualityError` if a critical expectation of a staged table fails."""
        whole_groups = F.lit(self.request.topic is None)
        checks = output_checks(staged, self.request.interval, self.configuration, self._usual, whole_groups)
        raise_if_critical(self._validate(checks))

    @property
    def warnings(self) -> list[str]:
        """What failed and does not keep the run from being published."""
        aside = [f"{count} rows of {name} are in quarantine" for name, count in self.quarantined_rows.items()]
        return aside + failures(self.results, Severity.WARNING)

    def record(self) -> None:
        """Appends the results to `quality_results` and writes the pages."""
        record(self.spark, self.warehouse, self.run_id, self.results)
        self._validator.write_pages()

    def _validate(self, checks: list[Check]) -> list[Result]:
        found = self._validator.validate(checks)
        self.results += found
        return found

    def _without_rejected(self, check: Check, frame: DataFrame, found: list[Result]) -> DataFrame:
        """The table without rows that break a rule; the table itself, untouched, where none does."""
        name = check.suite.table.name
        rejecting = {one.name for one in (*check.suite.rejecting, KEYS_ARE_UNIQUE)}
        if not any(one.unexpected_count for one in found if one.table_name == name and one.expectation in rejecting):
            return frame
        judged = with_reasons(check.suite, check.rows).localCheckpoint()
        rejected = quarantined(check.suite, judged, self.run_id).localCheckpoint()
        set_aside(self.spark, self.warehouse, rejected)
        clean = used(check.suite, judged)
        rows_in, rows_used, rows_aside = frame.count(), clean.count(), rejected.count()
        if rows_in != rows_used + rows_aside:
            raise AssertionError(f"{name}: {rows_in} rows read, {rows_used} used and {rows_aside} quarantined")
        self.quarantined_rows[name] = rows_aside
        return clean

    def _usual_values(self) -> Usual | None:
        if not self.request.is_of_everything:
            return None
        return usual_in(self.spark, self.warehouse, self.request.interval, self.configuration)


def used_sources(
    sources: Sources, request: RunRequest, configuration: Configuration, quarantined_from: Collection[str]
) -> Sources:
    """The rows that an earlier check of the same sources let through; it set rows aside from the tables named."""
    frames = dict(zip(SOURCES, sources.tables, strict=True))
    clean = (
        used(check.suite, with_reasons(check.suite, check.rows)).localCheckpoint()
        if check.suite.table.name in quarantined_from
        else frames[check.suite.table]
        for check in source_checks(frames, request, configuration, None)
    )
    return Sources(*clean)


def usual_in(spark: SparkSession, warehouse: Warehouse, interval: Interval, configuration: Configuration) -> Usual:
    """What is usual in the steps of the interval, by what was seen on the days before; empty at first."""
    if not warehouse.exists(spark, QUALITY_RESULTS):
        return {}
    results = warehouse.read(spark, QUALITY_RESULTS)
    return as_mapping(usual_values(results, interval, configuration.quality))


def record(spark: SparkSession, warehouse: Warehouse, run_id: str, results: Sequence[Result]) -> None:
    """Appends what the checks of a run saw to `quality_results`."""
    warehouse.create(spark, [QUALITY_RESULTS])
    run = {"run_id": run_id, "checked_at": datetime.now(UTC)}
    rows = spark.createDataFrame([run | one._asdict() for one in results], QUALITY_RESULTS.schema)
    writer = rows.coalesce(1).write.format("delta").mode("append")
    unless_outrun(lambda: warehouse.save(writer, QUALITY_RESULTS), "record what the checks saw")
