"""Insert-only, by key: what is in a table stays as it is, and what is not is added once."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import Table
from spark_jobs.conflicts import unless_outrun
from spark_jobs.ingest.batches import LINE_NUMBER
from spark_jobs.warehouse import Warehouse


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

    Writes no version for an empty source. Raises `PublishConflictError` if other writers leave no gap.
    """
    if not source.num_rows:
        return 0
    frame = spark.createDataFrame(source.drop_columns([LINE_NUMBER])).alias("s")
    return unless_outrun(lambda: _merge(spark, warehouse, table, frame, within), f"insert into {table.name}")


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
