"""Which brokers host a topic, with how many queues."""

from expectations.common import CLUSTER, TOPIC, captured, each, has_names, has_numbers, once_each, present, there
from expectations.rows import Rows, Values
from expectations.suite import Expectation, Suite
from schemas import ROUTE_SNAPSHOTS


def _addresses_are_known(rows: Rows) -> Values:
    each_is_known = rows.every("addresses", _address_is_known)
    is_once = once_each("addresses", "broker_name", "broker_id")(rows)
    return rows.none_null("addresses") & each_is_known & is_once


def _address_is_known(it: Rows) -> Values:
    return has_names("broker_name", "address")(it) & (it["broker_id"] >= 0).or_else(False)


SUITE = Suite(
    ROUTE_SNAPSHOTS,
    expectations=(
        CLUSTER,
        TOPIC,
        captured(),
        there("queues", "Without a route the array is empty, not null."),
        present("queues"),
        each(
            "brokers_are_names",
            "Every entry names its broker, in 1 to 255 characters.",
            "queues",
            has_names("broker_name"),
        ),
        Expectation(
            "brokers_are_there_once", "No broker appears twice in a route.", once_each("queues", "broker_name")
        ),
        each("perm_is_0_to_7", "A permission has three bits.", "queues", has_numbers(7, "perm")),
        each(
            "queue_counts_are_0_to_65535",
            "Numbers of read and write queues are 0 to 65535.",
            "queues",
            has_numbers(65535, "read_queue_nums", "write_queue_nums"),
        ),
        Expectation(
            "addresses_are_known",
            "A recorded address has a broker's name and an id of 0 or more, and appears once.",
            _addresses_are_known,
        ),
    ),
)
