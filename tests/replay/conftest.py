"""One run of the replay for all tests that look at intervals: planning it costs more than its rows."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.replay import hand_made
from tests.replay.random_fleets import random_fleet
from tests.replay.timelines import intervals_of

RANDOM_FLEETS = range(60)


@pytest.fixture(scope="session")
def intervals(spark: SparkSession) -> DataFrame:
    """The rebalance intervals of the first random fleets and of the hand-made one."""
    return intervals_of(spark, [hand_made.FLEET, *map(random_fleet, RANDOM_FLEETS)])
