"""What the brokers hold of a topic."""

from expectations.common import (
    CLUSTER,
    TOPIC,
    captured,
    each,
    no_queue_twice,
    numbered_queue,
    numbers_possible,
    present,
)
from expectations.suite import Expectation, Suite
from schemas import TOPIC_SNAPSHOTS

SUITE = Suite(
    TOPIC_SNAPSHOTS,
    series=("cluster", "topic"),
    expectations=(
        CLUSTER,
        TOPIC,
        captured(),
        Expectation(
            "queues_are_there", "If a topic has no queues, the array is empty, not null.", "queues IS NOT NULL"
        ),
        present("queues"),
        each(
            "queues_are_named",
            "Every queue has its broker and its id, which is 0 to 65535.",
            "queues",
            numbered_queue(),
        ),
        Expectation(
            "queues_are_there_once",
            "No queue appears twice.",
            no_queue_twice("queues"),
        ),
        each(
            "offsets_are_possible",
            "Offsets are 0 to 10^15.",
            "queues",
            numbers_possible("min_offset", "max_offset"),
        ),
        Expectation(
            "min_offset_is_not_above_max_offset",
            "A queue's lowest offset is not above its highest.",
            "it.min_offset <= it.max_offset",
            each="queues",
        ),
    ),
)
