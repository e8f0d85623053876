"""Every message of a growth is given to exactly one part: Spark says what plain Python says."""

from __future__ import annotations

import random
from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.attribution import Part, QueueGrowth, attribute
from spark_jobs.status.attribution import parts

#: growth | owners | verdict | moved | produced | seconds | rate before | part(s) and messages, by hand
_TABLE = """
    100 | 0 | -     | no  | 100 | 10 | 10 | unassigned 100
    100 | 0 | STALL | yes | 100 | 10 | 1  | unassigned 100
    100 | 1 | STALL | yes | 100 | 10 | 1  | stuck_owner 100
    100 | 2 | STOP  | no  | 100 | 10 | 1  | stuck_owner 100
    100 | 1 | WARN  | no  | 100 | 10 | 1  | stuck_owner 100
    100 | 1 | OK    | yes | 100 | 10 | 1  | hand_over 100
    -50 | 1 | OK    | yes | 100 | 10 | 1  | hand_over -50
    100 | 1 | OK    | no  | 200 | 10 | 15 | producer_surge 50, residual 50
    100 | 1 | OK    | no  | 200 | 10 | 0  | producer_surge 100
    100 | 1 | OK    | no  | 100 | 10 | 10 | residual 100
    100 | 1 | OK    | no  | 100 | 10 | 20 | residual 100
    100 | 1 | -     | no  | 200 | 10 | -  | residual 100
    100 | 1 | OK    | no  | -   | 10 | 0  | residual 100
    100 | 1 | OK    | no  | 10  | 1  | 8.5 | producer_surge 2, residual 98
    100 | 1 | OK    | no  | 10  | 1  | 7.5 | producer_surge 2, residual 98
    -50 | 1 | OK    | no  | 200 | 10 | 0  | residual -50
    0   | 1 | OK    | no  | 200 | 10 | 0  |
"""
_SCHEMA = (
    "number int, growth bigint, owners int, verdict string, moved boolean, produced bigint, seconds double, "
    "rate_before double"
)


def _case(line: str) -> tuple[QueueGrowth, Counter[Part]]:
    growth, owners, verdict, moved, produced, seconds, rate, expected = (cell.strip() for cell in line.split("|"))
    queue = QueueGrowth(
        growth=int(growth),
        owners=int(owners),
        verdict=None if verdict == "-" else verdict,
        moved=moved == "yes",
        produced=None if produced == "-" else int(produced),
        seconds=float(seconds),
        rate_before=None if rate == "-" else float(rate),
    )
    named = (text.split() for text in expected.split(",") if text)
    return queue, Counter({Part(part): int(messages) for part, messages in named})


CASES = [_case(line) for line in _TABLE.strip("\n").splitlines()]


def _by_spark(spark: SparkSession, queues: list[QueueGrowth]) -> list[dict[str, int]]:
    rows = [
        (n, q.growth, q.owners, q.verdict, q.moved, q.produced, q.seconds, q.rate_before) for n, q in enumerate(queues)
    ]
    found = [value.alias(part.value) for part, value in parts().items()]
    frame = spark.createDataFrame(rows, _SCHEMA).select("number", *found)
    return [row.asDict() for row in frame.orderBy(F.col("number")).drop("number").collect()]


def test_plain_python() -> None:
    for queue, expected in CASES:
        assert {part: n for part, n in attribute([queue]).items() if n} == dict(expected), queue


def test_spark(spark: SparkSession) -> None:
    for found, (queue, expected) in zip(_by_spark(spark, [queue for queue, _ in CASES]), CASES, strict=True):
        assert found == {part.value: expected[part] for part in Part}, queue


def test_the_parts_of_random_queues_add_up_to_their_growth(spark: SparkSession) -> None:
    chance = random.Random(4)
    queues = [
        QueueGrowth(
            growth=chance.randint(-300, 300),
            owners=chance.randint(0, 2),
            verdict=chance.choice([None, "OK", "STALL", "WARN", "STOP", "REWIND"]),
            moved=chance.random() < 0.3,
            produced=chance.randint(0, 500),
            seconds=chance.uniform(1, 60),
            rate_before=chance.choice([None, chance.uniform(0, 20)]),
        )
        for _ in range(300)
    ]
    for queue, found in zip(queues, _by_spark(spark, queues), strict=True):
        assert sum(found.values()) == queue.growth, queue
        assert {part: n for part, n in attribute([queue]).items() if n} == {p: n for p, n in found.items() if n}, queue
