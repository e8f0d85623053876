"""Rows are added to a table without Spark."""

from __future__ import annotations

from pathlib import Path

from schemas.table import Table
from schemas.types import STRING, Struct, required
from spark_jobs.store.read.delta import delta_tables


def things(comment: str) -> Table:
    return Table(name="things", comment="", schema=Struct(required("name", STRING, comment)), key=("name",))


def test_a_table_takes_rows_when_its_comments_have_other_words(tmp_path: Path) -> None:
    tables = delta_tables(str(tmp_path))
    tables.append(things("who was told"), [{"name": "a"}])
    tables.append(things("who received it"), [{"name": "b"}])
    assert sorted(tables.read(things(""), ("name",)).column("name").to_pylist()) == ["a", "b"]
