"""From sources to output tables: the way of the data, on one page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from schemas import OUTPUTS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.check import Gate
from spark_jobs.pipeline.gather.counted import Counted, counted_in
from spark_jobs.pipeline.gather.judged import Gathered, judged_steps
from spark_jobs.pipeline.gather.packed import unpacked
from spark_jobs.pipeline.gather.sources import RunWindow, Sources
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.sightings import EarlierHistory

_LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]
#: Makes a frame stay, as it is or as what was written of it.
Keep = Callable[[DataFrame], DataFrame]


def window_of(request: RunRequest, configuration: Configuration) -> RunWindow:
    """The steps of the request, and what they read."""
    run = request.interval
    return RunWindow(run, Interval(run.start - configuration.look_back, run.end))


@dataclass(frozen=True)
class JudgedRun:
    """What one pass over the sources gave: the rows of every output table, packed and kept, and what was counted."""

    packed: DataFrame
    counted: Counted

    @classmethod
    def of(cls, packed: DataFrame, *, is_observed: bool = True) -> JudgedRun:
        """What was kept; of a run that observed nothing, without any output."""
        counted = counted_in(packed)
        return cls(packed, counted if is_observed else counted.without_outputs())

    def outputs(self) -> dict[Table, DataFrame]:
        """The output tables that have rows."""
        return {table: unpacked(self.packed, table) for table in OUTPUTS if self.counted.facts[table]}


def in_memory(frame: DataFrame) -> DataFrame:
    """The frame, kept by the executors."""
    return frame.localCheckpoint()


def audit(gate: Gate, sources: Sources, past: EarlierHistory, progress: Progress, keep: Keep = in_memory) -> JudgedRun:
    """Checks, judges and checks again every group, in one pass over the sources. `keep` makes its rows stay.

    Raises `QualityError` if the gate is closed to the sources; the outputs are still to be shown to it.
    """
    progress("reading the snapshots")
    gathered = past.joined(Gathered.of(sources))
    progress("checking and judging every group")
    packed = keep(judged_steps(gathered, gate.request, gate.configuration, gate.settings))
    _LOG.info("%s: judged", gate.request.interval)
    progress("checking what was counted")
    found = JudgedRun.of(packed)
    gate.sources(found.counted.facts, packed, sources)
    return found if _is_observed(gate, gathered) else replace(found, counted=found.counted.without_outputs())


def _is_observed(gate: Gate, gathered: Gathered) -> bool:
    """Whether any source has a row that can be used, or a group was captured before."""
    if len(gate.empty_sources) < len(SOURCES):
        return True
    return gathered.sightings is not None and not gathered.sightings.where("consumer_group IS NOT NULL").isEmpty()
