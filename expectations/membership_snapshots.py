"""Who was in a group, as a broker listed it."""

from expectations.common import CLUSTER, GROUP, captured, named, one_of, present
from expectations.suite import Expectation, Suite
from schemas import MEMBERSHIP_SNAPSHOTS

SUITE = Suite(
    MEMBERSHIP_SNAPSHOTS,
    series=("cluster", "consumer_group", "broker_name"),
    expectations=(
        CLUSTER,
        GROUP,
        named("broker_name", "The broker that answered"),
        captured(),
        Expectation(
            "message_model_is_known",
            "The message model is CLUSTERING or BROADCASTING, or null where nobody is online.",
            f"message_model IN {one_of(('CLUSTERING', 'BROADCASTING'))}",
        ),
        Expectation("connections_are_there", "Nobody online is an empty array, not null.", "connections IS NOT NULL"),
        present("connections"),
        Expectation(
            "client_ids_are_names",
            "Every connection has a client id of 1 to 255 characters.",
            "it.client_id IS NOT NULL AND length(it.client_id) BETWEEN 1 AND 255",
            each="connections",
        ),
        Expectation(
            "client_addresses_are_host_and_port",
            "The address of a connection is host:port.",
            r"it.client_addr RLIKE '^.+:[0-9]{1,5}$'",
            each="connections",
        ),
        present("subscriptions"),
        Expectation(
            "subscribed_topics_are_names",
            "Every subscription names its topic, in 1 to 255 characters.",
            "it.topic IS NOT NULL AND length(it.topic) BETWEEN 1 AND 255",
            each="subscriptions",
        ),
    ),
)
