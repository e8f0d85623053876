"""The offsets every queue of a topic holds, write queues too."""

from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from schemas.common import CAPTURED_AT, CAPTURED_DATE, CLUSTER, GENERATED_DATE, TOPIC
from schemas.table import Table, array_of, required

TOPIC_SNAPSHOTS = Table(
    name="topic_snapshots",
    comment="One row per (cluster, topic, time): smallest and next offset of every queue that can hold messages",
    schema=StructType(
        [
            CLUSTER,
            TOPIC,
            CAPTURED_AT,
            CAPTURED_DATE,
            required(
                "queues",
                array_of(
                    StructField("broker_name", StringType(), True),
                    StructField("queue_id", IntegerType(), True),
                    StructField("min_offset", LongType(), True),
                    StructField("max_offset", LongType(), True),
                ),
                "messages; max_offset is the next offset to be written",
            ),
        ]
    ),
    key=("cluster", "topic", "captured_at"),
    cluster_by=("captured_at",),
    generated=GENERATED_DATE,
)
