"""The published backlog as answers and charts read it."""

from pathlib import Path
from typing import Any

import numpy as np

from schemas import BACKLOG
from spark_jobs.show.measured import highest_of_parts, topic_minutes
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope, published_tables
from tests.support.published import publish_hours
from tests.support.stored import write
from tests.support.times import HOUR, at, ms


def backlog(
    topic: str, hour: int, *entries: tuple[int, int | None, int | None, int], group: str = "G"
) -> dict[str, Any]:
    """A row of the table: its minutes as (second, messages, messages at the highest, unknown queues)."""
    names = ("at", "messages", "messages_max", "unknown_queues", "oldest_message_ms", "produced", "consumed")
    minutes = [dict(zip(names, (at(second), *numbers, None, None, None), strict=True)) for second, *numbers in entries]
    key = {"cluster": "c", "consumer_group": group, "topic": topic, "step_start": at(3600 * hour)}
    return key | {"lag_quality": "MEASURED", "minutes": minutes}


def test_minutes_of_steps_are_one_line_per_topic(tmp_path: Path) -> None:
    publish_hours(tmp_path, [0, 1])
    tables = published_tables(delta_tables(str(tmp_path)))
    assert topic_minutes(tables, Scope(HOUR)) == {}  # as before the table
    assert highest_of_parts(tables, Scope(HOUR), HOUR, 4) == {}
    rows = [
        backlog("t", 1, (3600, 7, 9, 0)),
        backlog("t", 0, (0, 1, 5, 0), (60, None, None, 2), (900, 2, 2, 0)),
        backlog("u", 0, (0, 10, 10, 0), (60, 20, 90, 1)),
        backlog("t", 0, (0, 3, 3, 0), group="H"),
    ]
    write(tmp_path, BACKLOG, rows)
    tables = published_tables(delta_tables(str(tmp_path)))
    found = topic_minutes(tables, Scope(consumer_group="G"))
    assert sorted(found) == [("c", "G", "t"), ("c", "G", "u")]
    of_t = found["c", "G", "t"]
    assert of_t.starts.tolist() == [ms(second) for second in (0, 60, 900, 3600)]
    np.testing.assert_equal(of_t.messages, [1, np.nan, 2, 7])
    np.testing.assert_equal(of_t.messages_max, [5, np.nan, 2, 9])
    assert of_t.unknown_queues.tolist() == [0, 2, 0, 0]
    assert (of_t.at(at(59.9)), of_t.at(at(60)), of_t.at(at(3600)), of_t.at(at(120))) == (0, 1, 3, -1)
    # Quarters of an hour; topics are added up at one minute, of which the highest is of another moment.
    assert highest_of_parts(tables, Scope(HOUR), HOUR, 4) == {("c", "G"): {0: 20, 1: 2}, ("c", "H"): {0: 3}}
