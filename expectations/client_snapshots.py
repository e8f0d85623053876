"""Expectations of the reports of clients about themselves."""

from expectations.common import (
    CLUSTER,
    GROUP,
    SUBSCRIBED_TOPICS,
    captured,
    each,
    has_names,
    has_queue,
    known_value,
    named,
    numbers_possible,
    present,
    times_possible,
)
from expectations.rows import Rows, Values, all_of, least
from expectations.suite import Expectation, Suite
from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.model.message_queue import MessageModel

#: What a client says of itself.
_REPORTED = CLIENT_SNAPSHOTS.columns[CLIENT_SNAPSHOTS.columns.index("answered") + 1 :]
#: From DefaultMQPushConsumerImpl.checkConfig. Clients may exceed its upper bounds after the start.
_FROM_1 = (
    "consume_batch_size",
    "pull_batch_size",
    "pull_threshold_for_queue",
    "pull_threshold_size_for_queue",
    "consume_max_span",
)


def _says_nothing(rows: Rows) -> Values:
    return rows["answered"] | all_of(rows[name].is_unknown() for name in _REPORTED)


SUITE = Suite(
    CLIENT_SNAPSHOTS,
    expectations=(
        CLUSTER,
        GROUP,
        named("client_id", "The client that was asked"),
        captured(),
        Expectation(
            "answered_is_known", "The row says whether the client answered.", lambda rows: rows["answered"].is_known()
        ),
        Expectation("who_did_not_answer_says_nothing", "A client that did not answer has no values.", _says_nothing),
        Expectation(
            "message_model_is_known",
            "The message model is CLUSTERING, BROADCASTING or LITE_SELECTIVE.",
            known_value("message_model", MessageModel),
        ),
        Expectation(
            "threads_are_1_to_65535",
            "A client has 1 to 65535 consume threads (RocketMQ allows 1000).",
            lambda rows: rows["consume_threads"].between(1, 65535),
        ),
        Expectation(
            "settings_are_possible",
            "Batch sizes, thresholds and the span are 1 or more, the pull interval is 0 ms or more.",
            lambda rows: (least(*(rows[name] for name in _FROM_1)) >= 1) & (rows["pull_interval_ms"] >= 0),
        ),
        present("subscriptions"),
        SUBSCRIBED_TOPICS,
        present("owned_queues"),
        present("consume_status", of_samples=True),
        each(
            "owned_queues_are_named",
            "Every queue has its topic, broker and an id of 0 to 65535.",
            "owned_queues",
            lambda it: has_names("topic")(it) & has_queue(it),
        ),
        each(
            "caches_are_not_negative",
            "Cached messages and MiB are 0 or more.",
            "owned_queues",
            lambda it: least(it["cached_count"], it["cached_mib"]) >= 0,
            of_samples=True,
        ),
        each(
            "cached_offsets_are_possible",
            "Offsets of cached messages are 0 to 10^15.",
            "owned_queues",
            numbers_possible("cached_min_offset", "cached_max_offset"),
            of_samples=True,
        ),
        each(
            "times_are_possible",
            "Times of pulling and consuming are in the years 1970 to 9999; 0 means never.",
            "owned_queues",
            times_possible("last_pull", "last_consume"),
            of_samples=True,
        ),
        each(
            "rates_are_possible",
            "Response times and rates are 0 to 10^15.",
            "consume_status",
            numbers_possible("consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_rt_ms", "pull_tps"),
            of_samples=True,
        ),
    ),
)
