"""Insert-only, by key: what is in a table stays as it is, and what is not is added once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import pyarrow as pa
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
#: What is seen between another writer's making of the folder and of the table in it.
_HALF_MADE: Final = ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "DELTA_TABLE_NOT_FOUND")
_ATTEMPTS: Final = 8


def known(spark: SparkSession, warehouse: Warehouse, table: Table, source: pa.Table, within: Column) -> dict[int, bool]:
    """Line numbers of the rows whose key is in the table → whether all their columns are the same there.

    `within` is true for every row of the table, as `t`, that can have a key of the source: Delta skips files by it.
    """
    target = warehouse.read(spark, table).alias("t").where(within)
    same = _columns("s", table).eqNullSafe(_columns("t", table))
    pairs = spark.createDataFrame(source).alias("s").join(target, on=_same_key(table), how="inner")
    return dict(pairs.select(LINE_NUMBER, same).collect())


def insert(spark: SparkSession, warehouse: Warehouse, table: Table, source: pa.Table, within: Column) -> int:
    """How many rows went in: those whose key is not in the table yet, whoever else writes; the source's keys differ.

    Writes no version for an empty source. Raises `WarehouseError` if other writers leave no gap.
    """
    if not source.num_rows:
        return 0
    frame = spark.createDataFrame(source.drop_columns([LINE_NUMBER])).alias("s")
    return unless_outrun(lambda: _merge(spark, warehouse, table, frame, within))


def _merge(spark: SparkSession, warehouse: Warehouse, table: Table, frame: DataFrame, within: Column) -> int:
    merge = warehouse.delta_table(spark, table).alias("t").merge(frame, within & _same_key(table))
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
    half_made = isinstance(error, AnalysisException) and error.getCondition() in _HALF_MADE
    return half_made or isinstance(error, _CONFLICTS)
