"""Steps to which the table `sightings` says something else than to their last run, as older snapshots came late."""

import logging
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from schemas import SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.series import NO_SIGHTINGS, Sightings, last_hour_before
from spark_jobs.domain.model.window import AuditSettings, to_micros
from spark_jobs.errors import WarehouseError
from spark_jobs.pipeline.gather.sightings import sighted
from spark_jobs.pipeline.sources import sightings_before
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import is_gone

_LOG = logging.getLogger(__name__)
#: Steps by the version of a table that their last run has read; None: there was no such table.
StepsByVersion = Mapping[int | None, Sequence[Interval]]
#: What was there before a step's window: a group, as (cluster, group); or so many queues of a broker that could be
#: read, as (cluster, topic, broker, number, start of the last hour in which they could, microseconds; no broker: in
#: which the topic had no route).
Known = tuple[str, str] | tuple[str, str, str | None, int, int]
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
    """Knowledge of a run of these steps by this version, step by step."""
    by_start = {to_micros(step.start): step for step in steps}
    ordered = sorted(by_start.values())
    rows = sightings_before(stored, Interval(ordered[0].start, ordered[-1].end), configuration, version)
    seen = sighted(rows, ordered[0].start - configuration.look_back)
    known = known_before(seen, configuration.audit_settings, by_start)
    return {by_start[start]: of_step for start, of_step in known.items()}


def known_before(sighted: pa.Table, settings: AuditSettings, steps: Iterable[int]) -> dict[int, set[Known]]:
    """Per start of a step (microseconds) all that its kernel can ask about rows of `sighted`."""
    captured: dict[tuple[str, str], Sightings] = {}
    deleted: dict[tuple[str, str], Sightings] = {}
    readable: dict[tuple[str, str, str | None, int], Sightings] = {}
    for row in sighted.to_pylist():
        times = Sightings.of(np.array(row["times"], np.int64))
        if row["topic"] is None:
            (deleted if row["deleted"] else captured)[row["cluster"], row["consumer_group"]] = times
        else:
            readable[row["cluster"], row["topic"], row["broker_name"], row["read_queue_nums"]] = times
    groups = [
        GroupHistory(*group, captured=captured[group], deleted=deleted.get(group, NO_SIGHTINGS)) for group in captured
    ]
    known: dict[int, set[Known]] = {}
    for start in steps:
        window = settings.window(start)
        hours = {queues: last_hour_before(times, window, settings) for queues, times in readable.items()}
        known[start] = {(*queues, hour) for queues, hour in hours.items() if hour is not None}
        known[start] |= {(of.cluster, of.consumer_group) for of in groups if of.was_there_before(window, settings)}
    return known
