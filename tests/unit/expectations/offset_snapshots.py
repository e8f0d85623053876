"""Cases of `expectations/offset_snapshots.py`."""

from typing import Any

from expectations.offset_snapshots import SUITE
from schemas import OFFSET_SNAPSHOTS
from tests.support.snapshots import offsets
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows, alone, at_the_edge, of_every_source


def row(**changes: Any) -> Row:
    return offsets(0, (100, 90, 1)) | {"cluster": OWN} | changes


good = alone(OFFSET_SNAPSHOTS, row)


def sample(**changes: Any) -> Row:
    one: Row = offsets(0, (100, 90, 1))["offsets"][0] | changes
    return one


def with_sample(**changes: Any) -> Rows:
    return good(offsets=[sample(**changes)])


CASES = Cases(
    SUITE,
    breaks={
        **of_every_source(good, "cluster", "consumer_group", "topic"),
        "offsets_are_there": [good(offsets=None)],
        "offsets_have_no_null": [good(offsets=[None]), good(offsets=[sample(), None])],
        "queues_are_named": [
            *(with_sample(broker_name=name) for name in (None, "", "b" * 256)),
            *(with_sample(queue_id=number) for number in (None, -1, 65536)),
        ],
        "queues_are_there_once": [
            good(offsets=[sample(), sample()]),
            good(offsets=[sample(), sample(queue_id=1), sample(consumer_offset=91)]),
        ],
        "offsets_are_possible": [
            with_sample(consumer_offset=-1),
            with_sample(pull_offset=-1),
            with_sample(broker_offset=-1, consumer_offset=None),
            with_sample(broker_offset=10**15 + 1),
            with_sample(broker_offset=2**63 - 1, consumer_offset=2**63 - 1),
            with_sample(consumer_offset=-(2**63)),
        ],
        "times_are_possible": [with_sample(last_timestamp=time) for time in (-1, 253402300800000, -(2**63))],
        "keys_are_unique": [{OFFSET_SNAPSHOTS: [row(), row()]}, {OFFSET_SNAPSHOTS: [row(), row(offsets=[])]}],
    },
    keeps=[
        good(),
        *at_the_edge(good, "cluster", "consumer_group", "topic"),
        good(offsets=[]),
        good(offsets=[sample(), sample(queue_id=1), sample(broker_name="b2")]),
        with_sample(broker_name="b" * 255, queue_id=65535),
        with_sample(broker_offset=0, consumer_offset=0, pull_offset=0, last_timestamp=0),
        # Of a topic's former life.
        with_sample(consumer_offset=1_800_000),
        with_sample(consumer_offset=None, pull_offset=None, last_timestamp=None),
        with_sample(broker_offset=None),
        with_sample(broker_offset=10**15, consumer_offset=10**15, pull_offset=10**15),
        with_sample(last_timestamp=253402300799999),
        {OFFSET_SNAPSHOTS: [row(), row(topic="t2"), row(consumer_group="g2"), row(captured_at=at(1))]},
    ],
)
