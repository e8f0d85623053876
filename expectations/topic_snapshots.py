"""Expectations of the queues of a topic at brokers."""

from expectations.common import CLUSTER, TOPIC, captured, each, has_queue, numbers_possible, once_each, present, there
from expectations.suite import Expectation, Suite
from schemas import TOPIC_SNAPSHOTS

SUITE = Suite(
    TOPIC_SNAPSHOTS,
    expectations=(
        CLUSTER,
        TOPIC,
        captured(),
        there("queues", "Without queues the array is empty, not null."),
        present("queues"),
        each("queues_are_named", "Every queue has its broker and an id of 0 to 65535.", "queues", has_queue),
        Expectation("queues_are_there_once", "No queue appears twice.", once_each("queues", "broker_name", "queue_id")),
        each(
            "offsets_are_possible",
            "Offsets are 0 to 10^15.",
            "queues",
            numbers_possible("min_offset", "max_offset"),
            of_samples=True,
        ),
        each(
            "min_offset_is_not_above_max_offset",
            "A queue's lowest offset is not above its highest.",
            "queues",
            lambda it: it["min_offset"] <= it["max_offset"],
            of_samples=True,
        ),
    ),
)
