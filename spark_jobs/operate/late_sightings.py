"""Steps to which the table `sightings` says something else than to their last run, as older snapshots came late."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from schemas import SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.gather.sightings import Known, known_before, sighted
from spark_jobs.pipeline.sightings import sightings_before
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import is_gone

_LOG = logging.getLogger(__name__)
#: Steps by the version of a table that their last run has read; None: there was no such table.
StepsByVersion = Mapping[int | None, Sequence[Interval]]
#: To be logged of a table and a version.
GONE = "%s: version %s is gone, the steps that read it count as late"


def with_other_sightings(
    stored: StoredTables, configuration: Configuration, steps: StepsByVersion, present: int | None
) -> set[Interval]:
    """The steps whose run knew other things of the time before its window than by the `present` version; all of a
    version that is gone, and all without a `present` one. Hours behind a step do not count. Raises `WarehouseError` or
    `SchemaMismatchError` if the present version cannot be read.
    """
    steps = {version: readers for version, readers in steps.items() if readers}
    every = {step for readers in steps.values() for step in readers}
    if present is None or not every:
        return every
    now = _known_before(stored, configuration, every, present)
    late: set[Interval] = set()
    for version, readers in steps.items():
        try:
            then = {} if version is None else _known_before(stored, configuration, readers, version)
        except (WarehouseError, PySparkException, Py4JJavaError) as error:
            if not is_gone(error):
                raise
            _LOG.warning(GONE, SIGHTINGS.name, version)
            late.update(readers)
        else:
            late.update(step for step in readers if then.get(step, set()) != now[step])
    return late


def _known_before(
    stored: StoredTables, configuration: Configuration, steps: Iterable[Interval], version: int
) -> dict[Interval, set[Known]]:
    """Return what a run of these steps would know by this version, step by step."""
    by_start = {to_micros(step.start): step for step in steps}
    ordered = sorted(by_start.values())
    rows = sightings_before(stored, Interval(ordered[0].start, ordered[-1].end), configuration, version)
    seen = sighted(rows, ordered[0].start - configuration.look_back)
    known = known_before(seen, configuration.audit_settings, by_start)
    return {by_start[start]: of_step for start, of_step in known.items()}
