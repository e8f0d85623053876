"""How Spark is started: for small or for large work, as the user says or Delta's log tells."""

import logging
import os
import signal
from collections.abc import Callable
from importlib import import_module
from threading import Thread, current_thread, main_thread

from pyspark.sql import SparkSession

from schemas import SOURCES
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import SchemaMismatchError, WarehouseError
from spark_jobs.installation import PREFIX
from spark_jobs.runtime.session import JARS_DIR, get_session
from spark_jobs.setup.jars import check_jars
from spark_jobs.setup.java import check_java
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables, bytes_in, is_surely_reached

#: PySpark imports pandas by it, when Python first gives Java a value.
_OF_PYSPARK = "pyspark.testing"
_CHECKS = [f"{PREFIX}spark_jobs.pipeline.quality.{module}" for module in ("suites", "validation")]


def start_spark(say: Callable[[str], None], small: bool = False, *, checks: bool = False) -> SparkSession:
    """A session for small or any work; slow imports run while Java starts. Raises `SetupError` without Java or jars."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        check_java()
        check_jars(JARS_DIR)
    say("starting Spark")
    modules = [_OF_PYSPARK, *(_CHECKS if checks else [])]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    Thread(target=lambda: [*map(import_module, modules)]).start()
    # What Java prints (Delta's VACUUM does) is no output of the command.
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        return get_session(small=small)
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        # Ctrl-C while Java starts would leave it running alone. Later it ends this process, and Java follows: Spark's
        # own handler, which it sets in the main thread only, would talk to Java in the middle of another call.
        if current_thread() is main_thread():
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


_LOG = logging.getLogger(__name__)
#: How --scale calls them.
SMALL, LARGE = "small", "large"
#: Up to so many bytes of Delta's files a process is done sooner if Java compiles little (docs/performance.md).
SMALL_BYTES = 20_000_000


def is_small(location: Location, scale: str | None, amount: Callable[[DeltaTables], int]) -> bool:
    """Return whether the work is small, by `scale`, else by its bytes; false where the log is costly (a catalog)."""
    if scale is not None:
        _LOG.info("Spark is started for %s work, as --scale says", scale)
        return scale == SMALL
    if not is_surely_reached(location):
        _LOG.info("Spark is started for large work: only Spark knows how much there is in %s", location.location)
        return False
    try:
        size = amount(DeltaTables(location))
    except (WarehouseError, SchemaMismatchError) as error:  # whether that is one, the command says
        _LOG.info("Spark is started for large work: %s", error)
        return False
    scale = SMALL if size <= SMALL_BYTES else LARGE
    _LOG.info("Spark is started for %s work: %.1f MB, small is up to %.1f MB", scale, size / 1e6, SMALL_BYTES / 1e6)
    return scale == SMALL


def spark_for(
    location: Location,
    scale: str | None,
    say: Callable[[str], None],
    amount: Callable[[DeltaTables], int],
    *,
    checks: bool = True,
) -> SparkSession:
    """A session for work on so many bytes, as `start_spark` starts it."""
    return start_spark(say, is_small(location, scale, amount), checks=checks)


def snapshots_of(interval: Interval) -> Callable[[DeltaTables], int]:
    """The amount of a run: the bytes of the snapshots of its interval."""
    return lambda tables: bytes_in(tables, SOURCES, interval)
