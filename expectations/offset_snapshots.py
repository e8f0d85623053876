"""How far a group has come in every queue of a topic."""

from expectations.common import (
    CLUSTER,
    GROUP,
    TOPIC,
    captured,
    each,
    no_queue_twice,
    numbered_queue,
    numbers_possible,
    present,
    times_possible,
)
from expectations.suite import Expectation, Suite
from schemas import OFFSET_SNAPSHOTS

SUITE = Suite(
    OFFSET_SNAPSHOTS,
    series=("cluster", "consumer_group", "topic"),
    expectations=(
        CLUSTER,
        GROUP,
        TOPIC,
        captured(),
        Expectation(
            "offsets_are_there", "If there are no queues, the array is empty, not null.", "offsets IS NOT NULL"
        ),
        present("offsets"),
        each(
            "queues_are_named",
            "Every reading has its broker and its queue id, which is 0 to 65535.",
            "offsets",
            numbered_queue(),
        ),
        Expectation(
            "queues_are_there_once",
            "No queue appears twice in one snapshot.",
            no_queue_twice("offsets"),
        ),
        each(
            "offsets_are_possible",
            "Offsets are 0 to 10^15.",
            "offsets",
            numbers_possible("broker_offset", "consumer_offset", "pull_offset"),
        ),
        each(
            "times_are_possible",
            "Store times are in the years 1970 to 9999.",
            "offsets",
            times_possible("last_timestamp"),
        ),
        Expectation(
            "consumer_is_not_ahead_of_broker",
            "A consumer offset is not above the broker offset; the two are read one after the other, so it may be "
            "ahead by up to `offset_tolerance`.",
            "it.consumer_offset <= try_add(it.broker_offset, offset_tolerance)",
            each="offsets",
        ),
    ),
)
