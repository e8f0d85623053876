"""The command that prints SQL, to be run elsewhere: tables, and the flat views of `schemas.views` for each engine."""

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schemas import SOURCES, VIEWS, FlatView, Table
from spark_jobs.errors import ExitCode, UsageError
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, sql_literal
from spark_jobs.store.sql import create_table, literal


def sql_command(arguments: Namespace) -> int:
    """Print the statements, each with a semicolon."""
    location = Location.parse(arguments.warehouse)
    if arguments.WHAT == "sources":
        statements = [create_table(table, location.identifier(table.name)) for table in SOURCES]
    else:
        statements = [*view_statements(location, arguments.engine)]
    print(*(f"{statement};" for statement in statements), sep="\n\n")
    return ExitCode.CLEAN


_PLACE = re.compile(r"\{(rows|texts|each)(?::(\w+))?(?::(\w+):([\w,]+))?\}")


@dataclass(frozen=True)
class Engine:
    """How an engine writes what others write differently: `texts` and `each` have {} for column, alias and fields."""

    quote: str
    texts: str
    each: str
    first: tuple[str, ...] = ()


ENGINES: Mapping[str, Engine] = {
    "duckdb": Engine(
        '"',
        "array_to_string({column}, ', ')",
        " LEFT JOIN LATERAL (SELECT unnest({column}) AS {alias}) elements ON true",
        ("INSTALL delta", "LOAD delta"),
    ),
    "spark": Engine("`", "array_join({column}, ', ')", " LATERAL VIEW OUTER explode({column}) elements AS {alias}"),
    "trino": Engine('"', "array_join({column}, ', ')", " LEFT JOIN UNNEST({column}) AS {alias}({fields}) ON true"),
}


def view_statements(location: Location, engine: str) -> Iterator[str]:
    """Statements that create all views. Raises `UsageError` for Trino and a path: it reads only catalogs."""
    if engine == "trino" and not location.in_catalog:
        raise UsageError(
            "Trino reads tables of a catalog only: register them with CALL system.register_table, and give "
            "--warehouse catalog.schema"
        )
    yield from () if location.in_catalog else ENGINES[engine].first
    for view in VIEWS:
        yield from _statements(view, location, engine)


def _statements(view: FlatView, location: Location, engine: str) -> Iterator[str]:
    name = location.identifier(view.name) if location.in_catalog else view.name
    columns = [
        f"{_expression(column.expression, view.table, location, engine)} AS {column.name}" for column in view.columns
    ]
    source = _expression(view.source, view.table, location, engine)
    query = "SELECT\n  " + ",\n  ".join(columns) + f"\nFROM {source}"
    if engine == "spark":
        named = ",\n  ".join(f"{column.name} COMMENT {literal(column.comment)}" for column in view.columns)
        yield f"CREATE OR REPLACE VIEW {name} (\n  {named}\n) COMMENT {literal(view.comment)} AS {query}"
        return
    yield f"CREATE OR REPLACE VIEW {name} AS {query}"
    yield f"COMMENT ON VIEW {name} IS {_comment(view.comment)}"
    for column in view.columns:
        yield f"COMMENT ON COLUMN {name}.{column.name} IS {_comment(column.comment)}"


def _comment(text: str) -> str:
    """The text as standard SQL, which escapes no semicolon as `literal` does: a comma stands in its place."""
    return sql_literal(text.replace(";", ","))


def _expression(text: str, table: Table, location: Location, engine: str) -> str:
    words = ENGINES[engine]

    def written(match: re.Match[str]) -> str:
        kind, column, alias, fields = match.groups()
        if kind == "rows":
            return _rows(table, location, engine)
        template = words.texts if kind == "texts" else words.each
        return template.format(
            column=f"{words.quote}{column}{words.quote}", alias=alias, fields=(fields or "").replace(",", ", ")
        )

    return _PLACE.sub(written, text.replace('"', words.quote))


def _rows(table: Table, location: Location, engine: str) -> str:
    if engine != "duckdb" or location.in_catalog:
        return location.identifier(table.name)
    return f"delta_scan({sql_literal(DeltaTables(location).uri(table))})"
