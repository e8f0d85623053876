"""Stage results, then replace exactly the steps of a run, table by table."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from schemas import OUTPUTS, Table
from spark_jobs.conflicts import unless_outrun
from spark_jobs.errors import PublishError
from spark_jobs.publish.content import Content, content
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse

_LOG = logging.getLogger(__name__)


def stage(
    spark: SparkSession, warehouse: Warehouse, request: RunRequest, outputs: Mapping[Table, DataFrame]
) -> dict[Table, DataFrame]:
    """The outputs, written beside the tables and read back: computed once, whatever happens while publishing.

    Staged under the request's own name, so what a killed run left behind is overwritten by the next try.
    """
    staged = {}
    for table, frame in outputs.items():
        published = frame.where(request.replaces(table)).select(*table.columns)
        in_order = published.repartition("step_start").sortWithinPartitions(*table.key)
        staged[table] = warehouse.stage(spark, f"{request.key}_{table.name}", in_order)
    return staged


def publish(
    spark: SparkSession, warehouse: Warehouse, request: RunRequest, staged: Mapping[Table, DataFrame]
) -> dict[str, Content]:
    """Replaces the request's rows in every output table by the staged ones; the content published, per table.

    Steps are partitions, so runs of other steps do not conflict; where Delta sees a conflict all the same, the
    publish is tried again, never the audit. Raises `PublishConflictError` or `PublishError`.
    """
    warehouse.create(spark, OUTPUTS)
    contents = {}
    for table, frame in staged.items():
        contents[table.name] = content(frame)
        _replace(warehouse, table, frame, request.replaces(table))
        _LOG.info("%s: %d rows published for %s", table.name, contents[table.name].rows, request.interval)
    for table in staged:
        warehouse.drop_stage(spark, f"{request.key}_{table.name}")
    return contents


def _replace(warehouse: Warehouse, table: Table, frame: DataFrame, condition: str) -> None:
    writer = frame.write.format("delta").mode("overwrite").option("replaceWhere", condition)
    try:
        unless_outrun(lambda: warehouse.save(writer, table), f"publish {table.name}")
    except (PySparkException, Py4JJavaError) as error:
        raise PublishError(f"{table.name} could not be published: {str(error).partition(chr(10))[0]}") from error
