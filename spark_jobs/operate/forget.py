"""Retire a cluster by name, so that no answer and no later run expects anything of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import SparkSession

from schemas import GROUP_STATUS, SIGHTINGS
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.phrases import count, did_you_mean
from spark_jobs.errors import NothingPublishedError, WarehouseError
from spark_jobs.pipeline.publish.turns import turn_without_run
from spark_jobs.show.coverage import coverage_of
from spark_jobs.store.read.forgotten import property_of
from spark_jobs.store.read.published import Scope, published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples
from spark_jobs.store.warehouse import Warehouse

#: A cluster with a younger snapshot is still recorded.
_SILENT_FOR = timedelta(days=1)


@dataclass(frozen=True)
class ForgottenCluster:
    """A cluster, how many groups of it were audited, its newest snapshot (None: unknown), and since when it is
    forgotten.
    """

    cluster: str
    groups: int
    newest_snapshot: datetime | None
    forgotten_at: datetime

    def __str__(self) -> str:
        newest = "unknown" if self.newest_snapshot is None else format_utc(self.newest_snapshot.replace(microsecond=0))
        return f"{self.cluster}: {count(self.groups, 'group')}, newest snapshot {newest}"


def forgettable(stored: StoredTables, cluster: str, now: datetime) -> ForgottenCluster:
    """The cluster as it is forgotten now. Raises `NothingPublishedError` for an unknown name, `WarehouseError`
    if snapshots of the cluster are still recorded, or without tables.
    """
    tables = published_tables(stored)
    groups = [group.cluster for group in tables.groups()]
    if cluster not in groups:
        hint = did_you_mean(cluster, set(groups)) or f"audited clusters: {', '.join(sorted(set(groups))) or 'none'}"
        raise NothingPublishedError(f"there is no cluster {cluster}: {hint}")
    audited = coverage_of(tables, Scope(None, cluster)).data_until
    newest = max(filter(None, (audited.get(cluster), _newest_sighting(stored, cluster, now))), default=None)
    if newest is not None and newest > now - _SILENT_FOR:
        raise WarehouseError(
            f"the cluster {cluster} is still recorded: its newest snapshot is {duration_text(now - newest)} old; stop "
            f"its recorder, and forget it {duration_text(_SILENT_FOR)} later"
        )
    return ForgottenCluster(cluster, groups.count(cluster), newest, now.replace(microsecond=0))


def _newest_sighting(stored: StoredTables, cluster: str, now: datetime) -> datetime | None:
    """The newest snapshot of the last days, audited or not."""
    if not stored.exists(SIGHTINGS):
        return None
    recent = [Filter("cluster", "=", cluster), Filter("hour", ">=", now - 2 * _SILENT_FOR)]
    return max((last for (last,) in tuples(stored.read(SIGHTINGS, ("last_at",), recent))), default=None)


def forget_cluster(spark: SparkSession, warehouse: Warehouse, forgotten: ForgottenCluster) -> None:
    """Record in a property of `group_status` since when the cluster is forgotten; no row changes. Runs wait meanwhile
    before they publish. Raises `PublishConflictError` if other writers leave no gap.
    """
    since = format_utc(forgotten.forgotten_at)
    with turn_without_run(spark, warehouse):
        warehouse.set_properties(spark, GROUP_STATUS, {property_of(forgotten.cluster): since})
