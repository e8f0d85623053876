"""What clients say of themselves."""

from expectations.common import CLUSTER, GROUP, captured, named, one_of, present
from expectations.suite import Expectation, Suite
from schemas import CLIENT_SNAPSHOTS

SUITE = Suite(
    CLIENT_SNAPSHOTS,
    series=("cluster", "consumer_group", "client_id"),
    expectations=(
        CLUSTER,
        GROUP,
        named("client_id", "The client that was asked"),
        captured(),
        Expectation("answered_is_known", "Whether the client answered is there.", "answered IS NOT NULL"),
        Expectation(
            "who_did_not_answer_says_nothing",
            "A client that did not answer has neither queues nor a strategy.",
            "answered OR (owned_queues IS NULL AND strategy_class IS NULL AND consume_status IS NULL)",
        ),
        Expectation(
            "message_model_is_known",
            "The message model is CLUSTERING or BROADCASTING.",
            f"message_model IN {one_of(('CLUSTERING', 'BROADCASTING'))}",
        ),
        Expectation("threads_are_positive", "A client has threads to consume with.", "consume_threads > 0"),
        present("subscriptions"),
        present("owned_queues"),
        present("consume_status"),
        Expectation(
            "owned_queues_are_named",
            "Every queue has its topic, its broker and its number, which is 0 to 65535.",
            "it.topic IS NOT NULL AND it.broker_name IS NOT NULL AND it.queue_id IS NOT NULL "
            "AND it.queue_id BETWEEN 0 AND 65535",
            each="owned_queues",
        ),
        Expectation(
            "caches_are_not_negative",
            "Cached messages and MiB are 0 or more.",
            "least(it.cached_count, it.cached_mib) >= 0",
            each="owned_queues",
        ),
        Expectation(
            "rates_are_not_negative",
            "Response times and rates are 0 or more.",
            "least(it.consume_rt_ms, it.consume_ok_tps, it.consume_failed_tps, it.pull_rt_ms, it.pull_tps) >= 0",
            each="consume_status",
        ),
    ),
)
