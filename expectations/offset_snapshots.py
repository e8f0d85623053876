"""The offsets of a group in every queue of a topic."""

from expectations.common import (
    CLUSTER,
    GROUP,
    TOPIC,
    captured,
    each,
    has_queue,
    numbers_possible,
    once_each,
    present,
    there,
    times_possible,
)
from expectations.suite import Expectation, Suite
from schemas import OFFSET_SNAPSHOTS

SUITE = Suite(
    OFFSET_SNAPSHOTS,
    expectations=(
        CLUSTER,
        GROUP,
        TOPIC,
        captured(),
        there("offsets", "Without queues the array is empty, not null."),
        present("offsets"),
        each("queues_are_named", "Every sample has its broker and a queue id of 0 to 65535.", "offsets", has_queue),
        Expectation(
            "queues_are_there_once",
            "No queue appears twice in one snapshot.",
            once_each("offsets", "broker_name", "queue_id"),
        ),
        each(
            "offsets_are_possible",
            "Offsets are 0 to 10^15.",
            "offsets",
            numbers_possible("broker_offset", "consumer_offset", "pull_offset"),
            of_samples=True,
        ),
        each(
            "times_are_possible",
            "Store times are in the years 1970 to 9999.",
            "offsets",
            times_possible("last_timestamp"),
            of_samples=True,
        ),
    ),
)
