"""A table: its columns with their meaning, key, layout and constraints, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from schemas.types import Struct


@dataclass(frozen=True, eq=False)
class Table:
    """One Delta table of the warehouse.

    `generated` maps a column to the SQL that derives it; such a column is not written by jobs. `checks` maps a
    constraint's name to SQL that every row must satisfy. A table is laid out by `partition_by` (outputs: a publish
    replaces whole partitions, and two steps never conflict) or by `cluster_by` (sources: files are skipped by time).
    """

    name: str
    comment: str
    schema: Struct
    key: tuple[str, ...]
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    generated: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns a job writes: all but the generated ones, in the table's order."""
        return tuple(name for name in self.schema.names if name not in self.generated)

    @cached_property
    def layout(self) -> Mapping[str, str]:
        """Delta's properties of the files' statistics. A partitioned table keeps those of names only: a reader reads
        all of them with the log, and a year of steps has thousands of files.
        """
        return {"delta.dataSkippingStatsColumns": "cluster,consumer_group"} if self.partition_by else {}
