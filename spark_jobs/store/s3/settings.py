"""Hadoop's S3A from the environment that every client of Amazon's knows, as delta-rs reads it too.

Credentials are not among the settings: S3A finds them by itself, in the environment or from the machine's role.
"""

from __future__ import annotations

import os

from spark_jobs.store.location import S3_SCHEMES
from spark_jobs.store.s3.jars import LOG_STORE


def log_store_key(scheme: str) -> str:
    """Spark's setting that names Delta's log store."""
    return f"spark.delta.logStore.{scheme}.impl"


def s3_settings() -> dict[str, str]:
    """Spark's settings of the log store, and of the endpoint and region that the environment names."""
    settings = {log_store_key(scheme): LOG_STORE for scheme in S3_SCHEMES}
    settings["spark.hadoop.fs.s3.impl"] = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # As delta-rs: other makers' stores have no name for each bucket.
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings
