"""An audit alongside somebody's work, in a Spark session that is there already: nothing of that session changes."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from py4j.java_gateway import JavaPackage
from pyspark import RDD
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError
from spark_jobs.installation import PREFIX, documentation
from spark_jobs.runtime.executors import ZIP_NAME, ship_modules
from spark_jobs.runtime.session import SETTINGS

_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "spark.sql.catalog.spark_catalog"
#: What a user may set while a session runs, and without which an audit would not find its tables.
_OF_PLACES = ("spark.sql.catalog.", "fs.")
#: Settings that change what a query means: those of the audit mean what they mean by default.
_MEANINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
_LEGACY = "spark.sql.legacy."
#: What a Python worker of an audit imports first.
_MODULES = ("numpy", "pyarrow", "pydantic", f"{PREFIX}spark_jobs.pipeline.gather.evaluated")
#: The part of Java's or Python's text that says why a worker does not start.
_REASON = re.compile(r'Cannot run program "[^"]*"|\[PYTHON_VERSION_MISMATCH\][^\n]*?\.(?= |\n|$)')
_CAUSE = re.compile(r"Caused by: ([^\n]+)")
#: PySpark notes in classes which session was made or used last.
_OF_CLASSES = Lock()
_SHIPPING = Lock()


@contextmanager
def borrowed(given: SparkSession) -> Iterator[SparkSession]:
    """A `session_beside` the given one for a run; afterwards that is as before. Raises `SetupError` if it cannot."""
    own = session_beside(given)
    _ship_modules(own)
    _check_executors(own)
    sessions = SparkSession._get_j_spark_session_class(own._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(own._jsparkSession)
    try:
        yield own
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
        with _OF_CLASSES:
            if SparkSession._activeSession is own:
                SparkSession._activeSession = given


def session_beside(given: SparkSession) -> SparkSession:
    """A session with the audit's settings and the same catalogs, without temporary views. Raises `SetupError`."""
    _check_session(given)
    with _OF_CLASSES:
        to_df = RDD.toDF
        own = given.newSession()
        RDD.toDF = to_df  # type: ignore[method-assign]
    wanted = {name: value for name, value in given.conf.getAll.items() if name.startswith(_OF_PLACES)}
    has_catalog = _CATALOG in own.conf.getAll.keys() | wanted.keys()
    wanted |= {name: value for name, value in SETTINGS.items() if name != _CATALOG or not has_catalog} | _MEANINGS
    for name in own.conf.getAll:
        if name.startswith(_LEGACY) and own.conf.isModifiable(name):
            own.conf.unset(name)
    for name, value in wanted.items():
        if own.conf.isModifiable(name) or name.startswith(_OF_PLACES):
            own.conf.set(name, value)
    return own


def _check_session(given: SparkSession) -> None:
    if given._sc._jsc is None:
        raise SetupError("the Spark session that was given is stopped: give one that runs")
    if int(given.version.partition(".")[0]) < 4:
        raise SetupError(f"the Spark session that was given is of Spark {given.version}: an audit needs Spark 4")
    extensions = given.sparkContext.getConf().get("spark.sql.extensions", "") or ""
    if _EXTENSION not in extensions or isinstance(getattr(given._jvm, _EXTENSION), JavaPackage):
        raise SetupError(
            f"the Spark session that was given lacks Delta: start it with spark.sql.extensions={_EXTENSION} and with "
            f"the jars of delta-spark ({documentation('cluster')})"
        )


def _ship_modules(spark: SparkSession) -> None:
    """Once in a Spark. What PySpark adds to this process's own path is taken off again."""
    with _SHIPPING:
        if ZIP_NAME not in (spark.sparkContext._python_includes or ()):
            ship_modules(spark, also_local=True)
            sys.path[:] = [path for path in sys.path if not path.endswith(ZIP_NAME)]


def _check_executors(spark: SparkSession) -> None:
    """Raise `SetupError` where an executor's Python does not start, or lacks what an audit imports there."""
    context, modules = spark.sparkContext, _MODULES

    def missing(_: object) -> Iterator[str]:
        import importlib

        for name in modules:
            try:
                importlib.import_module(name)
            except Exception as error:
                yield f"{name} ({error})"

    try:
        lacking = context.parallelize(range(n := context.defaultParallelism), n).mapPartitions(missing).collect()
    except Exception as error:
        match = _REASON.search(str(error))
        reason = match[0] if match else next(reversed(_CAUSE.findall(str(error))), type(error).__name__)
        raise SetupError(
            f"Spark's executors cannot run Python for an audit: {reason}; set PYSPARK_PYTHON (spark-submit: "
            f"spark.pyspark.python) to Python {sys.version_info.major}.{sys.version_info.minor} before the session "
            f"starts ({documentation('cluster')})"
        ) from error
    if lacking:
        raise SetupError(
            f"the Python of Spark's executors, {context.pythonExec}, lacks {', '.join(dict.fromkeys(lacking))}: "
            f"install it there, or set PYSPARK_PYTHON before the session starts ({documentation('cluster')})"
        )
