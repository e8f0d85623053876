"""Which run published what, from which source versions, with which configuration."""

from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructType, TimestampType

from schemas.table import Table, column, required

AUDIT_RUNS = Table(
    name="audit_runs",
    comment="One row per run that came to an end",
    schema=StructType(
        [
            required("run_id", StringType(), "random; names the run in logs and reports"),
            required("started_at", TimestampType(), "UTC"),
            required("finished_at", TimestampType(), "UTC"),
            required("interval_start", TimestampType(), "first step of the run, UTC"),
            required("interval_end", TimestampType(), "end of its last step, UTC, exclusive"),
            required("step_seconds", LongType(), "length of an audit step"),
            column("cluster", StringType(), "filter; null: all clusters"),
            column("consumer_group", StringType(), "filter; null: all groups"),
            column("topic", StringType(), "filter; null: all topics"),
            required(
                "source_versions",
                MapType(StringType(), LongType(), False),
                "Delta version read, per source table",
            ),
            required(
                "not_evaluated",
                ArrayType(StringType(), False),
                "rules that could not be evaluated: an optional source they need holds nothing of the run's time",
            ),
            required("configuration_hash", StringType(), "SHA-256 of the effective configuration"),
            required("configuration", StringType(), "the effective configuration as JSON"),
            required("code_version", StringType(), "version of rebalance-audit"),
            required("row_counts", MapType(StringType(), LongType(), False), "rows published, per output table"),
            required(
                "content_hashes",
                MapType(StringType(), StringType(), False),
                "order-free hash, per output table",
            ),
            required(
                "outcome",
                StringType(),
                "published, or rejected: a critical expectation failed and nothing was published",
            ),
            column("message", StringType(), "what went wrong, or what the reader should know"),
        ]
    ),
    key=("run_id",),
    cluster_by=("started_at",),
    checks={"known_outcome": "outcome IN ('published', 'rejected')"},
)
