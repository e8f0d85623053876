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
from spark_jobs.jobs.sightings import Past
from spark_jobs.publish.publisher import of_request
from spark_jobs.publish.request import RunRequest

_LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]


def window_of(request: RunRequest, configuration: Configuration) -> RunWindow:
    """The steps of the request, and what they read."""
    run = request.interval
    return RunWindow(run, Interval(run.start - configuration.look_back, run.end))


def outputs_of(gate: Gate, sources: Sources, past: Past, progress: Progress) -> dict[Table, DataFrame]:
    """The rows that the gate's request publishes, of the sources that keep every rule; none where nothing was observed.

    Raises `QualityError` if the gate is closed to the sources.
    """
    gathered = past.joined(gate.sources(sources))
    if not observed(gate, gathered):
        return {}
    return of_request(gate.request, audit(gathered, gate.request.interval, gate.configuration, progress))


def observed(gate: Gate, gathered: Gathered) -> bool:
    """Whether any source has a row that can be used, or a group was captured before."""
    if len(gate.empty_sources) < len(SOURCES):
        return True
    return gathered.sightings is not None and not gathered.sightings.where("consumer_group IS NOT NULL").isEmpty()


def audit(
    gathered: Gathered, run: Interval, configuration: Configuration, progress: Progress
) -> dict[Table, DataFrame]:
    """The output tables of the run's steps, which are parts of one kept frame."""
    progress("judging every group")
    packed = judged_steps(gathered, run, configuration).localCheckpoint()
    _LOG.info("%s: judged", run)
    return {table: unpacked(packed, table) for table in OUTPUTS}
