"""Rows of a source that break a rule: set aside with every reason, and not used. Rows in = rows used + quarantined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from expectations.rows import CheckSettings, Rows
from expectations.suite import KEYS_ARE_UNIQUE, Suite
from schemas import QUARANTINE
from spark_jobs.pipeline.quality.facts import broken_by
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.spark_types import spark_schema

if TYPE_CHECKING:
    from spark_jobs.store.warehouse import Warehouse

#: Characters of a row, or of its key, that are kept.
_KEPT_CONTENT = 64 * 1024


def with_reasons(suite: Suite, rows: DataFrame, read_content: Column, settings: CheckSettings) -> DataFrame:
    """Adds `reasons`: every rejecting expectation that the row breaks, as enum names; empty: it is used. And
    `content`, a hash of the row.

    Of rows with one key that break nothing else one is used if they say the same, all that the audit reads of them
    (`read_content`), and none if they do not: which one is true is not known.
    """
    reasons = StructType([*rows.schema, StructField("reasons", ArrayType(StringType()))])

    def flag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            broken = broken_by(Rows.of(pa.table(batch), settings), suite.rejecting)
            names = [[name.upper() for name, flags in broken.items() if flags[row]] for row in range(len(batch))]
            yield batch.append_column("reasons", pa.array(names, pa.list_(pa.string())))

    same_key = Window.partitionBy(*suite.table.key, "breaks_nothing")
    contents = F.size(F.collect_set("read_content").over(same_key))
    place = F.row_number().over(same_key.orderBy("content"))
    repeats = F.col("breaks_nothing") & ((contents > 1) | (place > 1))
    is_repeat = F.when(repeats, F.lit(KEYS_ARE_UNIQUE.name.upper()))
    return (
        rows.mapInArrow(flag, reasons)
        .withColumns({"read_content": read_content, "content": F.xxhash64(*suite.table.columns)})
        .withColumn("breaks_nothing", F.size("reasons") == 0)
        .withColumn("reasons", F.array_compact(F.concat("reasons", F.array(is_repeat))))
    )


def quarantined(suite: Suite, rows: DataFrame, run_id: str) -> DataFrame:
    """The rows `with_reasons` that have one, as `schemas/quarantine.py` says; rows of equal text have different
    ids.
    """
    row = F.to_json(F.struct(*suite.table.columns), {"ignoreNullFields": "false"})
    # What the text does not show, such as microseconds, makes rows differ too.
    place = F.row_number().over(Window.partitionBy(F.xxhash64(row)).orderBy("content"))
    is_cut = F.length(row) > _KEPT_CONTENT
    values = {
        "quarantine_id": F.sha2(F.concat_ws("\n", F.lit(suite.table.name), row, place), 256),
        "source_table": F.lit(suite.table.name),
        "source_file": F.lit(None),
        "line_number": F.lit(None),
        "key": F.left(F.to_json(F.struct(*suite.table.key)), F.lit(_KEPT_CONTENT)),
        "reasons": F.col("reasons"),
        "detail": F.when(is_cut, F.concat(F.lit("cut: the row has so many characters: "), F.length(row))),
        "run_id": F.lit(run_id),
        "content": F.left(row, F.lit(_KEPT_CONTENT)),
    }
    columns = (values[name].cast(spark_schema(QUARANTINE)[name].dataType).alias(name) for name in QUARANTINE.columns)
    return rows.where(F.size("reasons") > 0).select(*columns)


def set_aside(spark: SparkSession, warehouse: Warehouse, rows: DataFrame) -> None:
    """Inserts rows of `quarantined` that are not there yet."""
    warehouse.create(spark, [QUARANTINE])
    target = warehouse.delta_table(spark, QUARANTINE).alias("t")
    same = F.col("t.quarantine_id") == F.col("s.quarantine_id")
    merge = target.merge(rows.alias("s"), same).whenNotMatchedInsertAll()
    retry_on_conflict(merge.execute, f"insert into {QUARANTINE.name}")
