"""How a command starts Spark."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib import import_module
from threading import Thread

from pyspark.sql import SparkSession

from spark_jobs.session import JARS_DIR, get_session
from spark_jobs.setup_jars import check_jars, check_java

#: PySpark imports pandas by it, when Python first gives Java a value.
_OF_PYSPARK = "pyspark.testing"
_CHECKS = "spark_jobs.quality.validation"


def start_spark(say: Callable[[str], None], small: bool = False, *, checks: bool = False) -> SparkSession:
    """A session, for small work or any. What takes seconds to import is imported while Java starts: pandas, and Great
    Expectations if the command `checks` rows.

    Raises `SetupError` where Java or Delta's jars are missing (spark-submit brings its own).
    """
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
        check_jars(JARS_DIR)
    say("starting Spark")
    # Ctrl-C while Java starts would leave it running alone. Later it ends this process, and Java follows: Spark's
    # own handler would talk to Java in the middle of another call.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    Thread(target=_import, args=(_OF_PYSPARK, *([_CHECKS] if checks else []))).start()
    # What Java prints (Delta's VACUUM does) is no output of the command.
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return get_session(small=small)
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _import(*modules: str) -> None:
    for name in modules:
        import_module(name)
