"""The way from source rows to a history without Spark gives what the kernel's tests are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import UNKNOWN, ClientState, ConsumeStatus, GroupHistory
from spark_jobs.pipeline.gather.one_group import one_group
from tests.gather.test_histories import client
from tests.kernel import group_histories
from tests.snapshots import membership, offsets, route
from tests.stored import arrow_table

SECONDS = (0, 20, 40)
#: Of the recording's clients, each another number.
SETTINGS: dict[str, Any] = {
    "consume_threads": 1,
    "consume_batch_size": 2,
    "pull_batch_size": 32,
    "pull_interval_ms": 200,
    "pull_threshold_for_queue": 1000,
    "pull_threshold_size_for_queue": 100,
    "consume_max_span": 2000,
    "consume_timeout_minutes": 15,
}
MEASURED = {"topic": "t", "consume_rt_ms": 1.5, "consume_ok_tps": 2.0, "consume_failed_tps": 0.0}
MEASURED |= {"pull_rt_ms": 3.0, "pull_tps": 4.0}


def read() -> tuple[GroupHistory, GroupHistory]:
    """As it is read, and as tests make it of the same rows: a queue that is new, an unknown offset, snapshots that are
    not in the order of time, and the proxies' own group.
    """
    unknown = offsets(40, (30, 9, 3), (40, 9, 3), (50, 0, 0))
    unknown["offsets"][1]["consumer_offset"] = None
    rows = {
        MEMBERSHIP_SNAPSHOTS: [
            *(membership(second, "c1", *("c2" for _ in range(second // 40))) for second in reversed(SECONDS)),
            membership(0, "proxy", group=PROXIES_GROUP),
        ],
        ROUTE_SNAPSHOTS: [route(second, 2 + second // 40) for second in SECONDS],
        OFFSET_SNAPSHOTS: [unknown, offsets(0, (10, 5, 1), (20, 6, 1)), offsets(20, (20, 6, 2), (30, 7, 2))],
        CLIENT_SNAPSHOTS: [
            client(40, consume_status=[MEASURED, MEASURED | {"topic": "u", "consume_rt_ms": None}]),
            client(0, strategy_class="AllocateMessageQueueAveragely", owned_queues=[], **SETTINGS),
            client(20, answered=False),
            client(60, consume_status=[]),
            client(60, consume_status=[MEASURED]),
        ],
    }
    expected = next(one for one in group_histories(rows) if one.consumer_group == "g")
    return one_group("c", "g", {table: arrow_table(table, found) for table, found in rows.items()}), expected


def test_states_are_the_same() -> None:
    found, expected = read()
    for name in ("memberships", "routes", "serving", "proxies"):
        both = getattr(found, name), getattr(expected, name)
        assert both[0].keys() == both[1].keys() != set()
        for key, series in both[0].items():
            other = both[1][key]
            assert series.times.tolist() == other.times.tolist()
            assert [series.states[code] for code in series.codes] == [other.states[code] for code in other.codes]


def test_clients_are_the_same() -> None:
    found, expected = (one.clients["c1"] for one in read())
    assert found.series.times.tolist() == expected.series.times.tolist()
    first = ClientState(True, "AllocateMessageQueueAveragely", owned=(), **SETTINGS)
    for series in (found.series, expected.series):
        shown = [series.states[code] for code in series.codes]
        assert shown == [first, ClientState(False), ClientState(True), ClientState(True)]
    cached = (
        "offsets",
        "cached_count",
        "cached_mib",
        "cached_min_offset",
        "cached_max_offset",
        "last_pull",
        "last_consume",
        "last_lock",
    )
    for name in cached:
        np.testing.assert_array_equal(getattr(found.readings, name), getattr(expected.readings, name))
    measured = ConsumeStatus("t", 1.5, 2.0, 0.0, 3.0, 4.0)
    assert found.readings.statuses == expected.readings.statuses
    assert found.readings.statuses == [None, None, (measured, measured._replace(topic="u", consume_rt_ms=None)), ()]


def test_readings_are_the_same() -> None:
    found, expected = (one.offsets["t"] for one in read())
    assert found.queues == expected.queues == [("b", 0), ("b", 1), ("b", 2)]
    for name in ("times", "end_offset", "consumer_offset", "pull_offset", "last_timestamp", "present", "lag"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.consumer_offset[:, 1].tolist() == [6, 7, UNKNOWN]
    assert found.present[:, 2].tolist() == [False, False, True]
