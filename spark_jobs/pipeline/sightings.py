"""Knowledge of the time before a run's snapshots: the table `sightings`, and the offsets of what is gone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from schemas import OFFSET_SNAPSHOTS, SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import HOUR, from_micros, to_micros
from spark_jobs.pipeline.audit_run import AuditRun
from spark_jobs.pipeline.gather.fold import folded, with_state
from spark_jobs.pipeline.gather.judged import Gathered
from spark_jobs.pipeline.gather.kinds import OFFSET_QUEUES
from spark_jobs.pipeline.gather.sightings import lost_brokers, offsets_of_lost, route_brokers, sighted
from spark_jobs.pipeline.sources import during
from spark_jobs.store.read.stored import Filter, StoredTables
from spark_jobs.store.read.through_spark import stored_in

_LOG = logging.getLogger(__name__)
_LOST = "cluster string, topic string, brokers array<string>, hours array<bigint>"


def with_sightings(run: AuditRun, gathered: Gathered) -> Gathered:
    """Return what was gathered, with what was seen before the read window; and, where a route lacks a broker that it
    named before, with the last offsets that were read of that broker. As it was where the table has no rows of that
    time.
    """
    if not run.configuration.sightings_days:
        return gathered
    if SIGHTINGS.name not in run.versions:
        _LOG.warning(
            "there is no table %s: a group that nobody captures any more, and a broker that is gone, are forgotten "
            "after %s; `rebalance-audit maintain` makes the table from the sources",
            SIGHTINGS.name,
            run.configuration.look_back,
        )
        return gathered
    rows = _sightings(run)
    if not rows.num_rows:
        return gathered
    seen = sighted(rows, run.read_window.start)
    gathered = replace(gathered, sightings=run.spark.createDataFrame(seen))
    lost = lost_brokers(seen, _routes(gathered), run.read_window.start)
    if not lost:
        return gathered
    _LOG.info("%d topics lack a broker that their route named before: reading what it held", len(lost))
    near = _offsets_around(run, {hour for broker in lost for hour in broker.hours})
    queues = offsets_of_lost(near, run.spark.createDataFrame(lost, _LOST), run.configuration.audit_settings.max_gap)
    return _with_queues(gathered, with_state(OFFSET_SNAPSHOTS, queues))


def _routes(gathered: Gathered) -> Iterator[tuple[str, str, list[str]]]:
    """Collected only if somebody iterates: a Spark action."""
    yield from route_brokers(gathered.folded).collect()


def _with_queues(gathered: Gathered, queues: DataFrame) -> Gathered:
    """Return what was gathered, and further rows of queues' offsets."""
    known = gathered.snapshots[OFFSET_QUEUES]
    return replace(
        gathered,
        snapshots={**gathered.snapshots, OFFSET_QUEUES: known.unionByName(queues, allowMissingColumns=True)},
        folded=gathered.folded.unionByName(folded({OFFSET_QUEUES: queues}), allowMissingColumns=True),
    )


def _sightings(run: AuditRun) -> pa.Table:
    """Of the request's cluster and group, and of all topics."""
    request, version = run.request, run.versions[SIGHTINGS.name]
    stored = stored_in(run.spark, run.warehouse)
    rows = sightings_before(stored, request.interval, run.configuration, version, request.cluster)
    if request.consumer_group is None:
        return rows
    return rows.filter(pc.fill_null(pc.equal(rows["consumer_group"], request.consumer_group), True))


def sightings_before(
    stored: StoredTables, steps: Interval, configuration: Configuration, version: int, cluster: str | None = None
) -> pa.Table:
    """The rows of `sightings` that may say something to these steps, of one cluster or of all. Raises as
    `StoredTables.read` does.
    """
    first_hour = (steps.start - configuration.sightings).replace(minute=0, second=0, microsecond=0)
    conditions = [Filter("hour", ">=", first_hour), Filter("hour", "<", steps.end)]
    if cluster is not None:
        conditions.append(Filter("cluster", "=", cluster))
    return stored.read(SIGHTINGS, SIGHTINGS.columns, conditions, version)


def _offsets_around(run: AuditRun, hours: Iterable[int]) -> DataFrame:
    """The request's rows of `offset_snapshots` around these hours, before the read window."""
    gap, until = run.configuration.audit_settings.max_gap, to_micros(run.read_window.start)
    around = [(hour - gap, min(hour + HOUR + gap, until)) for hour in sorted(hours)]
    is_near = reduce(
        or_, (during(Interval(from_micros(start), from_micros(end)), "captured_at") for start, end in around)
    )
    frame = run.warehouse.read(run.spark, OFFSET_SNAPSHOTS, run.versions[OFFSET_SNAPSHOTS.name]).where(is_near)
    return reduce(DataFrame.where, run.request.filters(), frame)
