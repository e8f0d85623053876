"""Stage results, then replace exactly the steps of a run, table by table."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from schemas import FINDINGS, OUTPUTS, Table
from spark_jobs.conflicts import unless_outrun
from spark_jobs.errors import PublishError
from spark_jobs.publish.content import Published, content
from spark_jobs.publish.request import RunRequest
from spark_jobs.side_by_side import side_by_side
from spark_jobs.warehouse import Warehouse

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


def stage(
    spark: SparkSession, warehouse: Warehouse, name: str, request: RunRequest, outputs: Mapping[Table, DataFrame]
) -> dict[Table, DataFrame]:
    """The outputs, written beside the tables and read back: computed once, whatever happens while publishing.

    `name` is that of the request, or of a scheduled run: what a killed run left behind is overwritten by the next try.
    """

    def staged(table: Table, frame: DataFrame) -> DataFrame:
        published = frame.where(request.replaces(table)).select(*table.columns)
        in_order = published.repartition("step_start").sortWithinPartitions(*table.key)
        return warehouse.stage(spark, f"{name}_{table.name}", in_order)

    return _per_table(staged, outputs)


def publish(
    spark: SparkSession, warehouse: Warehouse, request: RunRequest, staged: Mapping[Table, DataFrame], run_id: str
) -> dict[str, Published]:
    """Replaces the request's rows in every output table by the staged ones; what was published, per table.

    Steps are partitions, so runs of other steps do not conflict; where Delta sees a conflict all the same, the
    publish is tried again, never the audit. Raises `PublishConflictError` or `PublishError`.
    """
    warehouse.create(spark, OUTPUTS)

    def published(table: Table, frame: DataFrame) -> Published:
        found = content(frame)
        _replace(warehouse, table, frame, request.replaces(table), run_id)
        _LOG.info("%s: %d rows published for %s", table.name, found.rows, request.interval)
        return Published(found, warehouse.version_of(spark, table, run_id))

    # Findings last: who reads one finds everything it speaks of.
    others = {table: frame for table, frame in staged.items() if table is not FINDINGS}
    contents = _per_table(published, others) | {FINDINGS: published(FINDINGS, staged[FINDINGS])}
    return {table.name: found for table, found in contents.items()}


def unstage(spark: SparkSession, warehouse: Warehouse, name: str) -> None:
    """Removes what is staged under the name, once it is published and `audit_runs` says so."""
    for table in OUTPUTS:
        warehouse.drop_stage(spark, f"{name}_{table.name}")


def _per_table(act: Callable[[Table, DataFrame], T], frames: Mapping[Table, DataFrame]) -> dict[Table, T]:
    """What `act` gives per table. Much of a small write is waiting for Delta's log, so the tables do not queue up."""
    return dict(zip(frames, side_by_side(*(partial(act, *item) for item in frames.items())), strict=True))


def _replace(warehouse: Warehouse, table: Table, frame: DataFrame, condition: str, run_id: str) -> None:
    writer = frame.write.format("delta").mode("overwrite").option("replaceWhere", condition)
    writer = writer.option("userMetadata", run_id)
    try:
        unless_outrun(lambda: warehouse.save(writer, table), f"publish {table.name}")
    except (PySparkException, Py4JJavaError) as error:
        raise PublishError(f"{table.name} could not be published: {str(error).partition(chr(10))[0]}") from error
