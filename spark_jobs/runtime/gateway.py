"""The start of Spark's Java process, without its startup lines."""

import os
import re
from threading import Thread

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

_STDERR = 2
#: Spark starts Java with a module that is still in incubation, and Java has no option against its warning.
_NOISE = re.compile(rb"WARNING: Using incubator modules: ")


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
