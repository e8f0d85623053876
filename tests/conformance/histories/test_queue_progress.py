"""The progress of queues and the findings made of it, on hand-written histories of many groups in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, QUEUE_PROGRESS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from tests.conformance.histories.audited import Audited
from tests.support.snapshots import membership, offsets, route
from tests.support.tables import cells, line, measures, seconds
from tests.support.times import at

CLUSTER = "progress"
#: The last snapshot is of 580 s, and holds for 60 s.
TIMES, LAST, END = range(0, 600, 20), 580, 640
Offsets = tuple[int, int]


def caught_up(second: int) -> Offsets:
    return 1000 + second, 1000 + second


def back(messages: int, when: int) -> Callable[[int], Offsets]:
    """Caught up, but from the moment on so many messages behind what the sample before said."""
    return lambda second: (1000 + second, 1000 + second if second < when else 980 + when - messages + second - when)


def alone(_: int) -> tuple[str, ...]:
    return ("c1",)


#: What each group's queue 0 does; the other three are caught up.
QUEUE_0: dict[str, Callable[[int], Offsets]] = {
    "healthy": caught_up,
    "in-hand": lambda _: (1032, 1000),  # 32 messages: allowed
    "stalled": lambda _: (1033, 1000),  # one more
    "offline": lambda second: (1000 + second, 900),
    "unseen": lambda second: (1000 + second, 900),
    "stalls-late": lambda second: (1000 + second, 1000 + min(second, 480)),
    "stopped": lambda second: (1000 + second, 900 + min(second, 200)),
    "slow": lambda second: (1000 + 2 * second, 900 + second),
    "reset": back(65, 300),
    "switched": back(65, 300),
    "slave-came": back(65, 300),
    "to-oldest": back(65, 300),
    "jitter": back(64, 300),
    "twins": back(65, 300),
    "rejoined": back(65, 320),
    "anew": lambda second: caught_up(second) if second < 300 else (second - 295, second - 295),
    "skewed": lambda second: (1000 + 5 * second, 1000 + 5 * second),
    "lost": lambda _: (1000, 400),
    "expiring": lambda _: (1000, 900),
    "new": lambda _: (1000, 0),
    "empty": lambda _: (0, 0),
    "filled": lambda second: (0, 0) if second < 300 else (second - 290, 0),
    "begun": lambda second: (0, 0) if second < 300 else (second - 290, second - 295),
    "unread": lambda _: (1033, 1000),  # and not read at all from 300 s on
    "read-once": lambda _: (1033, 1000),  # at 0 s, and stored twice
}
#: Who is a member when; the rest are `alone`.
MEMBERS: dict[str, Callable[[int], tuple[str, ...]]] = {
    "offline": lambda _: (),
    "unseen": lambda _: (),
    "stalls-late": lambda second: ("c1",) if second < 540 else ("c1", "c2"),
    "twins": lambda _: ("c1", "c1"),
    "unread": lambda second: ("c1",) if second < 300 else ("c1", "c2"),
    "rejoined": lambda second: ("c1",) if second < 300 else ("c1", "c2"),
}
#: The oldest offset that the broker has, where it deleted any.
OLDEST: dict[str, Callable[[int], int]] = {
    "lost": lambda _: 401,
    "expiring": lambda second: second,
    "to-oldest": lambda _: 1151,  # it goes back to 1215
}
#: Where the processes of its broker listen, by broker id, where that is recorded.
SERVED: dict[str, Callable[[int], dict[int, str]]] = {
    "switched": lambda second: {0: "h:1", 1: "h:2"} if second < 280 else {1: "h:2"},
    "slave-came": lambda second: {0: "h:1"} if second < 280 else {0: "h:1", 1: "h:2"},
    "healthy": lambda second: {0: "h:1", 1: "h:2"} if second < 280 else {1: "h:2"},
}

#: 100 s of standing still are none (stalls-late), and a queue that nobody owns has a finding of its own (offline). Who
#: consumes the other queues of `unseen` no broker lists. Who stopped at 200 s never had less than 100 messages left:
#: until 360 s, when half of the last 300 s had gone by without a commit, it lagged.
EXPECTED = """
    unseen   | CONSUMER_STALLED | ERROR | NOT_CONSUMED   | 0   | 640
    stalled  | CONSUMER_STALLED | ERROR | NO_PROGRESS    | 0   | 640
    lost     | CONSUMER_STALLED | ERROR | NO_PROGRESS    | 0   | 640
    expiring | CONSUMER_STALLED | ERROR | NO_PROGRESS    | 0   | 640
    unread   | CONSUMER_STALLED | ERROR | NO_PROGRESS    | 0   | 300
    filled   | CONSUMER_STALLED | ERROR | NEVER_COMMITTED | 300 | 640
    stopped  | CONSUMER_STOPPED | ERROR | NO_COMMITS     | 200 | 640
    stopped  | CONSUMER_LAGGING | WARN  | FALLING_BEHIND | 0   | 360
    slow     | CONSUMER_LAGGING | WARN  | FALLING_BEHIND | 0   | 640
    reset    | OFFSET_REWOUND   | WARN  | RESET          | 300 | 320
    switched | OFFSET_REWOUND   | WARN  | BROKER_SWITCHED | 300 | 320
    slave-came | OFFSET_REWOUND | WARN  | RESET          | 300 | 320
    to-oldest | OFFSET_REWOUND  | WARN  | TO_MINIMUM     | 300 | 320
    twins    | OFFSET_REWOUND   | WARN  | DUPLICATE_CLIENT_ID | 300 | 320
    rejoined | OFFSET_REWOUND   | WARN  | HAND_OVER      | 320 | 340
    skewed   | PRODUCER_SKEW    | WARN  | HOT_QUEUES     | 0   | 640
    lost     | RETENTION_RISK   | ERROR | LOST           | 0   | 640
    expiring | RETENTION_RISK   | WARN  | EXPIRING       | 0   | 640
