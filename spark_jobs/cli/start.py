"""How a command starts Spark."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from pyspark.sql import SparkSession

from spark_jobs.session import JARS_DIR, get_session
from spark_jobs.setup_jars import check_jars, check_java


def start_spark(say: Callable[[str], None]) -> SparkSession:
    """A session; raises `SetupError` where Java or Delta's jars are missing (spark-submit brings its own)."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
        check_jars(JARS_DIR)
    say("starting Spark")
    # Ctrl-C while Java starts would leave it running alone. Later it ends this process, and Java follows: Spark's
    # own handler would talk to Java in the middle of another call.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    # What Java prints (Delta's VACUUM does) is no output of the command.
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return get_session()
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
