"""Input of a run: its source tables, each at the version that the run has pinned; and alongside the snapshots the
table `sightings`, the offsets of what is gone, and calls of the table `capture_calls` that no broker answered.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import CAPTURE_CALLS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, SIGHTINGS, SOURCES, Table
from spark_jobs.config import Configuration
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import HOUR, from_micros, to_micros
from spark_jobs.pipeline.exchange import OFFSETS, ROUTE
from spark_jobs.pipeline.gather.gather import Gathered, Sources, folded, with_state
from spark_jobs.pipeline.gather.sightings import lost_queues, sighted, sighted_states, unanswered_states
from spark_jobs.pipeline.publish.content import contents_of
from spark_jobs.pipeline.run_context import RunContext
from spark_jobs.store.read.forgotten import forgotten_clusters
from spark_jobs.store.read.stored import Filter, StoredTables
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal

_LOG = logging.getLogger(__name__)
_OF_PROXIES = f"consumer_group = {literal(PROXIES_GROUP)}"
#: The request for a group's members, and what it may end with if no broker answers.
_REQUEST = "connection"
_UNANSWERED = ("FAILED", "TIMED_OUT", "REFUSED", "NOT_ASKED")
_COLUMNS = ("cluster", "called", "subject", "outcome", "error", "captured_at")
_LOST = "cluster string, topic string, brokers array<string>, hours array<bigint>"


def gathered_by(run: RunContext) -> Gathered:
    """The sources of the run, folded."""
    return _with_unanswered(run, _with_sightings(run, Gathered.of(read_sources(run))))


def during(interval: Interval, time: str) -> Column:
    """A condition: the time in the column of that name is in the interval, its end excluded."""
    return (F.col(time) >= F.lit(interval.start)) & (F.col(time) < F.lit(interval.end))


def read_sources(run: RunContext) -> Sources:
    """The snapshots of the run's read window, of its cluster and group; a missing optional table is empty."""
    return {table: _snapshots(run, table) for table in SOURCES}


def changed_sources(run: RunContext) -> list[str]:
    """Names of the source tables whose snapshots of the read window are not those any more that the run has pinned."""
    newest = {table.name: run.warehouse.version(run.spark, table) for table in SOURCES if table.name in run.versions}
    moved_on = [table for table in SOURCES if newest.get(table.name) != run.versions.get(table.name)]
    pinned, present = (
        contents_of({table: _snapshots(of, table) for table in moved_on}) for of in (run, replace(run, versions=newest))
    )
    return [table.name for table in moved_on if pinned[table] != present[table]]


def _snapshots(run: RunContext, table: Table) -> DataFrame:
    """Who the proxies are is read for every group: it tells whether one without connections is offline."""
    if table.name not in run.versions:
        _LOG.info("%s: there is no such table, the audit does without", table.name)
        return run.spark.createDataFrame([], spark_schema(table))
    frame = run.warehouse.read(run.spark, table, run.versions[table.name]).where(during(run.read_window, "captured_at"))
    for condition in run.spec.filters():
        column = condition.split(" ", 1)[0]
        if column in frame.columns:
            or_proxies = table is MEMBERSHIP_SNAPSHOTS and column == "consumer_group"
            frame = frame.where(f"{condition} OR {_OF_PROXIES}" if or_proxies else condition)
    return frame


def _with_sightings(run: RunContext, gathered: Gathered) -> Gathered:
    """The gathered rows with what was seen before the read window; and, where a route lacks queues that it
    named before, with the last offsets that were read of their brokers. As it was where the table has no rows of that
    time.
    """
    if not run.configuration.sightings_days:
        return gathered
    if SIGHTINGS.name not in run.versions:
        _LOG.warning(
            "there is no table %s: a group that is no longer recorded, and queues that are gone, are forgotten "
            "after %s; `rebalance-audit maintain` makes the table from the sources",
            SIGHTINGS.name,
            run.configuration.look_back,
        )
        return gathered
    rows = _sightings(run)
    if not rows.num_rows:
        return gathered
    seen = sighted(rows, run.read_window.start)
    gathered = replace(gathered, beside=pa.concat_tables([gathered.beside, sighted_states(seen)]))
    lost = lost_queues(seen, _routes(gathered), run.read_window.start)
    if not lost:
        return gathered
    _LOG.info("%d topics lack queues that their route named before: reading what they held", len(lost))
    near = _offsets_around(run, {hour for topic in lost for hour in topic.hours})
    queues = _offsets_of_lost(near, run.spark.createDataFrame(lost, _LOST), run.configuration.audit_settings.max_gap)
    return _with_queues(gathered, with_state(OFFSETS, queues))


