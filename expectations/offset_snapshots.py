"""How far a group has come in every queue of a topic."""

from expectations.common import CLUSTER, GROUP, TOPIC, captured, present
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
        Expectation("offsets_are_there", "No queues is an empty array, not null.", "offsets IS NOT NULL"),
        present("offsets"),
        Expectation(
            "queues_are_named",
            "Every reading has its broker and its queue's number, which is 0 to 65535.",
            "it.broker_name IS NOT NULL AND it.queue_id IS NOT NULL AND it.queue_id BETWEEN 0 AND 65535",
            each="offsets",
        ),
        Expectation(
            "queues_are_there_once",
            "No queue is read twice in one snapshot.",
            "size(array_distinct(arrays_zip(offsets.broker_name, offsets.queue_id))) = size(offsets)",
        ),
        Expectation(
            "offsets_are_not_negative",
            "Offsets are 0 or more.",
            "least(it.broker_offset, it.consumer_offset, it.pull_offset) >= 0",
            each="offsets",
        ),
        Expectation(
            "consumer_is_not_ahead_of_broker",
            "A group has not consumed more than there is; the two are read one after the other, so up to "
            "`offset_tolerance` more is possible.",
            "it.consumer_offset <= it.broker_offset + offset_tolerance",
            each="offsets",
        ),
    ),
)
