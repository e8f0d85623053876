"""When things were seen, thing by thing; which brokers are gone by that. No Spark."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from spark_jobs.config import Configuration
from spark_jobs.domain.model.window import HOUR, SECOND, from_micros
from spark_jobs.pipeline.gather.sightings import LostBrokers, known_before, lost_brokers, sighted

NAMES = ("cluster", "consumer_group", "topic", "broker_name", "deleted", "times")
TIMES, UTC = ("hour", "first_at", "last_at"), pa.timestamp("us", "UTC")
_TEXTS = [(name, pa.string()) for name in NAMES[:-2]]
SCHEMA = pa.schema([*_TEXTS, ("deleted", pa.bool_()), ("times", pa.list_(pa.int64()))])
#: The run reads from 10:30 on the first of January 1970.
READ_FROM = from_micros(10 * HOUR + HOUR // 2)


def minute(hours: int, minutes: int) -> int:
    return hours * HOUR + minutes * 60 * SECOND


def seen_at(*rows: tuple[str | None, str | None, str | None, list[int]]) -> pa.Table:
    """Group, topic, broker, times."""
    return pa.Table.from_pylist(
        [dict(zip(NAMES, ("c", *names, None, times), strict=True)) for *names, times in rows], SCHEMA
    )


@pytest.mark.parametrize("nullable", [True, False])
def test_of_the_hours_before_the_read_window_the_last_time_is_enough(*, nullable: bool) -> None:
    """Spark says of required columns that they have no nulls, delta-rs does not."""
    group, deleted, broker = ("c", "g", None, None, None), ("c", "g", None, None, True), ("c", None, "t", "a", None)
    hours = (
        (*group, 3, minute(3, 1), minute(3, 2)),
        (*group, 10, minute(10, 3), minute(10, 4)),  # the read window begins in this one
        (*group, 9, minute(9, 5), minute(9, 6)),
        (*group, 11, minute(11, 7), minute(11, 8)),
        (*deleted, 9, minute(9, 7), minute(9, 8)),
        (*broker, 3, minute(3, 9), minute(3, 10)),
        ("d", *broker[1:], 10, minute(10, 11), minute(10, 12)),
    )
    names = [pa.field("cluster", pa.string(), nullable), *_TEXTS[1:], ("deleted", pa.bool_())]
    stored = pa.schema([*names, *(pa.field(time, UTC, nullable) for time in TIMES)])
    rows = [dict(zip(stored.names, (*row[:5], row[5] * HOUR, *row[6:]), strict=True)) for row in hours]
    found = sighted(pa.Table.from_pylist(rows, stored), READ_FROM)
    assert found.schema == SCHEMA
    assert {tuple(row.values())[:-1]: sorted(row["times"]) for row in found.to_pylist()} == {
        group: [minute(9, 6), minute(10, 3), minute(10, 4), minute(11, 7), minute(11, 8)],
        deleted: [minute(9, 8)],
        broker: [minute(3, 10)],
        ("d", *broker[1:]): [minute(10, 11), minute(10, 12)],
    }
    assert sighted(pa.table([[]] * 8, stored), READ_FROM).schema == SCHEMA


def test_a_step_knows_that_a_group_was_captured_and_in_which_hour_a_broker_was_readable_last() -> None:
    """Each step from its own window back, here 7 minutes before it, no further than two hours before it."""
    seen = seen_at(
        ("g", None, None, [minute(9, 5), minute(9, 55)]),
        (None, "t", "a", [minute(9, 5), minute(10, 10), minute(10, 50)]),
        (None, "t", "b", [minute(10, 53), minute(11, 30)]),
    )
    settings = Configuration(sightings_days=0).audit_settings
    steps = [10 * HOUR, 11 * HOUR, 12 * HOUR]
    known = known_before(seen, replace(settings, sightings=2 * HOUR), steps)
    assert known == {
        10 * HOUR: {("c", "g"), ("c", "t", "a", 9 * HOUR)},
        11 * HOUR: {("c", "g"), ("c", "t", "a", 10 * HOUR)},
        12 * HOUR: {("c", "t", "a", 10 * HOUR), ("c", "t", "b", 11 * HOUR)},
    }


def test_a_broker_that_some_route_of_its_topic_lacks_is_gone() -> None:
    early, edge = [minute(3, 5), minute(3, 55)], [minute(10, 10), minute(10, 50)]
    seen = seen_at(
        ("g", None, None, early),
        (None, "t", "a", early),
        (None, "t", "b", early),
        (None, "t", "c", [*early, *edge]),
        (None, "unseen", "b", early),
    )
    routes = [("c", "t", ["a", "b", "c"]), ("c", "t", ["a"]), ("other", "t", []), ("c", "u", [])]
    assert lost_brokers(seen, routes, READ_FROM) == [LostBrokers("c", "t", ["b", "c"], [3 * HOUR, 10 * HOUR])]
    assert lost_brokers(seen, routes[:1], READ_FROM) == []


def test_what_was_first_seen_by_the_run_itself_is_not_gone() -> None:
    late = [minute(10, 30), minute(10, 31)]
    assert lost_brokers(seen_at((None, "t", "b", late)), [("c", "t", [])], READ_FROM) == []
