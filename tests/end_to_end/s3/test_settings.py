"""Spark on S3: its settings are those of the environment that delta-rs reads, without a credential among them. Spark's
own compiler compiles the log store, and a warehouse on S3 is refused without it.
"""

import os
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError
from spark_jobs.store.location import Location
from spark_jobs.store.s3 import s3a
from spark_jobs.store.s3.s3a import _SOURCE, LOG_STORE, hadoop_version, log_store_key, s3_settings


def test_the_log_store_compiles(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE.read_text())
    assert list(compiler.getBytecodes()) == [LOG_STORE]


def test_the_version_is_that_of_sparks_hadoop(spark: SparkSession) -> None:
    jvm = spark._jvm
    assert jvm is not None
    assert hadoop_version() == jvm.org.apache.hadoop.util.VersionInfo.getVersion()


def test_without_the_log_store_nothing_is_written_to_s3(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3a, "LOG_STORE", "rebalance_audit.NotThere")
    bucket = Location.parse("s3a://bucket/audit")
    s3a.check_commits(spark, bucket)  # a log store of the user's own, as far as this can see
    configured = SimpleNamespace(getConf=lambda: {log_store_key("s3a"): "rebalance_audit.NotThere"})
    with pytest.raises(SetupError, match=r"rebalance-audit setup --s3` once"):
        s3a.check_commits(cast(SparkSession, SimpleNamespace(sparkContext=configured, _jvm=spark._jvm)), bucket)
    s3a.check_commits(spark, Location.parse("/data/audit"))


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


SETTINGS = {
    "spark.delta.logStore.s3a.impl": "rebalance_audit.ExclusiveLogStore",
    "spark.delta.logStore.s3.impl": "rebalance_audit.ExclusiveLogStore",
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
}


def test_amazon_needs_no_endpoint() -> None:
    assert s3_settings() == SETTINGS


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
    assert s3_settings() == SETTINGS | told
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://s3.example")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    newer = {"spark.hadoop.fs.s3a.endpoint": "https://s3.example", "spark.hadoop.fs.s3a.endpoint.region": "us-east-1"}
    assert s3_settings() == SETTINGS | told | newer
