"""Rewinds, skew and retention: Spark says what plain Python says, and both what the tables say."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain import progress_rules
from spark_jobs.findings import offset_rewound, producer_skew, retention_risk

#: rewound at most (`-`: it did not), tolerance, owned by twins, seconds to a rebalance, settled after | cause
_REWINDS = """
    64   64 no  500 30 | -
    65   64 no  500 30 | RESET
    65   64 no  31  30 | RESET
    65   64 no  30  30 | HAND_OVER
    65   64 no  -   30 | RESET
    65   64 yes 500 30 | TWINS
    65   64 yes 0   30 | TWINS
    64   64 yes 0   30 | -
    -    64 yes 0   30 | -
    1    0  no  500 30 | RESET
"""

#: broker:messages of each queue (`?`: unknown), least mean | busiest ÷ mean (`-`: nothing to say)
_SKEWS = """
    a:100 a:100 a:100 a:100     100 | 1.0
    a:400 a:0 a:0 a:0           100 | 4.0
    a:399 a:0 a:0 a:0           100 | -
    a:300 a:100 b:0 b:0         100 | 1.5
    a:300 a:100 b:1 b:0         100 | 2.993
    a:300 a:100 a:? a:?         100 | 1.5
    a:? b:0                     0   | -
    a:0 a:0                     0   | -
    a:500                       100 | 1.0
"""

#: consumer offset, oldest offset, consumed/s, deleted/s (`-`: unknown), within seconds | cause
_RETENTIONS = """
    99   100 -  -   3600 | LOST
    99   100 5  1   3600 | LOST
    100  100 1  1   3600 | -
    100  100 1  2   3600 | EXPIRING
    3700 100 1  2   3600 | EXPIRING
    3701 100 1  2   3600 | -
    3700 100 2  2   3600 | -
    3700 100 -  2   3600 | -
    3700 100 1  -   3600 | -
    -    100 1  2   3600 | -
    3700 -   1  2   3600 | -
"""


def _rows(table: str) -> list[tuple[list[str], str | None]]:
    lines = (line.split("|") for line in table.strip().splitlines())
    return [(cells.split(), None if found.strip() == "-" else found.strip()) for cells, found in lines]


def _number(text: str) -> float | None:
    return None if text in "-?" else float(text)


def _whole(text: str) -> int | None:
    return None if text in "-?" else int(text)


def test_why_an_offset_went_back(spark: SparkSession) -> None:
    rows = []
    for (rewound, tolerance, twins, rebalance, settled), cause in _rows(_REWINDS):
        row = (_whole(rewound), int(tolerance), twins == "yes", _number(rebalance), float(settled), cause)
        rows.append(row)
        seconds = float("inf") if row[3] is None else row[3]
        found = progress_rules.rewind_cause(
            row[0], row[1], owned_by_twins=row[2], seconds_to_rebalance=seconds, settled_after=row[4]
        )
        assert found == cause, row
    frame = spark.createDataFrame(rows, "r long, t int, twins boolean, s double, after double, cause string")
    in_spark = offset_rewound.rewind_cause(*(F.col(name) for name in ("r", "t", "twins", "s", "after")))
    assert frame.where(~in_spark.eqNullSafe(F.col("cause"))).collect() == []


def test_how_skewed_production_is(spark: SparkSession) -> None:
    rows, by_hand = [], {}
    for number, ((*queues, least_mean), expected) in enumerate(_rows(_SKEWS)):
        produced = [(broker, _whole(messages)) for broker, messages in (queue.split(":") for queue in queues)]
        found = progress_rules.skew(produced, int(least_mean))
        assert (None if found is None else round(found, 3)) == _number(expected or "-"), queues
        rows += [(number, broker, messages, int(least_mean)) for broker, messages in produced]
        if expected:
            by_hand[number] = float(expected)
    frame = spark.createDataFrame(rows, "topic int, broker_name string, produced long, least int")
    in_spark = producer_skew.with_skew(frame, ("topic",), F.col("least")).where("skew IS NOT NULL")
    assert {row.topic: round(row.skew, 3) for row in in_spark.collect()} == by_hand


def test_what_becomes_of_messages_that_wait(spark: SparkSession) -> None:
    rows = []
    for (consumer, oldest, consumed, deleted, within), cause in _rows(_RETENTIONS):
        row = (_whole(consumer), _whole(oldest), _number(consumed), _number(deleted), float(within), cause)
        rows.append(row)
        assert progress_rules.retention_cause(*row[:5]) == cause, row
    names = "consumer_offset long, min_offset long, consumed_per_second double, deleted_per_second double"
    frame = spark.createDataFrame(rows, f"{names}, within double, cause string")
    in_spark = retention_risk.retention_cause(F.col("within"))
    assert frame.where(~in_spark.eqNullSafe(F.col("cause"))).collect() == []
