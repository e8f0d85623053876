"""What the brokers hold of a topic."""

from expectations.common import CLUSTER, TOPIC, captured, present
from expectations.suite import Expectation, Suite
from schemas import TOPIC_SNAPSHOTS

SUITE = Suite(
    TOPIC_SNAPSHOTS,
    series=("cluster", "topic"),
    expectations=(
        CLUSTER,
        TOPIC,
        captured(),
        Expectation("queues_are_there", "A topic without queues has an empty array, not null.", "queues IS NOT NULL"),
        present("queues"),
        Expectation(
            "queues_are_named",
            "Every queue has its broker and its number, which is 0 to 65535.",
            "it.broker_name IS NOT NULL AND it.queue_id IS NOT NULL AND it.queue_id BETWEEN 0 AND 65535",
            each="queues",
        ),
        Expectation(
            "queues_are_there_once",
            "No queue is there twice.",
            "size(array_distinct(arrays_zip(queues.broker_name, queues.queue_id))) = size(queues)",
        ),
        Expectation(
            "offsets_are_not_negative",
            "Offsets are 0 or more.",
            "(it.min_offset >= 0 OR it.min_offset IS NULL) AND (it.max_offset >= 0 OR it.max_offset IS NULL)",
            each="queues",
        ),
        Expectation(
            "min_offset_is_not_above_max_offset",
            "A queue does not begin behind its end.",
            "it.min_offset <= it.max_offset",
            each="queues",
        ),
    ),
)
