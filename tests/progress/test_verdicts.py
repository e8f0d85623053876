"""Verdicts on histories of offsets, worked out by hand from the rules: Spark and plain Python say the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.verdicts import Reading, verdict
from spark_jobs.progress import verdicts
from spark_jobs.progress.readings import backlog

#: readings every 10 s, broker/consumer offset (`?`: never committed, `-`: no reading) | allowed lag | verdict
_TABLE = """
    100/100 200/200                | 0  | OK
    100/105 200/210                | 0  | OK
    100/90 200/195                 | 5  | OK
    100/90 200/194                 | 5  | OK
    100/90 200/190                 | 5  | WARN
    100/90 200/180 300/270         | 5  | WARN
    100/90 110/100 120/110         | 5  | WARN
    100/90 200/180 300/281         | 5  | OK
    100/99 200/199                 | 0  | WARN
    100/99 200/199                 | 1  | OK
    100/68 200/168                 | 32 | OK
    100/67 200/167                 | 32 | WARN
    100/90 200/90 300/90           | 5  | STALL
    100/50 100/50 100/50           | 5  | STALL
    100/94 200/94                  | 5  | STALL
    100/95 200/95                  | 5  | OK
    100/100 200/100 300/100        | 5  | OK
    100/90 200/190 300/190 400/190 | 5  | STOP
    100/90 200/190 - - 300/190     | 5  | STOP
    100/90 200/190 300/190         | 5  | WARN
    100/97 200/197 300/197 400/197 | 5  | STOP
    100/90 190/190 300/190 400/190 | 5  | OK
    100/90 200/190 300/190 195/190 | 5  | OK
    100/90 200/50 300/50 400/50    | 5  | STOP
    100/90 200/50 300/60           | 5  | REWIND
    100/100 200/50 300/60          | 5  | REWIND
    100/90 200/50 300/290 400/280  | 5  | REWIND
    100/90 200/50 300/90           | 5  | WARN
    100/90 200/50 300/90 400/290   | 5  | OK
    100/100 100/50 100/96          | 5  | OK
    100/50                         | 5  | unknown
    100/? 200/?                    | 5  | unknown
    100/? 200/150                  | 5  | unknown
    100/90 200/? 300/90            | 5  | STALL
    100/? 200/90 300/90            | 5  | STALL
"""
_START = datetime(2026, 3, 1, tzinfo=UTC)


class Case(NamedTuple):
    history: str
    readings: list[Reading]
    allowed_lag: int
    verdict: str | None


def _readings(history: str) -> Iterator[Reading]:
    for number, text in enumerate(history.split()):
        if text != "-":
            end_offset, consumed_to = text.split("/")
            yield Reading(10.0 * number, int(end_offset), None if consumed_to == "?" else int(consumed_to))


def _cases() -> Iterator[Case]:
    for line in _TABLE.strip().splitlines():
        history, allowed_lag, expected = (cell.strip() for cell in line.split("|"))
        yield Case(history, list(_readings(history)), int(allowed_lag), None if expected == "unknown" else expected)


CASES = list(_cases())


def test_plain_python() -> None:
    for case in CASES:
        assert verdict(case.readings, case.allowed_lag) == case.verdict, case.history


def test_spark(spark: SparkSession) -> None:
    rows = [
        (number, 0, case.allowed_lag, case.verdict, _START, _START + timedelta(seconds=at), end_offset, consumed_to)
        for number, case in enumerate(CASES)
        for at, end_offset, consumed_to in case.readings
    ]
    columns = "case int, queue_id int, allowed int, expected string, interval_start timestamp, at timestamp"
    readings = spark.createDataFrame(rows, f"{columns}, end_offset long, consumed_to long")
    lag = backlog(F.col("end_offset"), F.col("consumed_to"))
    facts = (fact.alias(name) for name, fact in verdicts.facts().items())
    found = (
        verdicts.with_reading_before(readings.withColumn("lag", lag), ("case",))
        .groupBy("case", "allowed", "expected")
        .agg(*facts)
        .withColumn("found", verdicts.verdict(F.col("allowed")))
    )
    differing = found.where("NOT found <=> expected").select("case", "expected", "found").collect()
    assert [(CASES[row.case].history, row.expected, row.found) for row in differing] == []
