"""Which columns an older table lacks, those inside of arrays too, and what adding them does not mend."""

from dataclasses import replace

from schemas.differences import lasting_differences, missing_columns
from schemas.table import Table
from schemas.types import BOOLEAN, LONG, STRING, Array, Field, Struct, array_of, as_json, fields, required

TABLE = Table(
    name="t",
    comment="",
    schema=Struct(
        required("key", STRING, ""),
        Field("queues", array_of(*fields(STRING, "topic"), *fields(LONG, "pulled", "locked"))),
        Field("listed", BOOLEAN),
    ),
    key=("key",),
)


def missing(*columns: Field) -> list[tuple[str, object]]:
    return [(field.name, field.type) for field in missing_columns(as_json(Struct(*columns)), TABLE)]


def lasting(*columns: Field) -> list[str]:
    return lasting_differences(as_json(Struct(*columns)), TABLE)


KEY, LISTED = Field("key", STRING), Field("listed", BOOLEAN)
OLDER = Field("queues", array_of(*fields(STRING, "topic"), *fields(LONG, "pulled")))


def test_a_field_inside_of_an_array_is_added_by_its_path() -> None:
    assert missing(*TABLE.schema) == []
    assert missing(KEY, OLDER, LISTED) == [("queues.element.locked", LONG)]
    assert missing(KEY, OLDER) == [("queues.element.locked", LONG), ("listed", BOOLEAN)]
    assert missing(KEY) == [("queues", TABLE.schema["queues"].type), ("listed", BOOLEAN)]


def test_a_list_inside_of_an_array_is_there() -> None:
    members = Field("members", array_of(Field("id", STRING), Field("tags", Array(STRING))))
    table = replace(TABLE, schema=Struct(KEY, members))
    assert missing_columns(as_json(table.schema), table) == ()
    without = missing_columns(as_json(Struct(KEY, Field("members", array_of(Field("id", STRING))))), table)
    assert [field.name for field in without] == ["members.element.tags"]


def test_what_adding_columns_does_not_mend() -> None:
    assert lasting(KEY, OLDER) == []
    assert lasting(OLDER, LISTED) == ["column key (string) is missing"]
    others = Field("queues", array_of(*fields(LONG, "topic", "pulled", "offset")))
    expected = ["column queues[].offset (bigint) is not known", "column queues[].topic is bigint, not string"]
    assert lasting(KEY, others) == expected
