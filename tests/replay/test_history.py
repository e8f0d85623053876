"""What the oracle does not know of intervals: last sight, addresses, settings without a strategy."""

from __future__ import annotations

from collections import defaultdict

import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tests.replay import hand_made
from tests.replay.random_fleets import START


@pytest.fixture(scope="module")
def replayed(intervals: DataFrame) -> dict[str, list[Row]]:
    """Per group the replayed intervals of the first step and its warm-up, their times in seconds of the step."""
    of_step = (F.col("step_start") == F.lit(START)) & (F.col("status") == "REPLAYED")
    seconds = ((F.unix_micros(name) - F.unix_micros("step_start")) / 1e6 for name in ("start", "end", "seen_at"))
    found = (
        intervals.where(of_step & (F.col("cluster") == hand_made.FLEET.cluster))
        .orderBy("start")
        .select("consumer_group", F.array(*seconds).alias("seconds"), "members", "source")
    )
    per_group = defaultdict(list)
    for row in found.collect():
        per_group[row.consumer_group].append(row)
    return per_group


def test_seen_at_is_the_last_snapshot_that_showed_the_members(replayed: dict[str, list[Row]]) -> None:
    assert [row.seconds for row in replayed["plain"]] == [[0, 13, 10], [13, 36, 16]]


def test_addresses_are_those_at_the_beginning(replayed: dict[str, list[Row]]) -> None:
    """The ports of these snapshots are the minute's, which cuts nothing."""
    (row,) = replayed["plain too"]
    assert row.seconds == [-50, 40, 30]
    assert [(member.client_id, member.client_addr) for member in row.members] == [
        ("c1", "10.0.0.0:40059"),
        ("c1", "10.0.0.1:40059"),
    ]


def test_rooms_can_be_configured_for_a_strategy_that_the_clients_tell(replayed: dict[str, list[Row]]) -> None:
    (row,) = replayed["rooms only"]
    assert ([member.strategy for member in row.members], row.source) == (["MACHINE_ROOM"], "CLIENT")
