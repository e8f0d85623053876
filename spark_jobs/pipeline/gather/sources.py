"""The source tables of one run, as the audit reads them, and the time of the run."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from schemas import SOURCES, Table
from spark_jobs.domain.model.intervals import Interval


@dataclass(frozen=True)
class Sources:
    """The snapshots of a run's read window, each with the columns of its module in `schemas`."""

    memberships: DataFrame
    routes: DataFrame
    topics: DataFrame
    offsets: DataFrame
    clients: DataFrame

    @property
    def by_table(self) -> dict[Table, DataFrame]:
        """Each frame by its table."""
        return dict(zip(SOURCES, self.tables, strict=True))

    @property
    def tables(self) -> tuple[DataFrame, ...]:
        """In the order of `schemas.SOURCES`."""
        return (self.memberships, self.routes, self.topics, self.offsets, self.clients)


@dataclass(frozen=True)
class RunWindow:
    """The steps that a run publishes, and the snapshots that it reads: with the look-back of its first step."""

    run: Interval
    read: Interval
