"""When a recorder was at work: what it recorded counts, and logs only for the time between."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from schemas import OFFSET_SNAPSHOTS
from spark_jobs.ingest.logs.read import spans_of
from spark_jobs.store.warehouse import Warehouse

#: Seconds: times are compared in steps of it.
_STEP = 20


def recorded_spans(spark: SparkSession, warehouse: Warehouse, cluster: str) -> list[tuple[int, int]]:
    """Spans (ms, inclusive) in which a recorder worked for the cluster: only it records the ends of queues."""
    steps = (
        warehouse.read(spark, OFFSET_SNAPSHOTS)
        .where((F.col("cluster") == cluster) & F.exists("offsets", lambda queue: queue.broker_offset.isNotNull()))
        .select(F.floor(F.unix_seconds("captured_at") / _STEP).alias("step"))
        .distinct()
        .collect()
    )
    length = 1000 * _STEP
    return spans_of((row.step * length, (row.step + 1) * length - 1) for row in steps)
