"""When a broker cannot be read, and when messages are missed: Spark says what plain Python says, both what is here."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.offline import is_missed
from spark_jobs.domain.routes import NotReadableCause, not_readable
from spark_jobs.findings.broker_not_readable import not_readable_spans
from spark_jobs.findings.group_offline import is_missed as is_missed_column
from tests.snapshots import at

#: permission of broker `b` in route spans of 10 s (`-`: not in the route) | why it cannot be read in each
_ROUTES = """
    6 6 6   | . . .
    6 - 6   | . L .
    6 - -   | . L L
    - - 6   | . . .
    - 6 -   | . . L
    6 4 6   | . . .
    6 2 6   | . P .
    2 2     | P P
    2 - 4   | P L .
    0 7     | P .
"""
_CAUSES = {".": None, "L": NotReadableCause.LEFT_ROUTE, "P": NotReadableCause.NO_READ_PERMISSION}
#: produced, backlog (None is unknown), missed
_MISSED = [(0, 0, False), (1, 0, True), (0, 1, True), (None, None, False), (None, 1, True), (1, None, True)]


def _case(line: str) -> tuple[list[int | None], list[NotReadableCause | None]]:
    perms, causes = (cell.split() for cell in line.split("|"))
    return [None if perm == "-" else int(perm) for perm in perms], [_CAUSES[cause] for cause in causes]


CASES = [_case(line) for line in _ROUTES.strip().splitlines()]


def test_plain_python() -> None:
    for perms, causes in CASES:
        assert not_readable(perms) == causes, perms
    for produced, backlog, missed in _MISSED:
        assert is_missed(produced, backlog) == missed


def test_missed_in_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(_MISSED, "produced bigint, backlog bigint, missed boolean")
    found = frame.withColumn("found", is_missed_column(F.col("produced"), F.col("backlog")))
    assert found.where("NOT found <=> missed").collect() == []


def test_routes_in_spark(spark: SparkSession) -> None:
    """Neighbouring spans of one cause are one; each case is a topic of its own, and broker `a` is always there."""
    rows = [
        (
            "c",
            str(case),
            at(0),
            at(10 * place),
            at(10 * place + 10),
            ([("a", 6), *([("b", perm)] if perm is not None else [])],),
        )
        for case, (perms, _) in enumerate(CASES)
        for place, perm in enumerate(perms)
    ]
    state = "struct<queues: array<struct<broker_name: string, perm: int>>>"
    schema = f"cluster string, topic string, step_start timestamp, start timestamp, end timestamp, state {state}"
    found = not_readable_spans(spark.createDataFrame(rows, schema)).collect()
    spans = {(row.topic, row.broker_name, row.cause, _second(row.start), _second(row.end)) for row in found}
    expected = {
        ("1", "b", "LEFT_ROUTE", 10, 20),
        ("2", "b", "LEFT_ROUTE", 10, 30),
        ("4", "b", "LEFT_ROUTE", 20, 30),
        ("6", "b", "NO_READ_PERMISSION", 10, 20),
        ("7", "b", "NO_READ_PERMISSION", 0, 20),
        ("8", "b", "NO_READ_PERMISSION", 0, 10),
        ("8", "b", "LEFT_ROUTE", 10, 20),
        ("9", "b", "NO_READ_PERMISSION", 0, 10),
    }
    assert spans == expected


def _second(moment: object) -> int:
    return int((moment - at(0).replace(tzinfo=None)) / timedelta(seconds=1))  # type: ignore[operator]
