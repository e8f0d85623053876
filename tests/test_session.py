"""A session of Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.runtime import session


def test_the_class_path_is_the_same_however_often_a_session_is_asked_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "installed", lambda: [Path("/s3/a.jar"), Path("/s3/b.jar")])
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/own/c.jar:/own/d.jar")
    for _ in range(3):
        assert session.get_session() is spark
    assert os.environ["SPARK_DIST_CLASSPATH"] == "/own/c.jar:/own/d.jar:/s3/a.jar:/s3/b.jar"


def test_what_is_given_to_spark_wins_over_the_settings_of_small_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    assert session._not_given(session.SMALL_SETTINGS) == session.SMALL_SETTINGS
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.codegen.wholeStage=true pyspark-shell")
    assert session._not_given(session.SMALL_SETTINGS) == {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def test_a_session_that_is_there_is_not_made_small(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.codegen.wholeStage") or ""
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    try:
        assert session.get_session(small=True) is spark
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", before)
