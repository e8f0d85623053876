"""Cases of `expectations/topic_snapshots.py`."""

from typing import Any

from expectations.topic_snapshots import SUITE
from schemas import TOPIC_SNAPSHOTS
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows, alone, at_the_edge, of_every_source


def row(**changes: Any) -> Row:
    return {"cluster": OWN, "topic": "t", "captured_at": at(0), "queues": [queue()]} | changes


good = alone(TOPIC_SNAPSHOTS, row)


def queue(**changes: Any) -> Row:
    return {"broker_name": "b", "queue_id": 0, "min_offset": 10, "max_offset": 20} | changes


def with_queue(**changes: Any) -> Rows:
    return good(queues=[queue(**changes)])


CASES = Cases(
    SUITE,
    breaks={
        **of_every_source(good, "cluster", "topic"),
        "queues_are_there": [good(queues=None)],
        "queues_have_no_null": [good(queues=[None]), good(queues=[queue(), None])],
        "queues_are_named": [
            *(with_queue(broker_name=name) for name in (None, "", "b" * 256)),
            *(with_queue(queue_id=number) for number in (None, -1, 65536)),
        ],
        "queues_are_there_once": [good(queues=[queue(), queue()]), good(queues=[queue(), queue(min_offset=11)])],
        "offsets_are_possible": [
            with_queue(min_offset=-1),
            with_queue(min_offset=None, max_offset=-1),
            with_queue(max_offset=10**15 + 1),
            with_queue(min_offset=-(2**63), max_offset=2**63 - 1),
        ],
        "min_offset_is_not_above_max_offset": [with_queue(min_offset=21)],
        "keys_are_unique": [{TOPIC_SNAPSHOTS: [row(), row()]}, {TOPIC_SNAPSHOTS: [row(), row(queues=[])]}],
    },
    keeps=[
        good(),
        *at_the_edge(good, "cluster", "topic"),
        good(queues=[]),
        good(queues=[queue(), queue(queue_id=1), queue(broker_name="b2")]),
        with_queue(broker_name="b" * 255, queue_id=65535),
        with_queue(min_offset=0, max_offset=0),
        with_queue(min_offset=20),
        with_queue(max_offset=10**15),
        with_queue(min_offset=None),
        with_queue(max_offset=None),
        {TOPIC_SNAPSHOTS: [row(), row(topic="t2"), row(captured_at=at(1))]},
    ],
)
