"""The one place that makes a Spark session."""

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from threading import Thread

import pyspark
from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from spark_jobs.installation import fetched
from spark_jobs.runtime.executors import ship_modules
from spark_jobs.runtime.scratch import scratch_folder, temporary_files_in
from spark_jobs.store.s3.s3a import installed, s3_settings

_STDERR = 2
#: Spark starts Java with a module that is still in incubation, and Java has no option against its warning.
_NOISE = re.compile(rb"WARNING: Using incubator modules: ")
#: Where set-up puts Delta's jars, once; nothing is resolved at start.
JARS_DIR = fetched("jars")

#: Spark's classes as the JVM wants them, made by `class_archive` at set-up: a cold process works a quarter less.
#: A JVM that they do not fit (another Java, other jars) ignores them.
ARCHIVE = fetched(f"classes-{pyspark.__version__}.jsa")

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "true",
    # Else a pinned version of a source that was quiet for a week would be unreadable after the next commit.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    # The defaults (50 and 200) make small tables crawl; adaptive execution splits what is large.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "16",
    # Spark prints every plan for its own UI and events; the replay's are long.
    "spark.sql.maxPlanStringLength": "10000",
    "spark.sql.ui.explainMode": "simple",
    # PySpark would note for every column where in Python it was made: several calls into the JVM instead of one.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # One audit compiles a few hundred classes, more than the default (100) would keep for the next one.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # The fold keeps the times of states in memory; beyond so many (default: 128) it would sort all snapshots.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # With a limit, Spark asks every buffer for its size at every row for Python: three quarters of gathering's time.
    # Without one, Java holds at most what Python holds of a part anyway. Python itself limits what it sends back.
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
}

#: For short work: no compiled expressions, and few partitions, as each costs 20 ms of Python.
SMALL_SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: Java's quick compiler alone, with room for what it compiles: without it Java goes on interpreting after some minutes.
_SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

#: Batches and files need it: measured 240 MiB for a topic of 20,000 queues, 160 MiB for 100,000 rows that break rules.
#: Without a limit it may take as much as the heap.
_DIRECT_MEMORY = "-XX:MaxDirectMemorySize=1g"

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CLASS_PATH = "spark.driver.extraClassPath"
_DATABASES = "spark.sql.warehouse.dir"
_LOCAL_SETTINGS = {
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2560m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Delta's VACUUM lists folders in so many tasks; the default (10,000) takes half a minute for a table of any size.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
    # A page per operator and task: the default, 32 MiB here, doubles the work of the garbage collector.
    "spark.buffer.pageSize": "2m",
    # Throughput counts, not pauses: measured 10 % faster than G1.
    _JAVA_OPTIONS: "-XX:+UseParallelGC "
    f"-Dlog4j2.configurationFile=file:{Path(__file__).with_name('log4j2.properties')}",
}


def get_session(java_options: str | None = None, *, small: bool = False) -> SparkSession:
    """The session of this process: spark-submit's master, else a local one; times are UTC, in the process too.

    `java_options` replace the archive's for a local one; `small`: for little work, if none runs yet. Master, jars and
    settings of spark-submit stay.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("rebalance-audit")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = SETTINGS | (_not_given(s3_settings()) if submitted else s3_settings() | _LOCAL_SETTINGS)
    if small and SparkContext._active_spark_context is None:
        settings |= _not_given(SMALL_SETTINGS)
    if not submitted:
        options = _archive_options() if java_options is None else java_options
        own = f"{_LOCAL_SETTINGS[_JAVA_OPTIONS]} {_direct_memory()} -Djava.io.tmpdir={scratch_folder()}"
        # The class path is not in `spark.jars`: what the JVM loads later than its start is in no archive.
        settings |= {_JAVA_OPTIONS: f"{own} {options} {_SMALL_JAVA if small else ''}", _CLASS_PATH: _delta_jars()}
        # Behind Spark's own jars: the archive holds as long as what is before is the same.
        submitted_path = os.environ.get("SPARK_DIST_CLASSPATH", "").split(":")
        class_path = dict.fromkeys(filter(None, [*submitted_path, *map(str, installed())]))
        os.environ["SPARK_DIST_CLASSPATH"] = ":".join(class_path)
        with temporary_files_in(scratch_folder()):
            settings |= _own_java(settings)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with nullcontext() if submitted else temporary_files_in(scratch_folder()):
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # It would print a stack where Java ends too early; what needs Java then says so itself.
    setattr(spark.sparkContext._accumulatorServer, "handle_error", lambda *_: None)  # noqa: B010  # a method
    ship_modules(spark)
    return spark


def _direct_memory() -> str:
    """The limit of Java's direct memory alongside our heap; a heap that the user gives is the limit of both."""
    named = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return "" if "driver-memory" in named or "driver.memory" in named else _DIRECT_MEMORY


