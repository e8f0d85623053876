"""An offset of a topic's former life, far beyond the end, is evaluated: it closes no gate and hides no group."""

import pytest
from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, QUARANTINE, QUEUE_PROGRESS, ROUTE_SNAPSHOTS
from spark_jobs.config import Configuration
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import load, membership, offsets, route
from tests.support.stored import stored_rows
from tests.support.times import HOUR

FORMER = 1_800_000
SECONDS = range(0, 3600, 20)
HEALTHY = [f"g{number:02}" for number in range(1, 20)]


def created_again(second: int) -> tuple[int, int, int]:
    """A topic created again at 10:10 gets 1,000 messages per second. Its group's offset stays where it was until the
    new end is above it, at 10:40; from then on the group consumes all that comes.
    """
    if second < 600:
        return FORMER, FORMER, 1
    end = 1_000 * (second - 600)
    return end, max(FORMER, end), 1


@pytest.mark.usefixtures("tables")
def test_one_topic_created_again_is_an_error_of_its_group_and_the_others_are_published(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    groups = ["g00", *HEALTHY]
    samples = {group: [(FORMER, FORMER, 1)] * len(SECONDS) for group in HEALTHY} | {
        "g00": [created_again(second) for second in SECONDS]
    }
    rows = {
        MEMBERSHIP_SNAPSHOTS: [
            membership(second, "c1", group=group, topics=(f"t-{group}",)) for group in groups for second in SECONDS
        ],
        ROUTE_SNAPSHOTS: [route(second, 1, topic=f"t-{group}") for group in groups for second in SECONDS],
        OFFSET_SNAPSHOTS: [
            offsets(second, sample, topic=f"t-{group}", group=group)
            for group in groups
            for second, sample in zip(SECONDS, samples[group], strict=True)
        ],
    }
    load(spark, warehouse, rows)
    result = run(spark, warehouse, RunSpec(HOUR), Configuration())
    of_rule = [one for one in result.findings if one["rule"] == "OFFSET_BEYOND_END"]
    assert [(one["consumer_group"], one["cause"], one["severity"]) for one in of_rule] == [
        ("g00", "FORMER_LIFE", "ERROR")
    ]
    assert {one["consumer_group"] for one in result.findings} == {"g00"}
    assert {row["consumer_group"] for row in stored_rows(warehouse, QUEUE_PROGRESS)} == {*groups}
    assert not warehouse.exists(spark, QUARANTINE)
