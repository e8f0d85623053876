"""The way from source rows to a history without Spark gives what the kernel's tests are given."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.history import UNKNOWN, GroupHistory
from spark_jobs.domain.unseen import PROXIES_GROUP
from spark_jobs.gather.one_group import one_group
from tests.kernel import group_histories
from tests.snapshots import at, membership, offsets, route
from tests.stored import arrow_type

SECONDS = (0, 20, 40)


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
            {"cluster": "c", "consumer_group": "g", "client_id": "c1", "captured_at": at(0), "answered": True}
            | {"strategy_class": "AllocateMessageQueueAveragely", "owned_queues": [], "subscriptions": None}
            | dict.fromkeys(("message_model", "consume_orderly", "client_rebalance", "consume_threads"))
        ],
    }
    schema = pa.schema([(field.name, arrow_type(field.type)) for field in OFFSET_SNAPSHOTS.schema])
    table = pa.Table.from_pylist([{"captured_date": None} | row for row in rows[OFFSET_SNAPSHOTS]], schema)
    expected = next(one for one in group_histories(rows) if one.consumer_group == "g")
    as_read = {name: [dict.fromkeys(name.columns) | row for row in found] for name, found in rows.items()}
    return one_group("c", "g", as_read, table), expected


def test_states_are_the_same() -> None:
    found, expected = read()
    for name in ("memberships", "routes", "proxies"):
        both = getattr(found, name), getattr(expected, name)
        assert both[0].keys() == both[1].keys() != set()
        for key, series in both[0].items():
            other = both[1][key]
            assert series.times.tolist() == other.times.tolist()
            assert [series.states[code] for code in series.codes] == [other.states[code] for code in other.codes]
    assert found.clients["c1"].series.states == expected.clients["c1"].series.states
    assert found.clients["c1"].answers.states[0].strategy_class == "AllocateMessageQueueAveragely"


def test_readings_are_the_same() -> None:
    found, expected = (one.offsets["t"] for one in read())
    assert found.queues == expected.queues == [("b", 0), ("b", 1), ("b", 2)]
    for name in ("times", "end_offset", "consumer_offset", "pull_offset", "last_timestamp", "present", "lag"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.consumer_offset[:, 1].tolist() == [6, 7, UNKNOWN]
    assert found.present[:, 2].tolist() == [False, False, True]
