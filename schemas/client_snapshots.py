"""What one client said of itself (optional source): strategy, subscriptions, the queues it really owns."""

from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from schemas.common import CAPTURED_AT, CAPTURED_DATE, CLUSTER, CONSUMER_GROUP, GENERATED_DATE, SUBSCRIPTION
from schemas.table import Table, array_of, column, required

CLIENT_SNAPSHOTS = Table(
    name="client_snapshots",
    comment="One row per (cluster, consumer group, client id, time): the client's running info. Of twins the broker "
    "answers for the first only",
    schema=StructType(
        [
            CLUSTER,
            CONSUMER_GROUP,
            required("client_id", StringType(), "client id that was asked"),
            CAPTURED_AT,
            CAPTURED_DATE,
            required("answered", BooleanType(), "false: the client did not answer in time; all below is null then"),
            column(
                "strategy_class",
                StringType(),
                "Java class of its AllocateMessageQueueStrategy, without the @hash",
            ),
            column("message_model", StringType(), "CLUSTERING or BROADCASTING"),
            column(
                "consume_orderly",
                BooleanType(),
                "true: orderly listener, which needs the broker's queue lock",
            ),
            column("client_rebalance", BooleanType(), "false: the broker assigns (POP), no client owns queues"),
            column("started_at", TimestampType(), "start of the consumer, by the client's clock"),
            column("consume_threads", IntegerType(), "core size of the consume thread pool"),
            column("subscriptions", SUBSCRIPTION, "what this very client subscribes"),
            column(
                "owned_queues",
                array_of(
                    StructField("topic", StringType(), True),
                    StructField("broker_name", StringType(), True),
                    StructField("queue_id", IntegerType(), True),
                    StructField("locked", BooleanType(), True),
                    StructField("dropped", BooleanType(), True),
                    StructField("cached_count", IntegerType(), True),
                    StructField("cached_mib", IntegerType(), True),
                    StructField("cached_min_offset", LongType(), True),
                    StructField("cached_max_offset", LongType(), True),
                    StructField("commit_offset", LongType(), True),
                    StructField("last_pull", LongType(), True),
                    StructField("last_consume", LongType(), True),
                ),
                "its process queues; messages, MiB, offsets; last_pull and last_consume in ms, 0: never",
            ),
            column(
                "consume_status",
                array_of(
                    StructField("topic", StringType(), True),
                    StructField("consume_rt_ms", DoubleType(), True),
                    StructField("consume_ok_tps", DoubleType(), True),
                    StructField("consume_failed_tps", DoubleType(), True),
                    StructField("pull_rt_ms", DoubleType(), True),
                    StructField("pull_tps", DoubleType(), True),
                ),
                "per topic, milliseconds and messages per second, as the client measured over its last minute",
            ),
        ]
    ),
    key=("cluster", "consumer_group", "client_id", "captured_at"),
    cluster_by=("captured_at",),
    generated=GENERATED_DATE,
)
