"""What a table holds, as one short text."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Content:
    """Row count and order-free hash of a frame."""

    rows: int
    hash: str


@dataclass(frozen=True)
class Published:
    """What a run published in a table, and the Delta version that holds it."""

    content: Content
    version: int


def content(frame: DataFrame) -> Content:
    """Equal for equal rows in any order, with repeats counted; one scan.

    The sum of the rows' 64-bit hashes, so the hash of a day is the sum of the hashes of its steps (modulo 2^64).
    """
    row_hash = F.xxhash64(*frame.columns).cast("decimal(38, 0)")
    counted = frame.agg(F.count(F.lit(1)).alias("rows"), F.coalesce(F.sum(row_hash), F.lit(0)).alias("sum")).head()
    assert counted is not None  # an aggregate without groups has exactly one row
    return Content(counted["rows"], f"{int(counted['sum']) % 2**64:016x}")
