import pytest

from spark_jobs.domain.rocketmq.allocation import java_split, machine_room, room_of
from spark_jobs.domain.rocketmq.strategies import Variant


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("room1@b", ["room1", "b"]),
        ("room1@b@", ["room1", "b"]),
        ("room1@", ["room1"]),
        ("@room1", ["", "room1"]),
        ("a@b@c", ["a", "b", "c"]),
        ("a@@c", ["a", "", "c"]),
        ("@", []),
        ("", [""]),
        ("plain", ["plain"]),
    ],
)
def test_splits_as_java_does(name: str, parts: list[str]) -> None:
    assert java_split(name, "@") == parts


@pytest.mark.parametrize(
    ("name", "room"), [("room1@b", "room1"), ("@room1", ""), ("room1@", None), ("a@b@c", None), ("plain", None)]
)
def test_the_room_of_a_broker_name_of_two_parts(name: str, room: str | None) -> None:
    assert machine_room(name) == room


@pytest.mark.parametrize(
    ("pattern", "name", "room"),
    [
        ("@([^-]+)-", "10.0.0.1@a-1", "a"),  # found anywhere
        ("-(.*)$", "broker-b", "b"),
        ("-(.*)$", "broker-", None),  # empty
        ("-(x)?", "broker-b", None),  # the group took no part
        ("(room)", "elsewhere", None),
    ],
)
def test_the_room_a_pattern_finds(pattern: str, name: str, room: str | None) -> None:
    assert room_of(pattern, name) == room


@pytest.mark.parametrize(
    ("name", "room"),
    [("room1@b", "room1"), ("@room1", ""), ("room1@", "room1"), ("@", ""), ("room1@b@", None), ("plain", None)],
)
def test_go_keeps_the_empty_part_behind_the_last_at(name: str, room: str | None) -> None:
    assert machine_room(name, Variant.GO) == room
