"""When things were seen, thing by thing; which queues are gone by that. No Spark."""

from dataclasses import replace

import pyarrow as pa
import pytest

from spark_jobs.config import Configuration
from spark_jobs.domain.model.window import HOUR, SECOND, from_micros
from spark_jobs.operate.late import known_before
from spark_jobs.pipeline.gather.sightings import LostQueues, lost_queues, sighted

UTC = pa.timestamp("us", "UTC")
_TEXTS = [(name, pa.string()) for name in ("cluster", "consumer_group", "topic")]
_THING = [*_TEXTS, ("deleted", pa.bool_()), ("broker_name", pa.string()), ("read_queue_nums", pa.int32())]
SCHEMA = pa.schema([*_THING, ("times", pa.list_(pa.int64()))])
#: The run reads from 10:30 on the first of January 1970.
READ_FROM = from_micros(10 * HOUR + HOUR // 2)


def minute(hours: int, minutes: int) -> int:
    return hours * HOUR + minutes * 60 * SECOND


#: A group; a topic with a broker and its read queues, or without a route.
Names = str | tuple[str, str | None, int]


def seen_at(*rows: tuple[Names, list[int]]) -> pa.Table:
    """What was seen, and when."""
    things = [
        (names, None, None, None, 1) if isinstance(names, str) else (None, names[0], None, *names[1:])
        for names, _ in rows
    ]
    values = [("c", *thing, times) for thing, (_, times) in zip(things, rows, strict=True)]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], SCHEMA)


@pytest.mark.parametrize("nullable", [True, False])
def test_of_the_hours_before_the_read_window_the_last_time_is_enough(*, nullable: bool) -> None:
    """Spark says of required columns that they have no nulls, delta-rs does not."""
    group, deleted = ("c", "g", None, None, None), ("c", "g", None, True, None)
    broker, no_route = ("c", None, "t", None, "a"), ("c", None, "t", None, None)
    hours = (
        (*group, None, 3, minute(3, 1), minute(3, 2)),
        (*group, None, 10, minute(10, 3), minute(10, 4)),  # the read window begins in this one
        (*group, None, 9, minute(9, 5), minute(9, 6)),
        (*group, None, 11, minute(11, 7), minute(11, 8)),
        (*deleted, None, 9, minute(9, 7), minute(9, 8)),
        (*broker, 8, 3, minute(3, 9), minute(3, 10)),
        (*broker, 4, 3, minute(3, 11), minute(3, 12)),
        # Before the number was recorded, and since.
        (*broker, None, 4, minute(4, 1), minute(4, 2)),
        (*broker, 1, 5, minute(5, 1), minute(5, 2)),
        (*no_route, None, 6, minute(6, 1), minute(6, 2)),
        ("d", *broker[1:], 8, 10, minute(10, 11), minute(10, 12)),
    )
    stored = pa.schema(
        [
            pa.field("cluster", pa.string(), nullable),
            *_THING[1:],
            *(pa.field(time, UTC, nullable) for time in ("hour", "first_at", "last_at")),
        ]
    )
    rows = [dict(zip(stored.names, (*row[:6], row[6] * HOUR, *row[7:]), strict=True)) for row in hours]
    found = sighted(pa.Table.from_pylist(rows, stored), READ_FROM)
    assert found.schema == SCHEMA
    assert {tuple(row.values())[:-1]: sorted(row["times"]) for row in found.to_pylist()} == {
        (*group, 1): [minute(9, 6), minute(10, 3), minute(10, 4), minute(11, 7), minute(11, 8)],
        (*deleted, 1): [minute(9, 8)],
        (*broker, 8): [minute(3, 10)],
        (*broker, 4): [minute(3, 12)],
        (*broker, 1): [minute(5, 2)],
        (*no_route, 1): [minute(6, 2)],
        ("d", *broker[1:], 8): [minute(10, 11), minute(10, 12)],
    }
    assert sighted(pa.table([[]] * 9, stored), READ_FROM).schema == SCHEMA


def test_a_step_knows_that_a_group_was_captured_and_in_which_hour_queues_were_readable_last() -> None:
    """Each step from its own window back, here 7 minutes before it, no further than two hours before it."""
    seen = seen_at(
        ("g", [minute(9, 5), minute(9, 55)]),
        (("t", "a", 4), [minute(9, 5), minute(10, 10), minute(10, 50)]),
        (("t", "b", 4), [minute(10, 53), minute(11, 30)]),
        (("t", "b", 8), [minute(9, 5), minute(9, 6)]),
        (("u", None, 1), [minute(9, 5), minute(9, 6)]),
    )
    settings = Configuration(sightings_days=0).audit_settings
    steps = [10 * HOUR, 11 * HOUR, 12 * HOUR]
    known = known_before(seen, replace(settings, sightings=2 * HOUR), steps)
    early = {("c", "t", "b", 8, 9 * HOUR), ("c", "u", None, 1, 9 * HOUR)}
    assert known == {
        10 * HOUR: {("c", "g"), ("c", "t", "a", 4, 9 * HOUR)} | early,
        11 * HOUR: {("c", "g"), ("c", "t", "a", 4, 10 * HOUR)} | early,
        12 * HOUR: {("c", "t", "a", 4, 10 * HOUR), ("c", "t", "b", 4, 11 * HOUR)},
    }


def test_queues_that_some_route_of_their_topic_lacks_are_gone() -> None:
    early, edge = [minute(3, 5), minute(3, 55)], [minute(10, 10), minute(10, 50)]
    seen = seen_at(
        ("g", early),
        (("t", "a", 4), early),
        (("t", "b", 4), early),
        (("t", "c", 4), [*early, *edge]),
        (("u", "a", 8), early),
        (("u", "a", 6), edge),
        (("u", "a", 4), edge),
        (("u", None, 1), early),
        (("unseen", "b", 4), early),
    )
    all_of_t = {"a": 4, "b": 4, "c": 4}
    routes = [
        ("c", "t", all_of_t),
        ("c", "t", {"a": 4}),
        ("other", "t", {}),
        ("c", "u", {"a": 8}),
        ("c", "u", {"a": 4}),
    ]
    of_t = LostQueues("c", "t", ["b", "c"], [3 * HOUR, 10 * HOUR])
    assert lost_queues(seen, routes, READ_FROM) == [of_t, LostQueues("c", "u", ["a", "a"], [3 * HOUR, 10 * HOUR])]
    assert lost_queues(seen, routes[:1], READ_FROM) == []


def test_what_was_first_seen_by_the_run_itself_is_not_gone() -> None:
    late = [minute(10, 30), minute(10, 31)]
    assert lost_queues(seen_at((("t", "b", 4), late)), [("c", "t", {})], READ_FROM) == []
