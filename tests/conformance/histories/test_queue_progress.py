"""The progress of queues, by offset samples of ten minutes; the last one is of 580 s, and holds for 60 s."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, QUEUE_PROGRESS, ROUTE_SNAPSHOTS
from tests.support.kernel import published
from tests.support.snapshots import by_table, membership, offsets, route
from tests.support.tables import cells, seconds
from tests.support.times import HOUR, at, naive

TIMES = range(0, 600, 20)


def caught_up(second: int) -> tuple[int, int]:
    return 1000 + second, 1000 + second


#: By group, what the only queue of its topic does: next offset to write, and to consume.
QUEUES: dict[str, Callable[[int], tuple[int, int]]] = {
    "healthy": caught_up,
    "another process": caught_up,
    "another member": caught_up,
    "slow": lambda second: (1000 + 2 * second, 900 + second),
    "reset": lambda second: (1000 + second, (1000 if second < 300 else 915) + second),
    "uncommitted": lambda _: (1000, 0),
    "empty": lambda _: (0, 0),
    "filled": lambda second: (0, 0) if second < 300 else (second - 290, 0),
    "begun": lambda second: (0, 0) if second < 300 else (second - 290, second - 295),
    "created again": lambda second: caught_up(second) if second < 300 else (second - 295, second - 295),
    "write only": lambda second: (1000 + second, 1180 if 200 <= second < 400 else 1000 + second),
    "stored twice": lambda _: (1033, 1000),
    "not sampled": lambda _: (1033, 1000),
}
#: The seconds of samples, if not all, and a second member or another process of the broker from 300 s on.
SAMPLED = {"stored twice": [0, 0], "not sampled": range(0, 300, 20)}
JOINED = ("another member", "not sampled")
#: Group | interval | `COLUMNS`. A queue that was never written to has nothing to be behind of. What is produced and
#: consumed between two samples belongs to the later one's interval. Of a topic that is created again, what came between
#: its last sample and the first one after that is unknown.
#: The topic `write only` cannot be read from 200 to 400 s: it was within `allowed_lag` when that began.
PROGRESS = """
    healthy         | 0-640   | 30 | MEASURED        | 580  | 580 | 0 | 0   | 0   | 0   | OK
    another process | 0-640   | 30 | MEASURED        | 580  | 580 | 0 | 0   | 0   | 0   | OK
    another member  | 0-300   | 15 | MEASURED        | 280  | 280 | 0 | 0   | 0   | 0   | OK
    another member  | 300-640 | 15 | MEASURED        | 300  | 300 | 0 | 0   | 0   | 0   | OK
    slow            | 0-640   | 30 | MEASURED        | 1160 | 580 | 0 | 100 | 680 | 680 | WARN
    reset           | 0-640   | 30 | MEASURED        | 580  | 560 | 1 | 0   | 85  | 85  | REWIND
    uncommitted     | 0-640   | 30 | NEVER_COMMITTED | 0    | -   | - | -   | -   | -   | -
    empty           | 0-640   | 30 | MEASURED        | 0    | 0   | 0 | 0   | 0   | 0   | OK
    filled          | 0-640   | 30 | NEVER_COMMITTED | 290  | 0   | 0 | 0   | -   | 0   | -
    begun           | 0-640   | 30 | MEASURED        | 290  | 285 | 0 | 0   | 5   | 5   | OK
    created again   | 0-640   | 30 | MEASURED        | 560  | 560 | 0 | 0   | 0   | 0   | OK
    write only      | 0-200   | 10 | MEASURED        | 180  | 180 | 0 | 0   | 0   | 0   | OK
    write only      | 200-400 | 10 | MEASURED        | 200  | 0   | 0 | 20  | 200 | 200 | OK
    write only      | 400-640 | 10 | MEASURED        | 200  | 400 | 0 | 0   | 0   | 0   | OK
    stored twice    | 0-640   | 1  | MEASURED        | -    | -   | - | 33  | 33  | 33  | -
    not sampled     | 0-300   | 15 | MEASURED        | 0    | 0   | 0 | 33  | 33  | 33  | STALL
    not sampled     | 300-640 | 0  | NO_READING      | -    | -   | - | -   | -   | -   | -
"""
COLUMNS = ("readings", "lag_quality", "produced", "consumed", "rewinds", "lag_first", "lag_last", "lag_max", "verdict")
Published = Mapping[tuple[str, int], Mapping[str, Any]]


@pytest.fixture(scope="module")
def rows() -> Published:
    """By group and the start of the interval."""
    snapshots = []
    for group, queue in QUEUES.items():
        for second in TIMES:
            ids = ("c1", "c2") if group in JOINED and second >= 300 else ("c1",)
            address = "h:2" if group == "another process" and second >= 300 else "h:1"
            snapshots.append((MEMBERSHIP_SNAPSHOTS, membership(second, *ids, group=group, topics=(group,))))
            hosts = route(second, 1, topic=group) | {"addresses": [("b", 0, address)]}
            hosts["queues"][0]["perm"] = 2 if group == "write only" and 200 <= second < 400 else 6
            snapshots.append((ROUTE_SNAPSHOTS, hosts))
        for second in SAMPLED.get(group, TIMES):
            # A message of the topic that is created again is newer than the last commit before.
            stored = int(at(second).timestamp() * 1000) if group == "created again" else int(queue(second)[1] > 0)
            snapshots.append((OFFSET_SNAPSHOTS, offsets(second, (*queue(second), stored), topic=group, group=group)))
    found = published(by_table(snapshots), HOUR)[QUEUE_PROGRESS]
    return {(row["consumer_group"], seconds(row["interval_start"])): row for row in found}


def test_progress_is_what_the_samples_of_the_interval_show(rows: Published) -> None:
    found = [
        (
            group,
            f"{start}-{seconds(row['interval_end'])}",
            *("-" if row[name] is None else str(row[name]) for name in COLUMNS),
        )
        for (group, start), row in rows.items()
    ]
    assert sorted(found) == sorted(cells(PROGRESS))


def test_an_offset_is_rewound_at_the_sample_that_shows_it(rows: Published) -> None:
    assert [rows[group, 0]["rewound_at"] for group in ("reset", "slow")] == [naive(300), None]


def test_an_interval_without_samples_has_no_values(rows: Published) -> None:
    known = {"membership_view", "interval_end", "readings", "lag_quality"}
    without = rows["not sampled", 300]
    assert {name for name, value in without.items() if value is not None} == {*QUEUE_PROGRESS.key} | known


def test_the_age_is_that_of_the_oldest_message_that_waits_at_most(rows: Published) -> None:
    """At 580 s it is the message at 1480, which came after 240 s; the one before it says that it was stored in 1970."""
    ages = {group: rows[group, 0]["age_ms"] for group in ("healthy", "uncommitted", "slow")}
    assert ages == {"healthy": None, "uncommitted": None, "slow": (580 - 240) * 1000}
    assert rows["slow", 0]["consumer_offset"] == 1480