"""
RULES = {rule for _, rule, *_ in cells(EXPECTED)}


def snapshots() -> Iterator[tuple[Table, dict[str, Any]]]:
    """One topic per group, of its name, with four queues."""
    for group, queue_0 in QUEUE_0.items():
        members = MEMBERS.get(group, alone)
        for second in TIMES:
            yield MEMBERSHIP_SNAPSHOTS, membership(second, *members(second), group=group, topics=(group,))
            addresses = [("b", *address) for address in SERVED[group](second).items()] if group in SERVED else None
            yield ROUTE_SNAPSHOTS, route(second, 4, topic=group) | {"addresses": addresses}
            # A message of the topic made anew is of after that; the others only need to be one.
            timestamp = int(at(second).timestamp() * 1000) if group == "anew" else int(queue_0(second)[1] > 0)
            others = queue_0 if group == "offline" else caught_up
            samples = [(*queue_0(second), timestamp), *([(*others(second), 1)] * 3)]
            times = {"unread": int(second < 300), "read-once": 2 * int(second == 0)}.get(group, 1)
            for _ in range(times):
                yield OFFSET_SNAPSHOTS, offsets(second, *samples, topic=group, group=group)
            if group in OLDEST:
                queue = {"broker_name": "b", "queue_id": 0, "min_offset": OLDEST[group](second), "max_offset": 1000}
                yield TOPIC_SNAPSHOTS, {"cluster": "c", "topic": group, "captured_at": at(second), "queues": [queue]}


def test_rules_fire_where_they_should_and_nowhere_else(audited: Audited) -> None:
    found = {
        line(row, "consumer_group", "rule", "severity", "cause", "started_at", "ended_at")
        for row in audited.findings[CLUSTER]
        if row["rule"] in RULES
    }
    assert found == set(cells(EXPECTED))
    assert {row["subject"] for row in audited.findings[CLUSTER] if row["rule"] in RULES} == {"b:0"}


def test_another_process_that_serves_a_broker_begins_no_interval(audited: Audited) -> None:
    of_groups = [row for row in audited.progress[CLUSTER] if row["consumer_group"] in ("switched", "healthy")]
    assert {seconds(row["interval_start"]) for row in of_groups} == {0}
    (advice,) = (
        row["advice"]
        for row in audited.findings[CLUSTER]
        if (row["consumer_group"], row["rule"]) == ("switched", "OFFSET_REWOUND")
    )
    assert "b was asked at h:1 until " in advice
    assert " and was asked at h:2 from " in advice


def test_findings_say_by_how_much(audited: Audited) -> None:
    measured = {
        (row["consumer_group"], row["rule"]): measures(row["evidence"])
        for row in audited.findings[CLUSTER]
        if row["rule"] in RULES
    }
    assert measured["stopped", "CONSUMER_STOPPED"]["lag_last"] == 480  # 1580 written, 1100 consumed
    assert measured["reset", "OFFSET_REWOUND"] == {"rewinds": 1, "rewound": 65, "rewound_max": 65, "rewound_in_all": 65}
    # 2900 messages in queue 0, 580 in each of the other three.
    assert measured["skewed", "PRODUCER_SKEW"] == {"max_over_mean": 2.5, "mean": 1160, "produced_max": 2900}
    assert measured["expiring", "RETENTION_RISK"] == {
        "consumer_offset": 900,
        "min_offset": 580,
        "deleted_per_second": 1,
        "consumed_per_second": 0,
    }


def test_what_comes_between_two_samples_belongs_to_the_later_ones_interval(audited: Audited) -> None:
    rows = {
        (row["consumer_group"], row["queue_id"], seconds(row["interval_start"])): row
        for row in audited.progress[CLUSTER]
    }
    first, second = rows["rejoined", 1, 0], rows["rejoined", 1, 300]
    assert (seconds(first["interval_end"]), seconds(second["interval_end"])) == (300, END)
    assert [first[name] for name in ("readings", "produced", "consumed")] == [15, 280, 280]
    assert [second[name] for name in ("readings", "produced")] == [15, LAST - 280]


def test_rows_say_what_is_known(audited: Audited) -> None:
    rows = {
        row["consumer_group"]: row
        for row in audited.progress[CLUSTER]
        if row["queue_id"] == 0 and row["readings"] == len(TIMES)
    }
    names = ("lag_quality", "produced", "consumed", "rewinds", "lag_first", "lag_last", "lag_max", "verdict")
    expected = {
        "new": ("NEVER_COMMITTED", 0, None, None, None, None, None, None),
        # Nothing ever came: there is nothing to be behind of.
        "empty": ("MEASURED", 0, 0, 0, 0, 0, 0, "OK"),
        # Once something came, and was not committed, what was known before says nothing of it.
        "filled": ("NEVER_COMMITTED", 290, 0, 0, 0, None, 0, None),
        "begun": ("MEASURED", 290, 285, 0, 0, 5, 5, "OK"),
        # 280 before the topic was deleted and 280 after; what lay between is not known, and no rewind.
        "anew": ("MEASURED", 560, 560, 0, 0, 0, 0, "OK"),
        # From 300 s to 360 s it is behind 1280, from where it had gone back.
        "reset": ("MEASURED", 580, 560, 1, 0, 85, 85, "REWIND"),
        "slow": ("MEASURED", 1160, 580, 0, 100, 680, 680, "WARN"),
    }
    assert {group: tuple(rows[group][name] for name in names) for group in expected} == expected
    assert rows["slow"]["consumer_offset"] == 1480
    assert (rows["healthy"]["age_ms"], rows["new"]["age_ms"]) == (None, None)
    assert rows["slow"]["age_ms"] == int(at(LAST).timestamp() * 1000) - 1


def test_a_snapshot_that_was_stored_twice_is_one_sample(audited: Audited) -> None:
    (row,) = (row for row in audited.progress[CLUSTER] if (row["consumer_group"], row["queue_id"]) == ("read-once", 0))
    names = ("readings", "produced", "consumed", "rewinds", "lag_last", "verdict")
    assert tuple(row[name] for name in names) == (1, None, None, None, 33, None)


def test_without_a_sample_nothing_is_known(audited: Audited) -> None:
    (row,) = (
        row
        for row in audited.progress[CLUSTER]
        if (row["consumer_group"], row["queue_id"], seconds(row["interval_start"])) == ("unread", 0, 300)
    )
    assert (row["readings"], row["lag_quality"]) == (0, "NO_READING")
    known = {"membership_view", "interval_end", "readings", "lag_quality"}
    assert {name for name, value in row.items() if value is not None} == {*QUEUE_PROGRESS.key} | known