def _with_unanswered(run: RunContext, gathered: Gathered) -> Gathered:
    """The gathered rows with the calls for members of the read window that were not answered."""
    if CAPTURE_CALLS.name not in run.versions:
        return gathered
    conditions = [
        Filter("captured_at", ">=", run.read_window.start),
        Filter("captured_at", "<", run.read_window.end),
        Filter("request", "=", _REQUEST),
        Filter("outcome", "IN", _UNANSWERED),
    ]
    named = (("cluster", run.spec.cluster), ("subject", run.spec.consumer_group))
    conditions += [Filter(column, "=", name) for column, name in named if name is not None]
    calls = run.stored.read(CAPTURE_CALLS, _COLUMNS, conditions, run.versions[CAPTURE_CALLS.name])
    return replace(gathered, beside=pa.concat_tables([gathered.beside, unanswered_states(calls)]))


def _routes(gathered: Gathered) -> Iterator[tuple[str, str, dict[str, int]]]:
    """Collected only if somebody iterates: a Spark action."""
    routes = gathered.folded.where(F.col("kind") == ROUTE.name)
    for cluster, topic, queues in routes.select("cluster", "name", f"{ROUTE.name}.queues").collect():
        yield cluster, topic, {queue.broker_name: queue.read_queue_nums or 0 for queue in filter(None, queues)}


def _with_queues(gathered: Gathered, queues: DataFrame) -> Gathered:
    """The gathered rows, and further ones of queues' offsets."""
    return replace(
        gathered,
        snapshots={**gathered.snapshots, OFFSETS: gathered.snapshots[OFFSETS].unionByName(queues)},
        folded=gathered.folded.unionByName(folded({OFFSETS: queues}), allowMissingColumns=True),
    )


def _sightings(run: RunContext) -> pa.Table:
    """Of the cluster and group, and of all topics."""
    spec = run.spec
    version = run.versions[SIGHTINGS.name]
    rows = sightings_before(run.stored, spec.interval, run.configuration, version, spec.cluster)
    if spec.consumer_group is None:
        return rows
    return rows.filter(pc.fill_null(pc.equal(rows["consumer_group"], spec.consumer_group), True))


def sightings_before(
    stored: StoredTables, steps: Interval, configuration: Configuration, version: int, cluster: str | None = None
) -> pa.Table:
    """The rows of `sightings` that may say something to these steps, of one cluster or of all; the groups of a cluster
    that is forgotten are deleted before the step in which it was. Raises as `StoredTables.read` does.
    """
    first_hour = (steps.start - configuration.sightings).replace(minute=0, second=0, microsecond=0)
    conditions = [Filter("hour", ">=", first_hour), Filter("hour", "<", steps.end)]
    if cluster is not None:
        conditions.append(Filter("cluster", "=", cluster))
    rows = stored.read(SIGHTINGS, SIGHTINGS.columns, conditions, version)
    return pa.concat_tables([rows, *_forgotten(rows, forgotten_clusters(stored), steps.end, configuration)])


def _forgotten(
    rows: pa.Table, clusters: Mapping[str, datetime], end: datetime, configuration: Configuration
) -> Iterator[pa.Table]:
    """Rows that report each group as deleted, just before the window of the step in which its cluster was forgotten, if
    that was before the end: so that this step does not expect the group, and the one before still does.
    """
    for cluster, at in clusters.items():
        groups = rows.filter(pc.equal(rows["cluster"], cluster))["consumer_group"].unique().drop_null().to_pylist()
        deleted_at = configuration.grid.floor(at) - configuration.look_back - timedelta(seconds=1)
        hour = deleted_at.replace(minute=0, second=0, microsecond=0)
        times = {"hour": hour, "first_at": deleted_at, "last_at": deleted_at}
        if at < end:
            thing = dict.fromkeys(rows.column_names) | {"cluster": cluster, "deleted": True} | times
            yield pa.Table.from_pylist([thing | {"consumer_group": group} for group in groups], rows.schema)


def _offsets_around(run: RunContext, hours: Iterable[int]) -> DataFrame:
    """The rows of `offset_snapshots` around these hours, before the read window."""
    gap, until = run.configuration.audit_settings.max_gap, to_micros(run.read_window.start)
    around = [(hour - gap, min(hour + HOUR + gap, until)) for hour in sorted(hours)]
    is_near = reduce(
        or_, (during(Interval(from_micros(start), from_micros(end)), "captured_at") for start, end in around)
    )
    frame = run.warehouse.read(run.spark, OFFSET_SNAPSHOTS, run.versions[OFFSET_SNAPSHOTS.name]).where(is_near)
    return reduce(DataFrame.where, run.spec.filters(), frame)


def _offsets_of_lost(offsets: DataFrame, lost: DataFrame, max_gap: int) -> DataFrame:
    """The rows of `offset_snapshots` around the hours of `lost` (`LostQueues`): queues of their brokers only."""
    is_lost: Column = F.filter("offsets", lambda column: F.array_contains("brokers", column["broker_name"]))
    at = F.unix_micros("captured_at")
    is_near = F.exists("hours", lambda hour: (at >= hour - max_gap) & (at < hour + HOUR + max_gap))
    around = offsets.join(F.broadcast(lost), on=["cluster", "topic"], how="inner").where(is_near)
    return around.withColumn("offsets", is_lost).where(F.size("offsets") > 0).select(*offsets.columns)
