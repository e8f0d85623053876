"""`python -m schemas.handbook` writes docs/tables.md from the tables: text and code cannot part."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from schemas import OUTPUTS, SOURCES, TABLES, VIEWS, FlatView
from schemas.table import Table
from schemas.types import Array, Field, Map, Struct, Type
from schemas.views import ViewColumn

PAGE = Path(__file__).parents[1] / "docs" / "tables.md"
_FRAME = """<!-- Made by python -m schemas.handbook: change the tables, not this page. -->
# Tables and columns

All times are UTC, unknown is null, and a column in **bold** is never null. The keys of a map are names. `DESCRIBE`
shows the same.

## Common columns

The sections of tables name these in the key, or behind "Also". Results are partitioned by `step_start`, sources are
clustered by time.

{common}

{tables}
## Flat views

`rebalance-audit sql views` prints them for [DuckDB, Spark and Trino](object-stores.md#sql-and-bi-tools).

{views}"""
_PARTS = {
    "Sources: what was recorded": SOURCES,
    "Results, step by step": OUTPUTS,
    "Other tables": tuple(table for table in TABLES if table not in (*SOURCES, *OUTPUTS)),
}
#: Columns that at least so many tables have with one meaning are explained once.
_COMMON_TO = 3
_COUNTS = Counter(column for table in TABLES for column in table.schema)


def handbook() -> str:
    """The page: common columns, and a section per table and view."""
    common = sorted((column for column in _COUNTS if _is_common(column)), key=lambda column: -_COUNTS[column])
    return _FRAME.format(
        common="\n".join(map(_item, common)),
        tables="\n".join(line for title, tables in _PARTS.items() for line in _part(title, tables)),
        views="\n".join(line for view in VIEWS for line in _view(view)),
    )


def _is_common(column: Field) -> bool:
    return _COUNTS[column] >= _COMMON_TO


def _part(title: str, tables: tuple[Table, ...]) -> Iterator[str]:
    yield from (f"## {title}", "")
    for table in tables:
        yield from (f"### {table.name}", "", f"{table.comment}. Key: {_names(table.key)}.")
        if more := [column.name for column in table.schema if _is_common(column) and column.name not in table.key]:
            yield f"Also: {_names(more)}."
        yield from ("", *(_item(column) for column in table.schema if not _is_common(column)), "")


def _item(column: Field) -> str:
    name = f"`{column.name}`" if column.nullable else f"**`{column.name}`**"
    return f"- {name} {_type(column.type)}: {_text(column.comment or '')}"


def _text(comment: str) -> str:
    """The comment as Markdown, which takes `<name>` for a tag, without what the page says once."""
    return comment.removesuffix("; null: unknown").replace("<", "&lt;")


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _view(view: FlatView) -> Iterator[str]:
    """Columns of the table by their other names, and a row for each column that it computes."""
    renamed = _names(
        f"{column.name} ({old})" for column in view.columns if (old := _origin(column)) not in (None, column.name)
    )
    more = f", renamed: {renamed}" if renamed else ""
    grain = "" if view.comment == view.table.comment else f"{view.comment}. "
    yield from (
        f"### {view.name}",
        "",
        f"{grain}Columns of [{view.table.name}](#{view.table.name}){more}.",
        "",
    )
    if computed := [column for column in view.columns if _origin(column) is None]:
        yield from (f"- `{column.name}`: {_text(column.comment)}" for column in computed)
        yield ""


def _origin(column: ViewColumn) -> str | None:
    """The table's column that it is, with another name at most; None: it is computed."""
    name = column.expression.strip('"')
    return name if column.expression == f'"{name}"' else None


def _type(type: Type) -> str:
    if isinstance(type, Array):
        return f"list of {_type(type.element)}" if isinstance(type.element, Struct) else f"list[{_type(type.element)}]"
    if isinstance(type, Map):
        return f"map[{_type(type.value)}]"
    if isinstance(type, Struct):
        return f"({', '.join(type.names)})"
    return type


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
