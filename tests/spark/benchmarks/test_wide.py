"""The strategies' configurations fit the fleets that are audited under them."""

from collections import Counter
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from benchmarks.fleet import START_MS, Fleet
from benchmarks.measures.wide import STRATEGIES, configuration
from benchmarks.snapshots import memberships, routes
from spark_jobs.config import Configuration

_SMALL = Fleet(groups=3, fewest_members=2, most_members=2, queues=8, brokers=4, hosts=2, rooms=4, hours=1)
FLEET = replace(_SMALL, cadence_ms=1_800_000, churn=0, duplicates=0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_what_it_needs(strategy: str) -> None:
    (group,) = Configuration.model_validate(configuration(strategy, FLEET), strict=False).groups
    assert group.strategy == strategy


@pytest.mark.slow
def test_every_queue_is_in_one_clients_list(spark: SparkSession) -> None:
    lists = configuration("CONFIG", FLEET)["groups"][0]["config_queues"]
    listed = Counter((one["topic"], one["broker"], queue) for one in lists for queue in one["queues"])
    routed = routes(spark, FLEET).where("topic LIKE 'topic-%' AND elapsed = 0").select("topic", "queues").collect()
    existing = {(row.topic, entry[0], queue) for row in routed for entry in row.queues for queue in range(entry[2])}
    assert listed == dict.fromkeys(existing, 1)
    assert {one["client"] for one in lists} == {f".*#{START_MS}", f".*#{START_MS + 1}"}


@pytest.mark.slow
def test_hosts_of_a_fleet_with_rooms_are_named_after_them(spark: SparkSession) -> None:
    found = memberships(spark, FLEET).select("consumer_group", "broker_name").distinct().collect()
    rooms = {"group-0000": (0, 1), "group-0001": (2, 3), "group-0002": (0, 1)}
    assert {tuple(row) for row in found} == {
        (group, f"room{number}@broker-0{number}") for group, numbers in rooms.items() for number in numbers
    }
