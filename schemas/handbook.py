"""`python -m schemas.handbook` writes docs/tables.md from the tables: text and code cannot part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from schemas import OUTPUTS, SOURCES, TABLES, VIEWS, FlatView
from schemas.table import Table
from schemas.types import Array, Map, Struct, Type

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
_FRAME = """<!-- Made by python -m schemas.handbook: change the tables, not this page. -->
# Tables and columns

Every table of a warehouse, and what its columns mean, as `DESCRIBE` shows it. All times are UTC, unknown is null, and
a column in **bold** is never null. In a catalog the tables have the same names. [Consistency](reliability.md) says
how they are written, and [object-stores.md](object-stores.md) how others read them.
"""
_FRAME_OF_VIEWS = """## Flat views

`rebalance-audit sql views` prints them for [DuckDB, Spark and Trino](object-stores.md#sql-and-bi-tools).
"""
_PARTS = {
    "What was recorded": SOURCES,
    "What an audit publishes, step by step": OUTPUTS,
    "Beside them": tuple(table for table in TABLES if table not in (*SOURCES, *OUTPUTS)),
}


def handbook() -> str:
    """The page: a section per table."""
    tables = (line for title, tables in _PARTS.items() for line in _part(title, tables))
    return "\n".join((_FRAME, *tables, _FRAME_OF_VIEWS, *(line for view in VIEWS for line in _view(view))))


def _part(title: str, tables: tuple[Table, ...]) -> Iterator[str]:
    yield from (f"## {title}", "")
    for table in tables:
        keys = ", ".join(f"`{name}`" for name in table.key)
        laid_out = ", ".join(f"`{name}`" for name in table.partition_by or table.cluster_by)
        how = "Partitioned by" if table.partition_by else "Laid out by"
        layout = f" {how} {laid_out}." if laid_out else ""
        yield from (f"### {table.name}", "", f"{table.comment}. Key: {keys}.{layout}", "")
        yield from ("| column | type | meaning |", "|---|---|---|")
        for column in table.schema:
            name = f"`{column.name}`" if column.nullable else f"**`{column.name}`**"
            yield f"| {name} | {_type(column.type)} | {(column.comment or '').replace('|', chr(92) + '|')} |"
        yield ""


def _view(view: FlatView) -> Iterator[str]:
    yield from (f"### {view.name}", "", f"{view.comment}.", "", "| column | meaning |", "|---|---|")
    yield from (f"| `{column.name}` | {column.comment.replace('|', chr(92) + '|')} |" for column in view.columns)
    yield ""


def _type(type: Type) -> str:
    if isinstance(type, Array):
        return f"list of {_type(type.element)}"
    if isinstance(type, Map):
        return f"map from name to {_type(type.value)}"
    if isinstance(type, Struct):
        return f"({', '.join(type.names)})"
    return type


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
