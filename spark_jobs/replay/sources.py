"""The source tables of one run, as the replay reads them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Sources:
    """The snapshots of a run's read window, each with the columns of its module in `schemas`."""

    memberships: DataFrame
    routes: DataFrame
    topics: DataFrame
    offsets: DataFrame
    clients: DataFrame

    @property
    def tables(self) -> tuple[DataFrame, ...]:
        """In the order of `schemas.SOURCES`."""
        return (self.memberships, self.routes, self.topics, self.offsets, self.clients)
