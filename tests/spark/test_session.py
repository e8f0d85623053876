"""A session of Spark."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from spark_jobs.runtime import session
from spark_jobs.runtime.session import start_java


def test_the_class_path_is_the_same_however_often_a_session_is_asked_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "installed", lambda: [Path("/s3/a.jar"), Path("/s3/b.jar")])
    monkeypatch.setenv("SPARK_DIST_CLASSPATH", "/own/c.jar:/own/d.jar")
    for _ in range(3):
        assert session.get_session() is spark
    assert os.environ["SPARK_DIST_CLASSPATH"] == "/own/c.jar:/own/d.jar:/s3/a.jar:/s3/b.jar"


def test_java_frees_the_memory_of_its_threads(spark: SparkSession) -> None:
    assert spark.sparkContext._jvm.System.getenv("MALLOC_ARENA_MAX") == os.environ["MALLOC_ARENA_MAX"]  # type: ignore[union-attr]


def test_direct_memory_has_a_limit_that_a_given_heap_replaces(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = spark.sparkContext._jvm.io.netty.util.internal.PlatformDependent.maxDirectMemory()  # type: ignore[union-attr]
    assert limit == 1024**3
    for given in ("--driver-memory 6g pyspark-shell", "--conf spark.driver.memory=6g pyspark-shell"):
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", given)
        assert session._direct_memory() == ""


def test_what_is_given_to_spark_wins_over_the_settings_of_small_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    assert session._not_given(session.SMALL_SETTINGS) == session.SMALL_SETTINGS
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.codegen.wholeStage=true pyspark-shell")
    assert session._not_given(session.SMALL_SETTINGS) == {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }


def test_a_session_that_is_there_is_not_made_small(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.codegen.wholeStage") or ""
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    try:
        assert session.get_session(small=True) is spark
        assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", before)


def test_what_java_says_as_it_starts_is_shown_but_for_its_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    lines = "WARNING: Using incubator modules: jdk.incubator.vector", "Error: the heap is too large"
    java.write_text("\n".join(("#!/bin/sh", *(f"echo '{line}' >&2" for line in lines), "exit 1")))
    java.chmod(0o700)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PySparkRuntimeError, match="JAVA_GATEWAY_EXITED"):
        start_java(SparkConf(loadDefaults=False))
    said = capfd.readouterr().err
    assert "Error: the heap is too large" in said
    assert "incubator" not in said


def test_a_session_leaves_nothing_in_the_working_folder_and_says_nothing(tmp_path: Path) -> None:
    script = "from spark_jobs.runtime.session import *; get_session().sql('SHOW TABLES').collect(); end_session()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr, [*tmp_path.iterdir()]) == ("", "", [])
