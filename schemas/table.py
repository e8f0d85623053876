"""A table: its columns with their meaning, key, layout and constraints, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from schemas.types import Array, Struct, Type


@dataclass(frozen=True, eq=False)
class Table:
    """One Delta table of the warehouse.

    `generated` maps a column to the SQL that derives it; such a column is not written by jobs. `checks` maps a
    constraint's name to SQL that every row must satisfy. A table is laid out by `partition_by` (outputs: a publish
    replaces whole partitions, and two steps never conflict) or by `cluster_by` (sources: files are skipped by time).
    `former` maps a column, or a field of its structs (`evidence.queues.started_at`), to its own name before version 2.
    """

    name: str
    comment: str
    schema: Struct
    key: tuple[str, ...]
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    generated: Mapping[str, str] = field(default_factory=dict)
    former: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns a job writes: all but the generated ones, in the table's order."""
        return tuple(name for name in self.schema.names if name not in self.generated)

    @cached_property
    def before_version_2(self) -> Table:
        """The same columns in the same order, under their former names."""
        return replace(self, schema=_with_names(self.schema, self.former), former={})


def _with_names(schema: Struct, names: Mapping[str, str], parents: str = "") -> Struct:
    """The columns, some of them under other names, by path."""

    def typed(type: Type, path: str) -> Type:
        if isinstance(type, Array):
            return Array(typed(type.element, path))
        return _with_names(type, names, f"{path}.") if isinstance(type, Struct) else type

    paths = [(f"{parents}{column.name}", column) for column in schema]
    return Struct(
        *(replace(column, name=names.get(path, column.name), type=typed(column.type, path)) for path, column in paths)
    )
