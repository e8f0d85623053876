"""Insert-only, by key: what is in a table stays as it is, and what is not is added once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from tenacity import RetryError, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from schemas import Table
from spark_jobs.errors import WarehouseError
from spark_jobs.ingest.batches import LINE_NUMBER
from spark_jobs.warehouse import Warehouse

T = TypeVar("T")

#: How Delta says that another writer came first; the first is not the base of the others.
_CONFLICTS: Final = (
    DeltaConcurrentModificationException,
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
#: Seen between another writer's making of the folder and of the table in it.
_HALF_MADE: Final = "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
_ATTEMPTS: Final = 8


def insert_new(
    spark: SparkSession, warehouse: Warehouse, table: Table, source: pa.Table, span: Column
) -> tuple[int, list[int]]:
    """(rows inserted, line numbers of rows whose key stands with another content).

    `span` is true for every row of the table, as `t`, that can have a key of the source: Delta skips files
    by it. Writes no version where all keys are known.
    """
    target = warehouse.read(spark, table).alias("t").where(span)
    known = _known(spark.createDataFrame(source).alias("s"), target, table)
    fresh = source.filter(pc.invert(pc.is_in(source[LINE_NUMBER], pa.array(known, pa.int64()))))
    inserted = 0
    if fresh.num_rows:
        frame = spark.createDataFrame(fresh.drop_columns([LINE_NUMBER])).alias("s")
        inserted = unless_outrun(lambda: _merge(spark, warehouse, table, frame, span))
    return inserted, [number for number, same in known.items() if not same]


def _known(source: DataFrame, target: DataFrame, table: Table) -> dict[int, bool]:
    """Line numbers whose key is in the table → whether all columns are the same."""
    same = _columns("s", table).eqNullSafe(_columns("t", table))
    found = source.join(target, on=_same_key(table), how="inner").select(LINE_NUMBER, same).collect()
    return dict(found)


def _merge(spark: SparkSession, warehouse: Warehouse, table: Table, frame: DataFrame, span: Column) -> int:
    merge = warehouse.delta_table(spark, table).alias("t").merge(frame, span & _same_key(table))
    result = merge.whenNotMatchedInsert(values={name: F.col(f"s.{name}") for name in table.columns}).execute()
    return int(result.collect()[0]["num_inserted_rows"])


def _same_key(table: Table) -> Column:
    condition = F.lit(True)
    for name in table.key:
        condition = condition & (F.col(f"t.{name}") == F.col(f"s.{name}"))
    return condition


def _columns(alias: str, table: Table) -> Column:
    return F.struct(*(F.col(f"{alias}.{name}") for name in table.columns))


def unless_outrun(commit: Callable[[], T]) -> T:
    """The commit's result; where another writer came first it is tried again, for some seconds.

    Raises `WarehouseError` if that does not end.
    """
    retrying = Retrying(
        retry=retry_if_exception(_is_outrun),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.2, max=5),
    )
    try:
        return retrying(commit)
    except RetryError as error:
        cause = str(error.last_attempt.exception()).partition("\n")[0]
        raise WarehouseError(f"the warehouse takes no rows, ingest again when others are done: {cause}") from None


def _is_outrun(error: BaseException) -> bool:
    half_made = isinstance(error, AnalysisException) and error.getCondition() == _HALF_MADE
    return half_made or isinstance(error, _CONFLICTS)
