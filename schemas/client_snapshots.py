"""What one client said of itself (optional source): strategy, subscriptions, the queues it really owns."""

from schemas.common import CAPTURED_AT, CAPTURED_DATE, CLUSTER, CONSUMER_GROUP, GENERATED_DATE, SUBSCRIPTION
from schemas.table import Table
from schemas.types import BOOLEAN, DOUBLE, INTEGER, LONG, STRING, TIMESTAMP, Field, Struct, array_of, required

CLIENT_SNAPSHOTS = Table(
    name="client_snapshots",
    comment="One row per (cluster, consumer group, client id, time): the client's running info. Of connections with "
    "one client id, only the first answers",
    schema=Struct(
        CLUSTER,
        CONSUMER_GROUP,
        required("client_id", STRING, "client id that was asked"),
        CAPTURED_AT,
        CAPTURED_DATE,
        required("answered", BOOLEAN, "false: the client did not answer in time; all below is null then"),
        Field(
            "in_group",
            BOOLEAN,
            "false: the client answered that it has no consumer of this group; all below is null then",
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
        Field(
            "pull_threshold_for_queue", INTEGER, "messages of a queue; above it pulling pauses: pullThresholdForQueue"
        ),
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
        Field("subscriptions", SUBSCRIPTION, "the subscriptions of this client"),
        Field(
            "owned_queues",
            array_of(
                Field("topic", STRING),
                Field("broker_name", STRING),
                Field("queue_id", INTEGER),
                Field("locked", BOOLEAN),
                Field("dropped", BOOLEAN),
                Field("cached_count", INTEGER),
                Field("cached_mib", INTEGER),
                Field("cached_min_offset", LONG),
                Field("cached_max_offset", LONG),
                Field("commit_offset", LONG),
                Field("last_pull", LONG),
                Field("last_consume", LONG),
            ),
            "its process queues; messages, MiB, offsets; last_pull and last_consume in ms, 0: never",
        ),
        Field(
            "consume_status",
            array_of(
                Field("topic", STRING),
                Field("consume_rt_ms", DOUBLE),
                Field("consume_ok_tps", DOUBLE),
                Field("consume_failed_tps", DOUBLE),
                Field("pull_rt_ms", DOUBLE),
                Field("pull_tps", DOUBLE),
            ),
            "per topic, milliseconds and messages per second, as the client measured over its last minute",
        ),
    ),
    key=("cluster", "consumer_group", "client_id", "captured_at"),
    cluster_by=("captured_at",),
    generated=GENERATED_DATE,
)
