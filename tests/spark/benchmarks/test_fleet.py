"""The made fleet is what its parameters say. Small: four groups with three members each, snapshots every 10 minutes."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.fleet import FLAP_MS, Fleet
from benchmarks.snapshots import clients, make, memberships, offsets, routes
from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS
from spark_jobs.store.warehouse import Warehouse

pytestmark = pytest.mark.slow

_SMALL = Fleet(groups=4, fewest_members=3, most_members=3, queues=8, hosts=2, hours=2, churn=0, duplicates=0.25)
FLEET = replace(_SMALL, cadence_ms=600_000, topic_cadence_ms=600_000)


def test_every_table_has_its_rows_in_one_file_per_hour(spark: SparkSession, warehouse: Warehouse) -> None:
    make(spark, warehouse, FLEET)
    rows = {}
    for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, OFFSET_SNAPSHOTS, CLIENT_SNAPSHOTS):
        found = (
            warehouse.read(spark, table)
            .withColumn("file", F.input_file_name())
            .agg(F.count(F.lit(1)), F.count_distinct(*table.key), F.count_distinct("file"))
        )
        rows[table.name], keys, files = found.collect()[0]
        assert (keys, files) == (rows[table.name], 2)
    assert rows == {
        "membership_snapshots": 96,  # 4 groups × 2 hosts × 12 times
        "route_snapshots": 96,  # 4 groups × 2 topics × 12 times
        "topic_snapshots": 48,
        "offset_snapshots": 48,
        "client_snapshots": 132,  # 11 client ids × 12 times: two connections share one
    }


def test_the_default_fleet_has_the_size_that_is_promised(spark: SparkSession) -> None:
    fleet = Fleet()
    assert memberships(spark, fleet).count() == 2_160_000
    assert offsets(spark, fleet).count() * fleet.queues == 34_560_000


def test_twins_leave_the_second_share_unconsumed(spark: SparkSession) -> None:
    at_end = F.col("elapsed") == 6_600_000
    twins = memberships(spark, FLEET).where(at_end & (F.col("consumer_group") == "group-0003")).head()
    assert twins is not None
    first, second, third = twins["connections"]
    assert first[0] == second[0] != third[0]
    assert first[1] != second[1]
    # 8 queues, `[c1, c1, c2]`, AVG: 0-2 twice, 3-5 nobody's, 6-7 to c2.
    queues = offsets(spark, FLEET).where(at_end).select("consumer_group", F.posexplode("offsets").alias("index", "of"))
    still = queues.where(F.col("of.col4") == 1).groupBy("consumer_group").agg(F.sort_array(F.collect_list("index")))
    assert [tuple(row) for row in still.collect()] == [("group-0003", [3, 4, 5])]


def test_a_topic_lies_on_its_hosts(spark: SparkSession) -> None:
    first = routes(spark, FLEET).where("elapsed = 0").select("topic", "queues").orderBy("topic")
    found = {row[0]: [tuple(entry) for entry in row[1]] for row in first.collect()}
    assert found["topic-0001"] == [("broker-02", 6, 4, 4), ("broker-03", 6, 4, 4)]
    assert found["%RETRY%group-0001"] == [("broker-02", 6, 1, 1), ("broker-03", 6, 1, 1)]


def test_a_flapping_member_comes_and_goes_a_thousand_times_an_hour(spark: SparkSession) -> None:
    fleet = replace(FLEET, hosts=1, hours=1, cadence_ms=FLAP_MS, duplicates=0, flapping=1)
    sizes = memberships(spark, fleet).groupBy("consumer_group", F.size("connections")).count()
    found = {(row[0], row[1]): row[2] for row in sizes.collect()}
    steady = {(f"group-000{number}", 3): 2000 for number in (1, 2, 3)}
    assert found == {("group-0000", 2): 1000, ("group-0000", 3): 1000} | steady


def test_churn_takes_a_member_away_for_a_while(spark: SparkSession) -> None:
    fleet = replace(FLEET, hosts=1, cadence_ms=60_000, duplicates=0, churn=1.0)
    sizes = memberships(spark, fleet).groupBy("consumer_group", F.col("elapsed") >= 3_600_000)
    fewest = sizes.agg(F.min(F.size("connections")), F.max(F.size("connections"))).collect()
    assert sorted(tuple(row)[2:] for row in fewest) == [(2, 3)] * 8


def test_members_list_the_queues_of_their_shares(spark: SparkSession) -> None:
    """Of two connections with one client id the first answers."""
    first = clients(spark, replace(FLEET, lists_queues=True)).where("elapsed = 0")
    lists = first.select(
        "consumer_group",
        F.transform("owned_queues", lambda queue: F.struct(queue["topic"], queue["broker_name"], queue["queue_id"])),
    )
    found = sorted(
        (row[0], [(broker[-2:], number) for topic, broker, number in row[1] if topic.startswith("topic")])
        for row in lists.collect()
    )
    shares = {
        "01": [[("02", 0), ("02", 1), ("02", 2)], [("02", 3), ("03", 0), ("03", 1)], [("03", 2), ("03", 3)]],
        "03": [[("02", 0), ("02", 1), ("02", 2)], [("03", 2), ("03", 3)]],
    }
    for number, expected in shares.items():
        assert [held for group, held in found if group == f"group-00{number}"] == expected


def test_the_seed_makes_the_fleet(spark: SparkSession) -> None:
    def content(fleet: Fleet) -> int:
        summed = F.sum(F.xxhash64("captured_at", "offsets").cast("decimal(38,0)"))
        (row,) = offsets(spark, fleet).agg(summed).collect()
        return int(row[0])

    assert content(FLEET) == content(FLEET)
    assert content(FLEET) != content(replace(FLEET, seed=2))
