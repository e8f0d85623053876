"""Values that delta-rs reads and adds: Arrow's as Python's, conditions as SQL."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from schemas import FINDINGS, Table
from schemas.types import INTEGER, LONG, STRING, TIMESTAMP, Array, Field, Map, Struct, required
from spark_jobs.errors import SchemaMismatchError, WarehouseError
from spark_jobs.store.read.delta import DeltaTables, delta_tables
from spark_jobs.store.read.stored import Filter, rows, values

NOON = datetime(2026, 11, 21, 12, 0, 0, 1, tzinfo=UTC)
_TIME = pa.timestamp("us", "UTC")
NESTED = pa.list_(pa.struct([("at", _TIME), ("names", pa.list_(pa.string()))]))


@pytest.mark.parametrize(
    ("type", "given"),
    [
        (pa.string(), ["a", None, ""]),
        (pa.float64(), [0.5, None]),
        (_TIME, [NOON, None]),
        (pa.list_(pa.int64()), [[1, None], None, [], [2]]),
        (pa.struct([("x", pa.int32()), ("at", _TIME)]), [{"x": 1, "at": NOON}, None, {"x": None, "at": None}]),
        (NESTED, [[{"at": NOON, "names": ["a", "b"]}, None], None, [], [{"at": None, "names": None}]]),
        (pa.map_(pa.string(), pa.int64()), [{"a": 1, "b": 2}, None, {}]),
    ],
)
def test_values_are_pythons_own(type: pa.DataType, given: list[Any]) -> None:
    stored = [list(value.items()) if pa.types.is_map(type) and value is not None else value for value in given]
    array = pa.array(stored, type)
    assert values(array) == given
    assert values(pa.concat_arrays([array, array]).slice(1, len(given))) == [*given[1:], given[0]]


_TABLE = Table(
    "things",
    "",
    Struct(
        Field("name", STRING),
        Field("size", LONG),
        Field("seen_at", TIMESTAMP),
        Field("parts", Array(Struct(Field("x", INTEGER)))),
        Field("counts", Map(LONG)),
    ),
    ("name",),
)
HOSTILE = ["it's", "a\\", '"', "';--", "\n", "\U0001f600", "", "%", "\u202e"]


@pytest.fixture
def things(tmp_path: Path) -> DeltaTables:
    """A thing of each hostile name; its size is its place, its time so many seconds after noon."""
    columns: dict[str, pa.Array] = {
        "name": pa.array([*HOSTILE, None], pa.string()),
        "size": pa.array([*range(len(HOSTILE)), None], pa.int64()),
        "seen_at": pa.array([NOON.replace(second=place) for place in range(len(HOSTILE) + 1)], _TIME),
        "parts": pa.array([[{"x": 1}]] * (len(HOSTILE) + 1), pa.list_(pa.struct([("x", pa.int32())]))),
        "counts": pa.array([[("k", 1)]] * (len(HOSTILE) + 1), pa.map_(pa.string(), pa.int64())),
    }
    write_deltalake(tmp_path / "things", pa.table(columns))
    return delta_tables(str(tmp_path))


def sizes(table: pa.Table) -> list[int | None]:
    return sorted((row["size"] for row in rows(table)), key=lambda size: (size is None, size))


@pytest.mark.parametrize(("place", "name"), [*enumerate(HOSTILE)])
def test_a_hostile_name_finds_its_row_and_no_other(things: DeltaTables, place: int, name: str) -> None:
    assert sizes(things.read(_TABLE, ["size"], [Filter("name", "=", name)])) == [place]


def test_conditions_hold_together_and_null_keeps_none(things: DeltaTables) -> None:
    def read(*conditions: Filter) -> list[int | None]:
        return sizes(things.read(_TABLE, ["size"], conditions))

    assert read() == [*range(len(HOSTILE)), None]
    assert read(Filter("size", ">=", 0)) == [*range(len(HOSTILE))]
    assert read(Filter("name", "IN", ["it's", "%", "no"])) == [0, 7]
    assert read(Filter("name", "IN", [])) == []
    after = Filter("seen_at", ">", NOON.replace(second=3))
    assert read(after, Filter("seen_at", "<=", NOON.replace(second=5))) == [4, 5]


def test_columns_come_as_they_are_stored(things: DeltaTables) -> None:
    (row,) = rows(things.read(_TABLE, _TABLE.columns, [Filter("size", "=", 0)]))
    seen_at = NOON.replace(second=0)
    assert row == {"name": "it's", "size": 0, "seen_at": seen_at, "parts": [{"x": 1}], "counts": {"k": 1}}
    assert row["seen_at"].tzinfo is UTC


def test_a_version_stays_as_it_was(things: DeltaTables, tmp_path: Path) -> None:
    write_deltalake(tmp_path / "things", things.read(_TABLE, _TABLE.columns), mode="append")
    assert len(sizes(things.read(_TABLE, ["size"]))) == 2 * (len(HOSTILE) + 1)
    assert len(sizes(things.read(_TABLE, ["size"], version=0))) == len(HOSTILE) + 1


def test_what_cannot_be_read_is_named_with_its_table(things: DeltaTables, tmp_path: Path) -> None:
    assert not things.exists(FINDINGS)
    with pytest.raises(WarehouseError, match="there is no table findings in the warehouse"):
        things.read(FINDINGS, ["rule"])
    other = Table("things", "", Struct(Field("name", LONG), Field("shape", STRING)), ("name",))
    with pytest.raises(SchemaMismatchError, match=r"column name is string, not bigint; column parts\[\].x .int. is"):
        things.read(other, ["name"])
    for file in (tmp_path / "things").glob("*.parquet"):
        file.unlink()
    with pytest.raises(WarehouseError, match=r"the table .*things cannot be read: "):
        things.read(_TABLE, ["size"])


def test_a_table_takes_rows_when_its_comments_have_other_words(tmp_path: Path) -> None:
    tables = delta_tables(str(tmp_path))
    for comment, name in (("who was told", "a"), ("who received it", "b")):
        table = Table("things", "", Struct(required("name", STRING, comment)), ("name",))
        tables.append(table, [{"name": name}])
    assert sorted(row["name"] for row in rows(tables.read(table, ["name"]))) == ["a", "b"]


def test_a_table_that_was_opened_before_shows_what_became_of_it(tmp_path: Path) -> None:
    """Rows that another process adds, their table that is gone, and one in its place."""
    table = Table("things", "", Struct(required("name", STRING, "")), ("name",))
    tables = delta_tables(str(tmp_path))

    def names(version: int | None = None) -> list[str]:
        return sorted(row["name"] for row in rows(tables.read(table, ["name"], version=version)))

    for name, known in (("a", ["a"]), ("b", ["a", "b"])):
        delta_tables(str(tmp_path)).append(table, [{"name": name}])
        assert names() == known
    first, *_ = (version for version in range(3) if names(version) == ["a"])
    assert (names(first), names()) == (["a"], ["a", "b"])
    shutil.rmtree(tmp_path / "things")
    with pytest.raises(WarehouseError, match="there is no table things"):
        names()
    delta_tables(str(tmp_path)).append(table, [{"name": "c"}])
    assert names() == ["c"]
