"""A reader compares `sightings` with the snapshots as `maintain` would fill it. No Spark."""

from pathlib import Path
from typing import Any

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS
from spark_jobs.operate.upkeep import has_all_sightings
from spark_jobs.store.read.delta import delta_tables
from tests.support.snapshots import sighting
from tests.support.stored import write
from tests.support.times import at

HOUR = 3600


def queue(broker_name: str | None, perm: int | None) -> dict[str, Any]:
    return {"broker_name": broker_name, "perm": perm, "read_queue_nums": 8, "write_queue_nums": 8}


GROUP = sighting(20, 40, consumer_group="g")
LATER = sighting(HOUR + 1, consumer_group="g")
BROKER = sighting(20, 40, topic="t", broker_name="b", read_queue_nums=8)
NO_ROUTE = sighting(60, topic="t")


@pytest.mark.parametrize(
    ("stored", "complete"),
    [
        ([GROUP, LATER, BROKER, NO_ROUTE], True),
        (
            [
                sighting(10, 50, consumer_group="g"),
                *(LATER, BROKER, BROKER | {"read_queue_nums": 4}, NO_ROUTE),
                sighting(5 * HOUR + 1, topic="old", broker_name="b"),
            ],
            True,
        ),
        ([], False),
        ([GROUP, BROKER, NO_ROUTE], False),
        ([GROUP, LATER, NO_ROUTE], False),
        ([GROUP, LATER, BROKER], False),
        ([sighting(21, 40, consumer_group="g"), LATER, BROKER, NO_ROUTE], False),
        ([sighting(20, 39, consumer_group="g"), LATER, BROKER, NO_ROUTE], False),
        ([GROUP, LATER, BROKER | {"last_at": at(39)}, NO_ROUTE], False),
        ([GROUP, LATER, BROKER | {"broker_name": "other"}, NO_ROUTE], False),
        ([GROUP, LATER, BROKER | {"read_queue_nums": 4}, NO_ROUTE], False),
        # As an older version kept it.
        ([GROUP, LATER, BROKER | {"read_queue_nums": None}, NO_ROUTE], False),
        ([GROUP, LATER, BROKER | {"cluster": "other"}, NO_ROUTE], False),
    ],
)
def test_the_table_is_complete_if_nothing_is_new(tmp_path: Path, stored: list[dict[str, Any]], complete: bool) -> None:
    """A broker that cannot be read from, or has no name, is no sighting."""
    seconds = (20, 40, HOUR + 1)
    group = {"cluster": "c", "consumer_group": "g", "broker_name": "b", "connections": []}
    write(tmp_path, MEMBERSHIP_SNAPSHOTS, [group | {"captured_at": at(second)} for second in seconds])
    brokers = [queue("b", 6), queue("write only", 2), queue(None, 6), queue("unknown", None)]
    route = {"cluster": "c", "topic": "t"}
    routes = [
        route | {"captured_at": at(20), "queues": brokers},
        route | {"captured_at": at(40), "queues": brokers[:1]},
    ]
    write(tmp_path, ROUTE_SNAPSHOTS, [*routes, route | {"captured_at": at(60), "queues": []}])
    write(tmp_path, SIGHTINGS, stored)
    assert has_all_sightings(delta_tables(str(tmp_path))) is complete
