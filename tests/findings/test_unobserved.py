"""What was not observed: one hand-written table for plain Python and Spark."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.intervals import Interval
from spark_jobs.domain.observation import gaps
from spark_jobs.domain.views import may_be_unassigned
from spark_jobs.findings.unassigned_queue import may_be_unassigned as may_be_unassigned_column
from spark_jobs.findings.unobserved import together
from spark_jobs.replay.spans import gaps as gaps_between
from spark_jobs.replay.spans import gaps_behind
from spark_jobs.replay.steps import StepWindow
from tests.snapshots import DAY, HOUR, at

WINDOW = StepWindow(HOUR, timedelta(hours=1), timedelta(seconds=210), timedelta(seconds=270))
HOLDS = timedelta(seconds=60)

#: Seconds in which the state is known | seconds in which it is not, up to the end of the step.
SPANS = """
    0..3600                        |
    0..1000 1000..3600             |
    0..1000 1001..3600             | 1000..1001
    500..3600                      |
    -100..200 300..3600            | 200..300
    -100..-50                      | -50..3600
    0..1000 400..500               | 1000..3600
    0..1000 400..1200 1300..3600   | 1200..1300
    0..3600 100..200               |
    0..100 200..300 300..400       | 100..200 400..3600
"""
#: Seconds of readings, each of which holds 60 s | gaps.
TIMES = """
    0 60 120                       |
    0 60 121 180                   | 120..121
    -70 0 60 120                   | -10..0
    120 119                        |
    60                             | 120..180
    119                            | 179..180
    10 10 110                      | 70..110 170..180
"""
STEP_END = 180

Spans = list[tuple[int, int]]


def _spans(text: str) -> Spans:
    pairs = (word.split("..") for word in text.split())
    return [(int(start), int(end)) for start, end in pairs]


def _lines(table: str) -> list[tuple[str, str]]:
    return [tuple(line.split("|")) for line in table.strip("\n").splitlines()]  # type: ignore[misc]


KNOWN = [(_spans(known), _spans(missing)) for known, missing in _lines(SPANS)]


def _interval(span: tuple[int, int]) -> Interval:
    return Interval(at(span[0]), at(span[1]))


def test_gaps_in_plain_python() -> None:
    for known, missing in KNOWN:
        assert gaps(map(_interval, known), HOUR.end) == list(map(_interval, missing)), known
    assert gaps([], HOUR.end) == []


def test_gaps_in_spark(spark: SparkSession) -> None:
    rows = [(case, DAY, at(start), at(end)) for case, (known, _) in enumerate(KNOWN) for start, end in known]
    spans = spark.createDataFrame(rows, "case int, step_start timestamp, start timestamp, end timestamp")
    found = gaps_between(spans, ("case", "step_start"), WINDOW).select("case", "start", "end")
    by_hand = [(case, at(start), at(end)) for case, (_, missing) in enumerate(KNOWN) for start, end in missing]
    expected = spark.createDataFrame(by_hand, "case int, start timestamp, end timestamp")
    assert sorted(found.collect()) == sorted(expected.collect())


def test_gaps_behind_readings(spark: SparkSession) -> None:
    rows = [
        ([at(int(second)) for second in times.split()], [(at(start), at(end)) for start, end in _spans(missing)], DAY)
        for times, missing in _lines(TIMES)
    ]
    window = StepWindow(HOUR, timedelta(seconds=STEP_END), WINDOW.warm_up, WINDOW.look_back)
    schema = "times array<timestamp>, missing array<struct<start: timestamp, end: timestamp>>, step_start timestamp"
    found = spark.createDataFrame(rows, schema).select("*", gaps_behind(F.col("times"), window, HOLDS))
    assert found.where("gaps <> missing").collect() == []


def test_sources_that_were_silent_at_one_time_are_one_finding(spark: SparkSession) -> None:
    silent = [("m", 100, 200), ("r", 150, 300), ("o", 300, 400), ("m", 500, 600), ("m", 700, 900), ("r", 720, 730)]
    rows = [("c", "g", DAY, source, at(start), at(end)) for source, start, end in silent]
    rows.append(("c", "other", DAY, "o", at(150), at(650)))
    schema = (
        "cluster string, consumer_group string, step_start timestamp, source string, start timestamp, end timestamp"
    )
    found = together(spark.createDataFrame(rows, schema)).collect()
    zero = at(0).replace(tzinfo=None)
    assert sorted(
        (one.consumer_group, (one.start - zero).seconds, (one.end - zero).seconds, one.sources) for one in found
    ) == [
        ("g", 100, 400, ["m", "o", "r"]),
        ("g", 500, 600, ["m"]),
        ("g", 700, 900, ["m", "r"]),
        ("other", 150, 650, ["o"]),
    ]


#: The owners of a queue by the list of each broker | whether nobody may take it.
OWNERS: list[tuple[list[list[str]], bool]] = [
    ([["a"], ["a"]], False),
    ([["a"], ["b"]], True),
    ([["a", "b"], ["b"]], False),
    ([["a"], []], True),
    ([[], []], False),
    ([["a"], ["a"], ["b"]], True),
    ([["a", "b"], ["b", "c"], ["c", "a"]], True),
    ([["a", "b"], ["b", "c"], ["b"]], False),
]


def test_who_may_be_without_an_owner(spark: SparkSession) -> None:
    for owners, expected in OWNERS:
        assert may_be_unassigned([frozenset(ids) for ids in owners]) == expected, owners
    cases = spark.createDataFrame(OWNERS, "owners array<array<string>>, expected boolean")
    assert cases.where(may_be_unassigned_column(F.col("owners")) != F.col("expected")).collect() == []
