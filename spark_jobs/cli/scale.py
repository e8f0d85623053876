"""For small or for large work: how Spark is started, as the user says or Delta's log tells."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Callable

from schemas import SOURCES
from spark_jobs.errors import SchemaMismatchError, WarehouseError
from spark_jobs.location import Location
from spark_jobs.read.amount import bytes_in
from spark_jobs.read.delta import DeltaTables, is_surely_reached

_LOG = logging.getLogger(__name__)
#: How --scale calls them.
SMALL, LARGE = "small", "large"
#: Up to so many bytes of Delta's files a process is done sooner if Java compiles little (docs/performance.md).
SMALL_BYTES = 20_000_000


def is_small(arguments: Namespace, amount: Callable[[DeltaTables], int] | None = None) -> bool:
    """Whether the work of a command is small: as --scale says, else by the bytes of what it is about, which are the
    snapshots of its interval if it has no other `amount`. Not small where the log is not read cheaply (a catalog).
    """
    location = Location.parse(arguments.warehouse)
    if arguments.scale is not None:
        _LOG.info("Spark is started for %s work, as --scale says", arguments.scale)
        return bool(arguments.scale == SMALL)
    if not is_surely_reached(location):
        _LOG.info("Spark is started for large work: only Spark knows how much there is in %s", location.location)
        return False
    try:
        found = (amount or (lambda tables: bytes_in(tables, SOURCES, arguments.interval)))(DeltaTables(location))
    except (WarehouseError, SchemaMismatchError) as error:  # whether that is one, the command says
        _LOG.info("Spark is started for large work: %s", error)
        return False
    scale = SMALL if found <= SMALL_BYTES else LARGE
    _LOG.info("Spark is started for %s work: %.1f MB, small is up to %.1f MB", scale, found / 1e6, SMALL_BYTES / 1e6)
    return scale == SMALL
