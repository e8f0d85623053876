"""Columns that people can guess and query: no reserved words, and one type for one name."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from schemas import FINDINGS, TABLES, Table
from schemas.types import Array, Struct, Type, as_json, sql_type
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.stored import Filter, rows
from tests.support.rows import finding
from tests.support.stored import arrow_table
from tests.support.times import at

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


@pytest.mark.parametrize("table", [table for table in TABLES if table.former], ids=lambda table: table.name)
def test_former_names_are_of_columns_that_are_there(table: Table) -> None:
    paths = {path.partition(".")[2] for path, *_ in columns(table.schema, table.name)}
    assert table.former.keys() <= paths
    assert sql_type(table.before_version_2.schema).count(",") == sql_type(table.schema).count(",")
    # An upgrade leaves it out for a moment.
    assert table.schema.fields[-1].nullable


def test_a_version_of_before_is_read_under_the_names_of_today(tmp_path: Path) -> None:
    queue = {"topic": "t", "broker_name": "b", "queue_id": 1, "started_at": at(0), "ended_at": None}
    values = {"name": "AVG", "client_ids": ["c1", "c2"]}
    evidence = {"queues": [queue], "conflicting_values": [values], "member_count": 2}
    row = finding(cause="NO_MEMBERS", finding_id="f", step_start=at(0), evidence=evidence, active_since=at(-5))
    today = arrow_table(FINDINGS, [row, row | {"finding_id": "g", "evidence": {"queues": []}}])
    former = arrow_schema(FINDINGS.before_version_2)
    arrays = [today[place].combine_chunks().view(field.type) for place, field in enumerate(former)]
    place = str(tmp_path / FINDINGS.name)
    DeltaTable.create(place, Schema.from_json(json.dumps(as_json(FINDINGS.before_version_2.schema))))
    write_deltalake(place, type(today).from_arrays(arrays, schema=former), mode="append")
    DeltaTable(place).update({"cause": "'NOBODY_CONNECTED'"})
    wanted = ("ended_at", "evidence", "finding_id", "cause")
    read = delta_tables(str(tmp_path)).read(FINDINGS, wanted, [Filter("started_at", "=", at(0))], 2)
    assert sorted(rows(read), key=lambda one: one["finding_id"]) == rows(today.select(wanted))
    assert read.schema.field("evidence").type == arrow_schema(FINDINGS).field("evidence").type
    with pytest.raises(Exception, match=r"column evidence\.parties is called evidence\.conflicting_values now"):
        delta_tables(str(tmp_path)).read(FINDINGS, wanted)
