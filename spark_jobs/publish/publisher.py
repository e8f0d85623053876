"""Stage results, then replace exactly the steps of a run, table by table."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from delta.exceptions import DeltaConcurrentModificationException
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from schemas import OUTPUTS, Table
from spark_jobs.errors import PublishConflictError, PublishError
from spark_jobs.publish.content import Content, content
from spark_jobs.publish.request import RunRequest
from spark_jobs.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 6


def stage(
    spark: SparkSession, warehouse: Warehouse, request: RunRequest, outputs: Mapping[Table, DataFrame]
) -> dict[Table, DataFrame]:
    """The outputs, written beside the tables and read back: computed once, whatever happens while publishing.

    Staged under the request's own name, so what a killed run left behind is overwritten by the next try.
    """
    staged = {}
    for table, frame in outputs.items():
        published = frame.where(request.replaces(table)).select(*table.columns)
        staged[table] = warehouse.stage(spark, f"{request.key}_{table.name}", published.repartition("step_start"))
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
    retrying = Retrying(
        retry=retry_if_exception_type(DeltaConcurrentModificationException),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(max=10),
    )
    writer = frame.orderBy(*(F.col(name) for name in table.key)).write.format("delta").mode("overwrite")
    try:
        retrying(lambda: warehouse.save(writer.option("replaceWhere", condition), table))
    except RetryError:
        raise PublishConflictError(
            f"{table.name}: another writer kept changing the same steps; run the audit of them again"
        ) from None
    except (PySparkException, Py4JJavaError) as error:
        raise PublishError(f"{table.name} could not be published: {str(error).splitlines()[0]}") from error
