"""Which subscriptions do not fit together: Spark says what plain Python says, and both what the tables say."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.subscriptions import Subscriptions, mismatch, normal_expression
from spark_jobs.findings.subscription_mismatch import flaps
from spark_jobs.findings.subscription_mismatch import mismatch as mismatch_column
from spark_jobs.replay.subscriptions import normal_expression as expression_column
from spark_jobs.replay.subscriptions import normal_subscriptions
from tests.snapshots import at

#: type (`-` is unknown) | text (`-` is unknown) | normal form
_EXPRESSIONS = """
    TAG   | *                | *
    TAG   |                  | *
    TAG   | -                | *
    -     | -                | *
    -     | TagA             | TagA
    TAG   | TagB || TagA     | TagA || TagB
    TAG   | TagA||TagB||TagA | TagA || TagB
    TAG   | taga             | taga
    SQL92 | b > 1 OR a = 1   | SQL92 b > 1 OR a = 1
    SQL92 | -                | SQL92
"""

#: what each known member subscribes, between `;` | cause
_MISMATCHES = """
    -                                     | -
    retail *                              | -
    retail *; retail *                    | -
    retail *, wholesale *; wholesale *, retail * | -
    retail *; wholesale *                 | DIFFERENT_TOPICS
    retail *; retail *, wholesale *       | DIFFERENT_TOPICS
    retail TagA; wholesale TagA           | DIFFERENT_TOPICS
    retail TagA; retail TagB              | DIFFERENT_EXPRESSIONS
    retail TagA; retail TagA; retail *    | DIFFERENT_EXPRESSIONS
    retail TagA; retail TagB; wholesale * | DIFFERENT_TOPICS
    nothing; retail *                     | DIFFERENT_TOPICS
    nothing; nothing                      | -
"""

#: What a broker said of its clients (`c`, `d`) from each second on | the spans (from second) that are flaps
_FLAPS = """
    0 c A, 20 c B, 40 c A                 | 20
    0 c A, 20 c B, 40 c A, 60 c B         | 20 40
    0 c A, 20 c B, 40 c B                 |
    0 c A, 20 c B                         |
    0 c A, 20 c B, 40 c C                 |
    0 c A, 20 d B, 40 c A                 |
    0 c A, 20 c B, 40 d A                 |
    0 c A, 20 - -, 40 c A                 |
    0 - A, 20 - B, 40 - A                 |
    0 c A, 20 c B gap, 40 c A             |
"""


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(" | ")] for line in table.strip().splitlines()]


def _none(text: str) -> str | None:
    return None if text == "-" else text


EXPRESSIONS = [
    (_none(kind), _none(text), normal) for kind, text, normal in _cells(_EXPRESSIONS.replace("TAG   |  ", "TAG   | "))
]


def _sets(text: str) -> list[Subscriptions]:
    if text == "-":
        return []
    members = [[] if member.strip() == "nothing" else member.split(",") for member in text.split(";")]
    return [frozenset((one.split()[0], one.split()[1]) for one in member) for member in members]


MISMATCHES = [(_sets(sets), _none(cause)) for sets, cause in _cells(_MISMATCHES)]


def test_expressions_in_plain_python() -> None:
    for kind, text, normal in EXPRESSIONS:
        assert normal_expression(kind, text).strip() == normal, (kind, text)


def test_expressions_in_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame(EXPRESSIONS, "kind string, text string, normal string")
    found = F.trim(expression_column(F.col("kind"), F.col("text")))
    assert frame.withColumn("found", found).where("NOT found <=> normal").collect() == []


def test_retry_topics_and_order_make_no_difference_and_unknown_stays_unknown(spark: SparkSession) -> None:
    schema = "id int, s array<struct<topic: string, expression_type: string, sub_string: string, sub_version: bigint>>"
    rows = [
        (0, [("t", "TAG", "a||b", 1), ("%RETRY%g", "TAG", "*", 1), ("s", "TAG", "*", 1)]),
        (1, [("s", None, "", 7), ("t", "TAG", "b || a", 9)]),
        (2, [("%RETRY%g", "TAG", "*", 1)]),
        (3, None),
    ]
    found = spark.createDataFrame(rows, schema).select("id", normal_subscriptions(F.col("s")).alias("n")).collect()
    normal = {row.id: None if row.n is None else [tuple(one) for one in row.n] for row in found}
    assert normal == {0: [("s", "*"), ("t", "a || b")], 1: [("s", "*"), ("t", "a || b")], 2: [], 3: None}


def test_mismatches_in_plain_python() -> None:
    for sets, cause in MISMATCHES:
        assert mismatch(sets) == cause, sets


def test_mismatches_in_spark(spark: SparkSession) -> None:
    rows = [([sorted(one) for one in sets], cause) for sets, cause in MISMATCHES]
    frame = spark.createDataFrame(rows, "sets array<array<struct<topic: string, expression: string>>>, cause string")
    found = frame.withColumn("found", mismatch_column(F.col("sets"))).where("NOT found <=> cause")
    assert found.collect() == []


def test_flaps_of_a_broker(spark: SparkSession) -> None:
    """A change back while the clients stay the same; each case is a group of its own."""
    cases = [[cell.strip() for cell in line.split("|")] for line in _FLAPS.strip().splitlines()]
    rows = [row for group, (spans, _) in enumerate(cases) for row in _spans(str(group), spans)]
    subscriptions = "array<struct<topic: string, expression: string>>"
    state = f"struct<connections: array<struct<client_id: string>>, subscriptions: {subscriptions}>"
    key = "cluster string, consumer_group string, broker_name string, step_start timestamp"
    schema = f"{key}, start timestamp, end timestamp, state {state}"
    found = flaps(spark.createDataFrame(rows, schema)).select("consumer_group", F.unix_seconds("start").alias("s"))
    begun = {(row.consumer_group, row.s - int(at(0).timestamp())) for row in found.collect()}
    assert begun == {(str(group), int(start)) for group, (_, starts) in enumerate(cases) for start in starts.split()}


def _spans(group: str, text: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for span in text.split(","):
        second, client, topic, *gap = span.split()
        start = at(int(second))
        connections = [] if client == "-" else [(client,)]
        end = start + timedelta(seconds=10 if gap else 20)
        rows.append(("c", group, "b", at(0), start, end, (connections, [] if topic == "-" else [(topic, "*")])))
    return rows
