"""Which brokers host a topic, with how many queues."""

from expectations.common import CLUSTER, TOPIC, captured, each, named_each, present, within
from expectations.suite import Expectation, Suite
from schemas import ROUTE_SNAPSHOTS

SUITE = Suite(
    ROUTE_SNAPSHOTS,
    series=("cluster", "topic"),
    expectations=(
        CLUSTER,
        TOPIC,
        captured(),
        Expectation("queues_are_there", "If there is no route, the array is empty, not null.", "queues IS NOT NULL"),
        present("queues"),
        each(
            "brokers_are_names",
            "Every entry names its broker, in 1 to 255 characters.",
            "queues",
            named_each("broker_name"),
        ),
        Expectation(
            "brokers_are_there_once",
            "No broker appears twice in a route.",
            "size(array_distinct(queues.broker_name)) = size(queues)",
        ),
        each("perm_is_0_to_7", "A permission has three bits.", "queues", within("perm", 7)),
        each(
            "queue_counts_are_0_to_65535",
            "Numbers of read and write queues are 0 to 65535.",
            "queues",
            within("read_queue_nums", 65535) & within("write_queue_nums", 65535),
        ),
    ),
)