def _own_java(settings: Mapping[str, str]) -> dict[str, str]:
    """Start Java once; return a temporary place for Spark's databases, unless the user's Spark configures one."""
    if SparkContext._gateway is None:
        SparkContext._ensure_initialized(gateway=start_java(SparkConf(loadDefaults=False).setAll([*settings.items()])))
    given = SparkConf()
    if given.contains(_DATABASES) or given.get("spark.sql.catalogImplementation", "in-memory") != "in-memory":
        return {}
    return {_DATABASES: str(scratch_folder() / "spark-warehouse")}


def end_session() -> None:
    """Stop Spark, and kill its Java if this process started it: removing its temporary files one by one is slow.
    Another session may begin after it, also if Java has ended by itself.
    """
    if context := SparkContext._active_spark_context:
        gateway = context._gateway
        java = getattr(gateway, "proc", None)
        try:
            context.stop()
        except OSError:  # Java has ended by itself; the second call stops what is left
            context.stop()
        if gateway is not None and java is not None:
            gateway.shutdown()  # else what Python drops later calls a Java that is gone
            java.kill()
            java.wait()
            shutil.rmtree(scratch_folder(), ignore_errors=True)
            scratch_folder.cache_clear()
            SparkContext._gateway = SparkContext._jvm = None


def _not_given(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that the user has not given to spark-submit, in its defaults, or in PYSPARK_SUBMIT_ARGS."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        named = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
        return {key: value for key, value in settings.items() if key not in named}
    SparkContext._ensure_initialized()
    given = SparkConf()
    return {key: value for key, value in settings.items() if not given.contains(key)}


def submit_settings() -> dict[str, str]:
    """Settings of spark-submit that make a local session start fast; memory is left to the caller."""
    settings = {
        key: value for key, value in _LOCAL_SETTINGS.items() if key not in ("spark.master", "spark.driver.memory")
    }
    return settings | {
        _JAVA_OPTIONS: f"{_LOCAL_SETTINGS[_JAVA_OPTIONS]} {_archive_options()}",
        _CLASS_PATH: _delta_jars(),
    }


def _delta_jars() -> str:
    return ":".join(map(str, sorted(JARS_DIR.glob("*.jar"))))


def _archive_options() -> str:
    return f"-XX:SharedArchiveFile={ARCHIVE} -Xlog:disable -Xlog:all=error:stderr" if ARCHIVE.is_file() else ""


def start_java(settings: SparkConf) -> JavaGateway:
    """Start a JVM whose stderr is this process's, without `_NOISE`. Raises `PySparkRuntimeError`, after all of it."""
    # glibc keeps freed memory of each thread: after some audits Java held half a GiB more without this limit.
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    reading, writing = os.pipe()
    passing = Thread(target=_pass_on, args=(reading,), daemon=True, name="stderr of Java")
    passing.start()
    try:
        gateway: JavaGateway = launch_gateway(settings, {"stderr": writing})  # type: ignore[no-untyped-call]
    except BaseException:
        os.close(writing)
        passing.join(5)
        raise
    os.close(writing)
    return gateway


def _pass_on(reading: int) -> None:
    """Until Java ends."""
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if not _NOISE.match(line):
                os.write(_STDERR, line)
