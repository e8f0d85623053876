"""What becomes of a run: it is rejected, or published; either way its row of `audit_runs` and its checks are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from schemas import Table
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.audit import Progress
from spark_jobs.pipeline.check import Gate
from spark_jobs.pipeline.publish.claims import check_claimed
from spark_jobs.pipeline.publish.publisher import publish
from spark_jobs.pipeline.publish.turns import publishing
from spark_jobs.pipeline.record import append, finished, published, rejected
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.warehouse import Warehouse

#: Writes the run's row of `audit_runs`.
Write = Callable[[SparkSession, Warehouse, Mapping[str, Any]], None]


@contextmanager
def rejected_if_closed(gate: Gate, asked: Mapping[str, Any], write: Write = append) -> Iterator[None]:
    """A block that the gate may close with `QualityError`: `audit_runs` says rejected then."""
    try:
        yield
    except QualityError as error:
        write(gate.spark, gate.warehouse, {**asked, **rejected(error)})
        gate.record()
        raise


def publish_checked(
    gate: Gate,
    outputs: Mapping[Table, DataFrame],
    asked: Mapping[str, Any],
    not_evaluated: list[str],
    warnings: Sequence[str],
    progress: Progress,
    write: Write = append,
) -> dict[str, Any]:
    """Publishes the outputs that the gate has let pass, and writes it down; the row of `audit_runs`.

    `asked` is what the row says so far; `not_evaluated` are rules; `warnings`, with those of the gate, are its message.
    The run holds its `claim`. Raises `WarehouseError`, `PublishConflictError`, `PublishError`.
    """
    spark, warehouse, request = gate.spark, gate.warehouse, gate.request
    progress("publishing")
    one_step = gate.configuration.grid.is_one_step(request.interval)
    with publishing(spark, warehouse, request, gate.run_id):
        tables = publish(spark, warehouse, request, outputs, gate.run_id, one_step=one_step)
        # A run does not write itself down in a place from which the warehouse has vanished.
        check_claimed(warehouse.folder(spark), gate.run_id)
        says = published(tables, not_evaluated, [*warnings, *gate.warnings], finished(spark, warehouse))
        row = {**asked, **says}
        progress("recording the results of the checks")
        run_in_parallel(lambda: write(spark, warehouse, row), gate.record)
    return row
