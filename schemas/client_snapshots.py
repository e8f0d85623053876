"""One client's report of itself (optional source): strategy, subscriptions, the queues it really owns."""

from schemas.common import CLUSTER, CONSUMER_GROUP, SUBSCRIPTION, recorded
from schemas.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Field, array_of, fields, required

CLIENT_SNAPSHOTS = recorded(
    "client_snapshots",
    "One row per client's answer: its running info. Of duplicate client ids only the first answers",
    (CLUSTER, CONSUMER_GROUP, required("client_id", STRING, "client id")),
    required("answered", BOOLEAN, "false: no answer in time; all below is null"),
    Field("in_group", BOOLEAN, "false: the client has no consumer of this group; all below is null"),
    Field("strategy_class", STRING, "Java class of its allocation strategy"),
    Field("message_model", STRING, "CLUSTERING, BROADCASTING or LITE_SELECTIVE"),
    Field("consume_orderly", BOOLEAN, "true: orderly listener, which needs queue locks"),
    Field("client_rebalance", BOOLEAN, "false: the broker assigns (POP)"),
    Field("started_at", TIMESTAMP, "start, by the client's clock"),
    Field("consume_threads", INTEGER, "core size of the thread pool"),
    Field("consume_batch_size", INTEGER, "consumeMessageBatchMaxSize"),
    Field("pull_batch_size", INTEGER, "pullBatchSize"),
    Field("pull_interval_ms", INTEGER, "pullInterval"),
    Field("pull_threshold_for_queue", INTEGER, "pullThresholdForQueue"),
    Field("pull_threshold_size_for_queue", INTEGER, "pullThresholdSizeForQueue, MiB"),
    Field("consume_max_span", INTEGER, "consumeConcurrentlyMaxSpan"),
    Field("consume_timeout_minutes", LONG, "consumeTimeout"),
    Field("subscriptions", SUBSCRIPTION, "subscriptions of this client"),
    Field(
        "owned_queues",
        array_of(
            *fields(STRING, "topic", "broker_name"),
            Field("queue_id", INTEGER),
            *fields(BOOLEAN, "locked", "dropped"),
            *fields(INTEGER, "cached_count", "cached_mib"),
            *fields(LONG, "cached_min_offset", "cached_max_offset", "commit_offset", "last_pull", "last_consume"),
            Field("last_lock", LONG),
        ),
        "process queues; last_pull and last_consume in ms, 0: never; last_lock: last lock of an orderly client, ms",
    ),
    Field(
        "lock_refused",
        array_of(*fields(STRING, "topic", "broker_name"), Field("queue_id", INTEGER)),
        "queues whose lock another client has, from brokers' logs; null: not recorded",
    ),
    Field(
        "consume_status",
        array_of(
            Field("topic", STRING),
            *fields(DOUBLE, "consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_rt_ms", "pull_tps"),
        ),
        "per topic: milliseconds and messages per second of the last minute",
    ),
)
