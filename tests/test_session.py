"""A session of Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs import session


def test_the_class_path_is_the_same_however_often_a_session_is_asked_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "installed", lambda: [Path("/s3/a.jar"), Path("/s3/b.jar")])
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/own/c.jar:/own/d.jar")
    for _ in range(3):
        assert session.get_session() is spark
    assert os.environ["SPARK_DIST_CLASSPATH"] == "/own/c.jar:/own/d.jar:/s3/a.jar:/s3/b.jar"
