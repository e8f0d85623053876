"""The settings of a group as a Column are those that the configuration gives it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.config import Configuration, GroupEntry, settings_for
from spark_jobs.config.model import QueueList
from spark_jobs.replay.settings import group_settings

_LISTS = (QueueList(client="c1|it's", topic="T", broker='a"b', queues=(0, 2)),)
CONFIGURATION = Configuration(
    groups=(
        GroupEntry(group="order|pay", strategy="CONSISTENT_HASH", virtual_node_count=0),
        GroupEntry(group="order.*", rooms=(), config_queues=_LISTS),
        GroupEntry(strategy="AVG_BY_CIRCLE", rooms=("r1", "r2"), broker_room=r"^(\d)"),
        GroupEntry(cluster="east", group="pay", virtual_node_count=50, client_room="@(.)"),
        GroupEntry(cluster="eas", strategy="POP"),
    ),
)
GROUPS = [("east", "order"), ("east", "orders"), ("east", "pay"), ("west", "pay"), ("eas", "x"), ("east", "pay\n")]


def test_every_group_has_the_settings_of_its_entries(spark: SparkSession) -> None:
    rows = spark.createDataFrame(GROUPS, "cluster string, consumer_group string")
    found = rows.withColumn("settings", group_settings(CONFIGURATION)).collect()
    for row in found:
        expected = settings_for(CONFIGURATION, row.cluster, row.consumer_group)
        assert row.settings.strategy == expected.strategy
        assert row.settings.virtual_node_count == expected.virtual_node_count
        assert row.settings.rooms == (None if expected.rooms is None else list(expected.rooms))
        assert row.settings.broker_room == expected.broker_room
        assert row.settings.client_room == expected.client_room
        lists = [QueueList(**one.asDict()) for one in row.settings.config_queues or ()]
        assert tuple(lists) == expected.config_queues
    assert [row.settings.strategy for row in found] == [
        *("CONSISTENT_HASH", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONSISTENT_HASH", "POP", "AVG_BY_CIRCLE")
    ]
    assert [row.settings.virtual_node_count for row in found] == [0, 10, 50, 0, 10, 10]
