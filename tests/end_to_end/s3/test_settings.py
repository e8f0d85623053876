"""Spark finds an object store by the environment that delta-rs reads, and without a credential among its settings."""

from __future__ import annotations

import os

import pytest

from spark_jobs.store.s3.s3a import s3_settings


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


LOG_STORE = {
    "spark.delta.logStore.s3a.impl": "rebalance_audit.ExclusiveLogStore",
    "spark.delta.logStore.s3.impl": "rebalance_audit.ExclusiveLogStore",
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
}


def test_amazon_needs_no_endpoint() -> None:
    assert s3_settings() == LOG_STORE


def test_endpoint_and_region_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://store.example")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    told = {
        "spark.hadoop.fs.s3a.endpoint": "https://store.example",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-central-1",
    }
    assert s3_settings() == LOG_STORE | told
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://s3.example")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    newer = {"spark.hadoop.fs.s3a.endpoint": "https://s3.example", "spark.hadoop.fs.s3a.endpoint.region": "us-east-1"}
    assert s3_settings() == LOG_STORE | told | newer
