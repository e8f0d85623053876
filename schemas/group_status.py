"""How each group fared in a step, in one row."""

from pyspark.sql.types import BooleanType, DoubleType, IntegerType, LongType, StringType, StructField, StructType

from schemas.common import CLUSTER, CONSUMER_GROUP, STEP_START
from schemas.table import Table, array_of, column, required

GROUP_STATUS = Table(
    name="group_status",
    comment="One row per (cluster, consumer group, step): what needs attention, who was there, what the backlog did, "
    "and whether more consumers would have helped",
    schema=StructType(
        [
            STEP_START,
            CLUSTER,
            CONSUMER_GROUP,
            column("worst_severity", StringType(), "INFO, WARN or ERROR: the worst finding's; null without findings"),
            required("finding_count", IntegerType(), "findings of the group in this step"),
            column("members", IntegerType(), "connections when last replayed; null: never in this step"),
            column("distinct_members", IntegerType(), "different client ids then"),
            column(
                "idle_members", IntegerType(), "connections that owned no queue of any topic then, retry topics aside"
            ),
            column("queues", IntegerType(), "readable queues then, retry topics aside"),
            column("owned_once", IntegerType(), "of these: queues with one owner"),
            column("owned_twice", IntegerType(), "of these: queues with several owners"),
            column("owned_never", IntegerType(), "of these: queues without owner"),
            column("backlog_start", LongType(), "messages, sum of the first known reading per queue; null is unknown"),
            column("backlog_end", LongType(), "messages, sum of the last known reading per queue; null is unknown"),
            required(
                "unknown_queues", IntegerType(), "queues whose backlog is not known: never committed, or not read"
            ),
            column("oldest_message_ms", LongType(), "age of the oldest message not consumed, at its highest"),
            column("in_rate", DoubleType(), "messages a second produced, over the replayed time; 6 decimals a queue"),
            column("out_rate", DoubleType(), "messages a second consumed, over the replayed time; 6 decimals a queue"),
            column(
                "attribution",
                array_of(
                    StructField("topic", StringType(), True),
                    StructField("growth", LongType(), True),
                    StructField("unassigned", LongType(), True),
                    StructField("stuck_owner", LongType(), True),
                    StructField("hand_over", LongType(), True),
                    StructField("producer_surge", LongType(), True),
                    StructField("residual", LongType(), True),
                ),
                "per topic: growth of the backlog in messages, and the parts that add up to it",
            ),
            required("limit", StringType(), "what limits the group; docs/findings.md explains each"),
            column("more_members_help", BooleanType(), "null: nothing has to be helped, or nothing is known"),
            column(
                "busiest_share", IntegerType(), "queues of the busiest member of the topic with most queues, if even"
            ),
            column("share_after", IntegerType(), "the same with one more member"),
            required("advice", StringType(), "whether more consumers would have helped, in words and numbers"),
        ]
    ),
    key=("step_start", "cluster", "consumer_group"),
    partition_by=("step_start",),
    checks={
        "known_severity": "worst_severity IS NULL OR worst_severity IN ('INFO', 'WARN', 'ERROR')",
        "counts_not_negative": "finding_count >= 0 AND unknown_queues >= 0",
        "every_queue_counted": "queues IS NULL OR queues = owned_once + owned_twice + owned_never",
    },
)
