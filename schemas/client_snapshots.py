"""One client's report of itself (optional source): strategy, subscriptions, the queues it really owns."""

from schemas.common import CLUSTER, CONSUMER_GROUP, SUBSCRIPTION, recorded
from schemas.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Field, array_of, fields, required

CLIENT_SNAPSHOTS = recorded(
    "client_snapshots",
    "One row per (cluster, consumer group, client id, time): the client's running info. Of connections with "
    "one client id, only the first answers",
    (CLUSTER, CONSUMER_GROUP, required("client_id", STRING, "client id that was asked")),
    required("answered", BOOLEAN, "false: the client did not answer in time; all below is null then"),
    Field(
        "in_group", BOOLEAN, "false: the client answered that it has no consumer of this group; all below is null then"
    ),
    Field("strategy_class", STRING, "Java class of its AllocateMessageQueueStrategy, without the @hash"),
    Field("message_model", STRING, "CLUSTERING, BROADCASTING or LITE_SELECTIVE"),
    Field("consume_orderly", BOOLEAN, "true: orderly listener, which needs the broker's queue lock"),
    Field("client_rebalance", BOOLEAN, "false: the broker assigns (POP), no client owns queues"),
    Field("started_at", TIMESTAMP, "start of the consumer, by the client's clock"),
    Field("consume_threads", INTEGER, "core size of the consume thread pool"),
    Field("consume_batch_size", INTEGER, "most messages of one call of the listener: consumeMessageBatchMaxSize"),
    Field("pull_batch_size", INTEGER, "most messages of one pull: pullBatchSize"),
    Field("pull_interval_ms", INTEGER, "ms from an answer to the next pull of the queue: pullInterval"),
    Field("pull_threshold_for_queue", INTEGER, "messages of a queue; above it pulling pauses: pullThresholdForQueue"),
    Field(
        "pull_threshold_size_for_queue",
        INTEGER,
        "MiB of messages of a queue; above it pulling pauses: pullThresholdSizeForQueue",
    ),
    Field(
        "consume_max_span",
        INTEGER,
        "offsets from the first to the last message it holds of a queue; above it pulling pauses, unless it "
        "consumes in order: consumeConcurrentlyMaxSpan",
    ),
    Field(
        "consume_timeout_minutes",
        LONG,
        "minutes a message may take; then the client sends it back, unless it consumes in order: consumeTimeout",
    ),
    Field("subscriptions", SUBSCRIPTION, "the subscriptions of this client"),
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
        "its process queues; messages, MiB, offsets; last_pull and last_consume in ms, 0: never; last_lock: when an "
        "orderly client locked the queue last, or began with it, in ms",
    ),
    Field(
        "lock_refused",
        array_of(*fields(STRING, "topic", "broker_name"), Field("queue_id", INTEGER)),
        "queues of which brokers refuse the lock to it, because another client has it; null: not recorded. Logs of "
        "brokers have it, recorders do not ask for it",
    ),
    Field(
        "consume_status",
        array_of(
            Field("topic", STRING),
            *fields(DOUBLE, "consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_rt_ms", "pull_tps"),
        ),
        "per topic, milliseconds and messages per second, as the client measured over its last minute",
    ),
)
