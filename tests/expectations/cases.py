"""Hand-made rows that break an expectation, or just keep it; all of a suite are looked at in one Spark evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from expectations.suite import KEYS_ARE_UNIQUE, Suite
from schemas import OUTPUTS, SOURCES, Table
from spark_jobs.quality.checks import Check
from spark_jobs.quality.facts import BROKEN, STEP, by_name, flagged, step_facts
from spark_jobs.spark_types import spark_schema
from tests.snapshots import at

Row = dict[str, Any]
#: The rows of one case: those of the suite's table, and what `prepare` needs of others.
Rows = Mapping[Table, Sequence[Row]]

#: The rows of a case say so where their cluster, or the id of a finding, is to be the case's own.
OWN = "(this case)"
_CASE = "case"
_IN_PART = "kept by a part of the groups"


@dataclass(frozen=True)
class Cases:
    """Of one suite: by expectation, rows that break it and no other; and rows that keep all.

    `keeps_in_part`: rows that keep all only in a run of one topic.
    """

    suite: Suite
    breaks: Mapping[str, Sequence[Rows]]
    keeps: Sequence[Rows]
    keeps_in_part: Sequence[Rows] = field(default=())

    @property
    def expectations(self) -> set[str]:
        """Names of the expectations that must have a case."""
        return {one.name for one in (*self.suite.expectations, KEYS_ARE_UNIQUE)}

    def named(self) -> Iterator[tuple[str, set[str], Rows]]:
        """Every case with a name and the expectations that it breaks."""
        for expectation, cases in self.breaks.items():
            yield from ((f"breaks {expectation} ({number})", {expectation}, case) for number, case in enumerate(cases))
        yield from ((f"is kept ({number})", set(), case) for number, case in enumerate(self.keeps))
        yield from ((f"{_IN_PART} ({number})", set(), case) for number, case in enumerate(self.keeps_in_part))


def broken_by_case(spark: SparkSession, cases: Cases) -> dict[str, set[str]]:
    """The names of the broken expectations, by the name of the case: what the audit's own one pass counts."""
    frames = {table: _frame(spark, table, cases) for table in (*SOURCES, *OUTPUTS)}
    others = {table: frame.drop(_CASE) for table, frame in frames.items()}
    settings = {
        "step_seconds": 3600,
        "offset_tolerance": 10,
        "whole_groups": ~F.col(_CASE).startswith(_IN_PART),
        "read_start": at(-300),
        "read_end": at(3600),
    }
    rows = flagged(cases.suite, frames[cases.suite.table], others, settings)
    # One case is one step: so everything, repeated keys too, is counted case by case.
    check = Check(cases.suite, rows.withColumn(STEP, F.col(_CASE)))
    found = [by_name(cases.suite, row) for row in step_facts([check]).collect()]
    return {row[STEP]: {name for name, count in row[BROKEN].items() if count} for row in found}


def _frame(spark: SparkSession, table: Table, cases: Cases) -> DataFrame:
    fields = [StructField(one.name, one.dataType, True) for one in spark_schema(table) if one.name in table.columns]
    schema = StructType([*fields, StructField(_CASE, spark_schema(table)["cluster"].dataType)])
    rows = [
        {name: case if value == OWN else value for name, value in row.items()} | {_CASE: case}
        for case, _, tables in cases.named()
        for row in tables.get(table, ())
    ]
    frame = spark.createDataFrame(rows, schema)
    return frame.withColumn(STEP, F.lit(at(0))) if table in SOURCES else frame
