"""What a table holds, as one short text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
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
    counted = frame.agg(*_counted(frame)).head()
    assert counted is not None  # an aggregate without groups has exactly one row
    return Content(counted["rows"], _hex(int(counted["sum"])))


def content_of_steps(frame: DataFrame) -> dict[datetime, Content]:
    """The `content` of each step, by its `step_start` (UTC); one scan."""
    counted = frame.groupBy("step_start").agg(*_counted(frame)).collect()
    return {row["step_start"].replace(tzinfo=UTC): Content(row["rows"], _hex(int(row["sum"]))) for row in counted}


def together(contents: Iterable[Content]) -> Content:
    """The content of a run from those of its steps."""
    found = list(contents)
    return Content(sum(one.rows for one in found), _hex(sum(int(one.hash, 16) for one in found)))


def _counted(frame: DataFrame) -> tuple[Column, Column]:
    row_hash = F.xxhash64(*frame.columns).cast("decimal(38, 0)")
    return F.count(F.lit(1)).alias("rows"), F.coalesce(F.sum(row_hash), F.lit(0)).alias("sum")


def _hex(total: int) -> str:
    return f"{total % 2**64:016x}"
