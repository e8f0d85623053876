"""Which brokers are gone, by what was seen before."""

from __future__ import annotations

import pyarrow as pa

from spark_jobs.domain.window import HOUR, SECOND, from_micros
from spark_jobs.gather.sightings import Gone, gone_brokers

NAMES = ("cluster", "consumer_group", "topic", "broker_name", "times")
SCHEMA = pa.schema([*((name, pa.string()) for name in NAMES[:-1]), ("times", pa.list_(pa.int64()))])
#: The run reads from 10:30 on the first of January 1970.
READ_FROM = from_micros(10 * HOUR + HOUR // 2)


def minute(hours: int, minutes: int) -> int:
    return hours * HOUR + minutes * 60 * SECOND


def sighted(*rows: tuple[str | None, str | None, str | None, list[int]]) -> pa.Table:
    """Group, topic, broker, times."""
    return pa.Table.from_pylist([dict(zip(NAMES, ("c", *row), strict=True)) for row in rows], SCHEMA)


def test_a_broker_that_some_route_of_its_topic_lacks_is_gone() -> None:
    early, edge = [minute(3, 5), minute(3, 55)], [minute(10, 10), minute(10, 50)]
    seen = sighted(
        ("g", None, None, early),
        (None, "t", "a", early),
        (None, "t", "b", early),
        (None, "t", "c", [*early, *edge]),
        (None, "unseen", "b", early),
    )
    routes = [("c", "t", ["a", "b", "c"]), ("c", "t", ["a"]), ("other", "t", []), ("c", "u", [])]
    assert gone_brokers(seen, routes, READ_FROM) == [Gone("c", "t", ["b", "c"], [3 * HOUR, 10 * HOUR])]
    assert gone_brokers(seen, routes[:1], READ_FROM) == []


def test_what_was_first_seen_by_the_run_itself_is_not_gone() -> None:
    late = [minute(10, 30), minute(10, 31)]
    assert gone_brokers(sighted((None, "t", "b", late)), [("c", "t", [])], READ_FROM) == []
