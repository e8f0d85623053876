"""Which run published what, from which source versions, with which configuration."""

from schemas.table import Table
from schemas.types import LONG, STRING, TIMESTAMP, Array, Field, Map, Struct, required

AUDIT_RUNS = Table(
    name="audit_runs",
    comment="One row per finished run",
    schema=Struct(
        required("run_id", STRING, "id of the run in logs and reports"),
        required("started_at", TIMESTAMP, "UTC"),
        required("finished_at", TIMESTAMP, "UTC"),
        required("interval_start", TIMESTAMP, "start of its first step"),
        required("interval_end", TIMESTAMP, "end of its last step, exclusive"),
        required("step_seconds", LONG, "length of an audit step"),
        Field("cluster", STRING, "filter; null: all clusters"),
        Field("consumer_group", STRING, "filter; null: all groups"),
        Field("topic", STRING, "filter; null: all topics"),
        required("source_versions", Map(LONG), "Delta version read, per source table"),
        required("not_evaluated", Array(STRING), "rules whose optional source has nothing of the run's time"),
        required("configuration_hash", STRING, "SHA-256 of the effective configuration"),
        required("configuration", STRING, "the effective configuration as JSON"),
        required("code_version", STRING, "version of rebalance-audit and a hash of its code"),
        required("row_counts", Map(LONG), "rows published, per output table"),
        required("content_hashes", Map(STRING), "order-free hash, per output table"),
        required("published_versions", Map(LONG), "Delta version with the run's results, per output table"),
        required("outcome", STRING, "published, or rejected by a critical expectation"),
        Field("message", STRING, "warning or error"),
    ),
    key=("run_id",),
    cluster_by=("started_at",),
    checks={"known_outcome": "outcome IN ('published', 'rejected')"},
)
