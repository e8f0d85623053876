"""What is uneven: Spark says what plain Python says, and both what the table says."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.balance import is_imbalanced, severity, topic_cause
from spark_jobs.findings import load_imbalance

#: queues per member | strategy | uneven | cause | severity if uneven
_TABLE = """
    6 5 5 | AVG                     | no  | ROOMS      | -
    4     | AVG                     | no  | ROOMS      | -
    -     | AVG                     | no  | ROOMS      | -
    0 0   | CONSISTENT_HASH         | no  | HASH_RING  | -
    1 0   | CONSISTENT_HASH         | no  | HASH_RING  | -
    2 0   | CONSISTENT_HASH         | yes | HASH_RING  | INFO
    9 1   | CONSISTENT_HASH         | yes | HASH_RING  | INFO
    5 3   | MACHINE_ROOM_NEARBY-AVG | yes | ROOMS      | INFO
    8 3   | MACHINE_ROOM_NEARBY-AVG | yes | ROOMS      | INFO
    9 3   | MACHINE_ROOM_NEARBY-AVG | yes | ROOMS      | WARN
    2 0   | CONFIG                  | yes | CONFIGURED | INFO
    3 0   | CONFIG                  | yes | CONFIGURED | WARN
"""


def _case(line: str) -> tuple[list[int], str, bool, str, str | None]:
    queues, strategy, uneven, cause, found = (cell.strip() for cell in line.split("|"))
    counts = [] if queues == "-" else [int(count) for count in queues.split()]
    return counts, strategy, uneven == "yes", cause, None if found == "-" else found


CASES = [_case(line) for line in _TABLE.strip().splitlines()]


def test_plain_python() -> None:
    for queues, strategy, uneven, cause, how_bad in CASES:
        assert (is_imbalanced(queues), topic_cause(strategy)) == (uneven, cause), queues
        assert not uneven or severity(topic_cause(strategy), queues) == how_bad, queues


def test_spark(spark: SparkSession) -> None:
    schema = "queues array<int>, strategy string, uneven boolean, cause string, how_bad string"
    queues = F.col("queues")
    found = spark.createDataFrame(CASES, schema).withColumns(
        {
            "u": load_imbalance.is_imbalanced(queues),
            "c": load_imbalance.topic_cause(F.col("strategy")),
            "s": F.when(F.col("uneven"), load_imbalance.severity(F.col("cause"), queues)),
        }
    )
    assert found.where("NOT (u <=> uneven AND c <=> cause AND s <=> how_bad)").collect() == []
