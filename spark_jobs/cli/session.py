"""A Spark session for a command, of the size that its work needs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from pyspark.sql import SparkSession

from spark_jobs.api.start import is_small, start_spark
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables


def spark_for(
    arguments: Namespace, say: Callable[[str], None], amount: Callable[[DeltaTables], int], *, checks: bool = True
) -> SparkSession:
    """A session for work on so many bytes, as `start_spark` starts it."""
    return start_spark(say, is_small(Location.parse(arguments.warehouse), arguments.scale, amount), checks=checks)
