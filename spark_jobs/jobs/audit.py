"""From sources to output tables: the way of the data, on one page."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyspark.sql import DataFrame

from schemas import OUTPUTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval
from spark_jobs.gather.judged import Gathered, judged_steps
from spark_jobs.gather.packed import unpacked
from spark_jobs.gather.sources import Sources
from spark_jobs.gather.window import RunWindow
from spark_jobs.jobs.check import Gate
from spark_jobs.publish.publisher import of_request
from spark_jobs.publish.request import RunRequest

_LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]


def window_of(request: RunRequest, configuration: Configuration) -> RunWindow:
    """The steps of the request, and what they read."""
    run = request.interval
    return RunWindow(run, Interval(run.start - configuration.look_back, run.end))


def outputs_of(
    gate: Gate, sources: Sources, request: RunRequest, configuration: Configuration, progress: Progress
) -> dict[Table, DataFrame]:
    """The rows that the request publishes, of the sources that keep every rule; none where no source has a row.

    Raises `QualityError` if the gate is closed to the sources.
    """
    gathered = gate.sources(sources)
    if len(gate.empty_sources) == len(SOURCES):
        return {}
    return of_request(request, audit(gathered, request.interval, configuration, progress))


def audit(
    gathered: Gathered, run: Interval, configuration: Configuration, progress: Progress
) -> dict[Table, DataFrame]:
    """The output tables of the run's steps, which are parts of one kept frame."""
    progress("judging every group")
    packed = judged_steps(gathered, run, configuration).localCheckpoint()
    _LOG.info("%s: judged", run)
    return {table: unpacked(packed, table) for table in OUTPUTS}
