"""What a run knows of the time before it reads snapshots: the table `sightings`, and the offsets of what is gone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession

from schemas import OFFSET_SNAPSHOTS, SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import HOUR, from_micros, to_micros
from spark_jobs.pipeline.gather.fold import folded, stated_table
from spark_jobs.pipeline.gather.judged import Gathered
from spark_jobs.pipeline.gather.kinds import OFFSET_QUEUES
from spark_jobs.pipeline.gather.sightings import gone_brokers, offsets_of_gone, route_brokers, sighted
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.sources import during
from spark_jobs.store.read.stored import Filter
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_GONE = "cluster string, topic string, brokers array<string>, hours array<bigint>"


@dataclass(frozen=True)
class EarlierHistory:
    """What was recorded before the read window of a run, in the versions of the tables that it reads."""

    spark: SparkSession
    warehouse: Warehouse
    versions: Mapping[str, int]
    request: RunRequest
    configuration: Configuration

    def joined(self, gathered: Gathered) -> Gathered:
        """What was gathered, with the sightings; and, where a route lacks a broker that it named before, with the last
        offsets that were read of it. As it was where no sightings are in their table, or there is none.
        """
        if SIGHTINGS.name not in self.versions or not self.configuration.sightings_days:
            self._say_why()
            return gathered
        sightings = self._sightings()
        if not sightings.num_rows:
            return gathered
        seen = sighted(sightings, self._read_from)
        gathered = replace(gathered, sightings=self.spark.createDataFrame(seen))
        gone = gone_brokers(seen, self._routes(gathered), self._read_from)
        if not gone:
            return gathered
        _LOG.info("%d topics lack a broker that their route named before: reading what it held", len(gone))
        near = self._offsets({hour for one in gone for hour in one.hours})
        few = self.spark.createDataFrame(gone, _GONE)
        earlier = stated_table(OFFSET_SNAPSHOTS, offsets_of_gone(near, few, self._max_gap))
        return replace(
            gathered,
            snapshots={
                **gathered.snapshots,
                OFFSET_QUEUES: gathered.snapshots[OFFSET_QUEUES].unionByName(earlier, allowMissingColumns=True),
            },
            folded=gathered.folded.unionByName(folded({OFFSET_QUEUES: earlier}), allowMissingColumns=True),
        )

    def _routes(self, gathered: Gathered) -> Iterator[tuple[str, str, list[str]]]:
        yield from route_brokers(gathered.folded).collect()

    @property
    def _read_from(self) -> datetime:
        return self.request.interval.start - self.configuration.look_back

    @property
    def _max_gap(self) -> int:
        return self.configuration.audit_settings.max_gap

    def _sightings(self) -> pa.Table:
        """Of the request's cluster and group, and of all topics."""
        run, cluster, group = self.request.interval, self.request.cluster, self.request.consumer_group
        first_hour = (run.start - self.configuration.sightings).replace(minute=0, second=0, microsecond=0)
        kept = [Filter("hour", ">=", first_hour), Filter("hour", "<", run.end)]
        if cluster is not None:
            kept.append(Filter("cluster", "=", cluster))
        tables, version = stored_in(self.spark, self.warehouse), self.versions[SIGHTINGS.name]
        found = tables.read(SIGHTINGS, SIGHTINGS.columns, kept, version)
        if group is None:
            return found
        return found.filter(pc.fill_null(pc.equal(found["consumer_group"], group), True))

    def _offsets(self, hours: Iterable[int]) -> DataFrame:
        """The request's rows of `offset_snapshots` around these hours, before the read window."""
        until = to_micros(self._read_from)
        around = [(hour - self._max_gap, min(hour + HOUR + self._max_gap, until)) for hour in sorted(hours)]
        is_near: Column = reduce(
            or_, (during(Interval(from_micros(start), from_micros(end)), "captured_at") for start, end in around)
        )
        frame = self.warehouse.read(self.spark, OFFSET_SNAPSHOTS, self.versions[OFFSET_SNAPSHOTS.name]).where(is_near)
        for condition in self.request.filters():
            frame = frame.where(condition)
        return frame

    def _say_why(self) -> None:
        if self.configuration.sightings_days:
            _LOG.warning(
                "there is no table %s: a group that nobody captures any more, and a broker that is gone, are forgotten "
                "after %s; `rebalance-audit maintain` makes the table from the sources",
                SIGHTINGS.name,
                self.configuration.look_back,
            )
