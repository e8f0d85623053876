"""Columns that people can guess and query: no reserved words, and one type for one name."""

from collections import defaultdict
from collections.abc import Iterator

import duckdb

from schemas import TABLES
from schemas.types import Array, Struct, Type, sql_type

#: Reserved by BigQuery, MySQL or Spark, and not by DuckDB or PostgreSQL.
_ELSEWHERE = """
by current_date current_time current_timestamp cross cube enum exists extract groups grouping hash if ignore inner
interval is join key keys left like merge natural new no nulls of outer over partition proto range rank recursive right
rows set sql start struct tablesample trigger unnest values within
"""


def columns(type: Type, path: str) -> Iterator[tuple[str, str, Type]]:
    """(path, name, type) of each column, inside of structs too."""
    match type:
        case Array():
            yield from columns(type.element, path)
        case Struct():
            for field in type:
                yield f"{path}.{field.name}", field.name, field.type
                yield from columns(field.type, f"{path}.{field.name}")


EVERY = [column for table in TABLES for column in columns(table.schema, table.name)]


def test_no_column_is_a_reserved_word() -> None:
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    reserved = {word for (word,) in duckdb.connect().execute(query).fetchall()} | {*_ELSEWHERE.split()}
    assert {"limit", "end", "start", "groups"} <= reserved
    assert [path for path, name, _ in EVERY if name in reserved] == []


def test_a_name_has_one_type() -> None:
    """Lists of structs differ in their fields, as each names what its table knows of a queue, for example."""
    types: dict[str, set[str]] = defaultdict(set)
    for _, name, type in EVERY:
        is_list = isinstance(type, Array) and isinstance(type.element, Struct)
        types[name].add("list of structs" if is_list else sql_type(type))
    assert {name: kinds for name, kinds in types.items() if len(kinds) > 1} == {}
