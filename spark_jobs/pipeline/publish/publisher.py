"""Replace exactly the steps of a run, table by table."""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from schemas import OUTPUTS, Table
from spark_jobs.errors import PublishError
from spark_jobs.pipeline.publish.content import NOTHING, Content, Published, content, observed_content
from spark_jobs.pipeline.publish.turns import Turn
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.runtime.faults import explained
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_ALONE = Turn()


def publish(
    spark: SparkSession,
    warehouse: Warehouse,
    spec: RunSpec,
    outputs: Mapping[Table, DataFrame],
    run_id: str,
    *,
    turn: Turn = _ALONE,
    one_step: bool = False,
) -> dict[str, Published]:
    """Publish, and return the content per table: the `outputs` replace the run's rows; an empty table is left out.
    `turn`: that of the run, checked before each commit. `one_step`: the run is of a single step.

    Steps are partitions, so runs of other steps do not conflict; where Delta still sees a conflict, the publish is
    tried again, never the audit. Raises `PublishConflictError` or `PublishError`.
    """
    warehouse.create(spark, OUTPUTS)

    def in_files(frame: DataFrame) -> DataFrame:
        """A file a step; of one step without a shuffle."""
        return frame.coalesce(1) if one_step else frame.repartition("step_start")

    def published(table: Table) -> Published:
        written = NOTHING
        if table in outputs:
            written = _replace(warehouse, table, outputs[table].transform(in_files), spec, run_id, turn)
        elif spec.publishes(table) and not warehouse.is_free(table, spec.interval):
            nothing = spark.createDataFrame([], spark_schema(table)).select(*table.columns)
            _replace(warehouse, table, nothing, spec, run_id, turn)
        _LOG.info("%s: %d rows published for %s", table.name, written.rows, spec.interval)
        return Published(written, warehouse.version_of(spark, table, run_id))

    # Much of a small write is waiting for Delta's log, so the tables do not queue up. A reader goes by `audit_runs`,
    # which names the versions of all when each is written.
    results = run_in_parallel(*(partial(published, table) for table in OUTPUTS))
    return {table.name: result for table, result in zip(OUTPUTS, results, strict=True)}


def _replace(
    warehouse: Warehouse,
    table: Table,
    frame: DataFrame,
    spec: RunSpec,
    run_id: str,
    turn: Turn,
) -> Content:
    """The content that was written."""
    options = turn.options()

    def commit() -> Content:
        # Sorted by key: readers skip what they do not ask for.
        written, seen = _with_content(warehouse, frame.sortWithinPartitions(*table.key))
        writer = written.write.format("delta").option("userMetadata", run_id).options(**options)
        turn.check()  # also before a further try: another run may have published while this one was suspended
        # Looking for what is to be removed is most of a small replacement. The claim keeps the steps free until then.
        if warehouse.is_free(table, spec.interval):
            warehouse.save(writer.mode("append"), table)
        else:
            warehouse.save(writer.mode("overwrite").option("replaceWhere", spec.replaces(table)), table)
        turn.check()  # else another one has fenced this run, and nothing was written that could be counted
        return seen()

    try:
        return retry_on_conflict(commit, f"publish {table.name}")
    except (PySparkException, Py4JJavaError) as error:
        why = explained(error, warehouse.local_path) or _first_line(error)
        raise PublishError(f"{table.name} could not be published: {why}") from error


def _with_content(warehouse: Warehouse, frame: DataFrame) -> tuple[DataFrame, Callable[[], Content]]:
    """The frame to be written, and its content once it was.

    What is observed while rows of a catalog are replaced does not come back (Spark 4.1): there all is looked at again.
    """
    return (frame, partial(content, frame)) if warehouse.in_catalog else observed_content(frame)


def _first_line(error: Exception) -> str:
    """The line that names the error; py4j begins with what was called."""
    lines = [line for line in str(error).splitlines() if not line.startswith("An error occurred while calling")]
    return lines[0].removeprefix(": ") if lines else type(error).__name__
