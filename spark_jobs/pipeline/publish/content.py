"""The content of a table, as one short text."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from schemas import Table


@dataclass(frozen=True)
class Content:
    """Row count and order-free hash of a frame."""

    rows: int
    hash: str


#: The content of a frame without rows.
NOTHING = Content(0, f"{0:016x}")


@dataclass(frozen=True)
class Published:
    """The content that a run published in a table, and the Delta version that holds it."""

    content: Content
    version: int


def content(frame: DataFrame) -> Content:
    """Equal for equal rows in any order, with repeats counted; one scan.

    The sum of the rows' 64-bit hashes, so the hash of a day is the sum of the hashes of its steps (modulo 2^64).
    """
    counted = frame.agg(*_counted(frame)).head()
    assert counted is not None  # an aggregate without groups has exactly one row
    return of_sum(counted["rows"], counted["sum"])


def content_of_steps(frame: DataFrame) -> dict[datetime, Content]:
    """The `content` of each step, by its `step_start` (UTC); one scan."""
    counted = frame.groupBy("step_start").agg(*_counted(frame)).collect()
    return {row["step_start"].astimezone(UTC): of_sum(row["rows"], row["sum"]) for row in counted}


def contents_of(frames: Mapping[Table, DataFrame]) -> dict[Table, Content]:
    """The `content` of each table; one Spark action for all."""
    counted = [frame.agg(F.lit(table.name).alias("name"), *_counted(frame)) for table, frame in frames.items()]
    rows = {row["name"]: row for row in reduce(DataFrame.union, counted).collect()} if counted else {}
    return {table: of_sum(rows[table.name]["rows"], rows[table.name]["sum"]) for table in frames}


def of_sum(rows: int, total: Decimal | int) -> Content:
    """The content of so many rows whose hashes have this sum."""
    return Content(rows, f"{int(total) % 2**64:016x}")


def content_of_run(contents: Iterable[Content]) -> Content:
    """The content of a run from those of its steps."""
    steps = list(contents)
    return of_sum(sum(step.rows for step in steps), sum(int(step.hash, 16) for step in steps))


def observed_content(frame: DataFrame) -> tuple[DataFrame, Callable[[], Content]]:
    """The frame, and its `content` once it was written: it is counted on the way, without a look at the rows again."""
    observation = Observation()

    def written() -> Content:
        counted = observation.get
        return of_sum(counted["rows"], counted["sum"])

    return frame.observe(observation, *_counted(frame)), written


def _counted(frame: DataFrame) -> tuple[Column, Column]:
    hashed = F.xxhash64(*frame.columns).cast("decimal(38, 0)")
    return F.count(F.lit(1)).alias("rows"), F.coalesce(F.sum(hashed), F.lit(0)).alias("sum")
