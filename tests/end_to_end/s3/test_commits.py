"""The log store is compiled by the compiler that Spark brings, and a warehouse on S3 is refused without it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError
from spark_jobs.store.location import Location
from spark_jobs.store.s3 import commits
from spark_jobs.store.s3.s3a import _SOURCE, LOG_STORE, hadoop_version


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
    monkeypatch.setattr(commits, "LOG_STORE", "rebalance_audit.NotThere")
    bucket = Location.parse("s3a://bucket/audit")
    commits.check_commits(spark, bucket)  # a log store of the user's own, as far as this can see
    monkeypatch.setattr(commits, "_configured", lambda *_: "rebalance_audit.NotThere")
    with pytest.raises(SetupError, match=r"rebalance-audit setup --s3` once"):
        commits.check_commits(spark, bucket)
    commits.check_commits(spark, Location.parse("/data/audit"))
