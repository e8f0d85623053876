"""Which brokers host a topic, with how many queues."""

from expectations.common import CLUSTER, TOPIC, captured, filled, named_each, present
from expectations.suite import Expectation, Suite
from schemas import ROUTE_SNAPSHOTS

SUITE = Suite(
    ROUTE_SNAPSHOTS,
    series=("cluster", "topic"),
    expectations=(
        CLUSTER,
        TOPIC,
        captured(),
        Expectation("queues_are_there", "No route is an empty array, not null.", "queues IS NOT NULL"),
        present("queues"),
        Expectation(
            "brokers_are_names",
            "Every entry names its broker, in 1 to 255 characters.",
            named_each("broker_name"),
            each="queues",
        ),
        Expectation(
            "brokers_are_there_once",
            "No broker is in a route twice.",
            "size(array_distinct(queues.broker_name)) = size(queues)",
        ),
        Expectation(
            "perm_is_0_to_7",
            "A permission has three bits.",
            f"{filled('perm')} AND it.perm BETWEEN 0 AND 7",
            each="queues",
        ),
        Expectation(
            "queue_counts_are_0_to_65535",
            "Numbers of read and write queues are 0 to 65535.",
            f"{filled('read_queue_nums', 'write_queue_nums')} "
            "AND it.read_queue_nums BETWEEN 0 AND 65535 AND it.write_queue_nums BETWEEN 0 AND 65535",
            each="queues",
        ),
    ),
)
