"""Storms, flapping members, messages in flight: plain Python and Spark say what the tables say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.rebalances import Passage, flapping, in_flight, moments, storms
from spark_jobs.findings import flapping_member, rebalance_storm, redelivery_exposure
from spark_jobs.findings.rebalances import rebalances
from spark_jobs.replay.views import GROUP_STEP

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
CADENCE = timedelta(seconds=20)
WITHIN = timedelta(seconds=100)
_KEY = "step_start timestamp, cluster string, consumer_group string"


def at(seconds: float) -> datetime:
    return T + timedelta(seconds=seconds)


#: Starts of a group's intervals (any topic), 3 within 100 s are a storm | moments | storms
STARTS = """
    0 50 99                    | 0 50 99             | 0-99 3
    0 50 100                   | 0 50 100            |
    0 0 0 3 50 99.9            | 0 50 99.9           | 0-99.9 3
    0 9.9 50                   | 0 50                |
    0 9 18 27 50               | 0 50                |
    0 10 20                    | 0 10 20             | 0-20 3
    0 40 80 120 160            | 0 40 80 120 160     | 0-160 5
    0 20 40 500 520 540        | 0 20 40 500 520 540 | 0-40 3, 500-540 3
    0 20 40 300 600 620 640    | 0 20 40 300 600 620 640 | 0-40 3, 600-640 3
    0 45 90 135 300            | 0 45 90 135 300     | 0-135 4
"""

#: `+id` came, `-id` went, per rebalance; `*n`: so many members of its host then; 2 times are flapping | who, comings, goings
PASSAGES = """
    -x +x -x +x                            | SAME_ID x 2 2
    -x +x -x                               |
    -h@1 +h@2 -h@2 +h@3                    | NEW_ID_EACH_TIME h 2 2
    -h@1 +h@2 -h@2                         |
    -h@1 +h@1 -h@1 +h@1                    | SAME_ID h@1 2 2
    -h@1*1 +h@3*2 -h@2*1 +h@4*2            |
    -h@1*1 +h@3*2 -h@2*1 +h@4*2 -h@3*1 +h@5*2 -h@4*1 +h@6*2 | NEW_ID_EACH_TIME h 4 4
    -h@1 +g@2 -h@2 +g@3                    |
    -x +y -y +z                            |
"""


def _lines(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _passages(text: str) -> list[Passage]:
    found = []
    for number, word in enumerate(text.split()):
        client_id, _, at_once = word[1:].partition("*")
        found.append(Passage(at(100 * number), client_id, word[0] == "+", int(at_once or 0)))
    return found


def test_storms_in_plain_python() -> None:
    for starts, expected, found in _lines(STARTS):
        instants = moments([at(float(one)) for one in starts.split()], CADENCE)
        assert instants == [at(float(one)) for one in expected.split()], starts
        said = [
            f"{(s.first - T).total_seconds():g}-{(s.last - T).total_seconds():g} {s.rebalances}"
            for s in storms(instants, 3, WITHIN)
        ]
        assert ", ".join(said) == found, starts


def test_storms_in_spark(spark: SparkSession) -> None:
    rows: list[tuple[object, ...]] = []
    for case, (starts, _, _) in enumerate(_lines(STARTS)):
        for topic, start in enumerate(starts.split()):
            rows.append((T, "c", str(case), str(topic), at(float(start)), "*", "MEMBER_LEFT", 2, 1))
        # None of these is a rebalance of the group.
        rows.append((T, "c", str(case), "t", at(30), "broker-a", "MEMBER_LEFT", 2, 1))
        rows.append((T, "c", str(case), "t", at(31), "*", "FIRST_OBSERVATION", 2, 1))
        rows.append((T, "c", str(case), "t", at(32), "*", None, 2, 1))
    schema = (
        f"{_KEY}, topic string, start timestamp, membership_view string, trigger string, "
        "queues_moved int, least_moves int"
    )
    found = rebalances(spark.createDataFrame(rows, schema), CADENCE)
    counted = found.groupBy(*GROUP_STEP, "moment").agg(
        F.sum("queues_moved").alias("queues_moved"),
        F.sum("least_moves").alias("least_moves"),
        F.lit(1).alias("by_members"),
    )
    _compare_moments(counted)
    said: dict[str, list[str]] = {}
    for row in rebalance_storm.storms(counted, 3, WITHIN).orderBy("start").collect():
        first, last = (one.astimezone(UTC).replace(tzinfo=UTC) for one in (row.start, row.end))
        said.setdefault(row.consumer_group, []).append(
            f"{_seconds(row.start):g}-{_seconds(row.end):g} {row.rebalances}"
        )
        assert first < last
        assert row.queues_moved == 2 * row.least_moves
    for case, (starts, _, expected) in enumerate(_lines(STARTS)):
        assert ", ".join(said.get(str(case), [])) == expected, starts


def _compare_moments(counted: DataFrame) -> None:
    found: dict[str, list[float]] = {}
    for row in counted.orderBy("moment").collect():
        found.setdefault(row.consumer_group, []).append(_seconds(row.moment))
    for case, (starts, expected, _) in enumerate(_lines(STARTS)):
        assert found[str(case)] == [float(one) for one in expected.split()], starts


def _seconds(moment: datetime) -> float:
    return (moment.replace(tzinfo=UTC) - T).total_seconds()


def test_flapping_in_plain_python() -> None:
    for text, expected in _lines(PASSAGES):
        said = [" ".join(map(str, one)) for one in flapping(_passages(text), 2)]
        assert ", ".join(said) == expected, text


def test_flapping_in_spark(spark: SparkSession) -> None:
    """Every rebalance is of two topics: it counts once, and what it moved counts twice."""
    rows = [
        (T, "c", str(case), one.moment, (topic, one.moment, 4, 2), one.client_id, one.came, one.at_once)
        for case, (text, _) in enumerate(_lines(PASSAGES))
        for one in _passages(text)
        for topic in ("t", "u")
    ]
    schema = (
        f"{_KEY}, moment timestamp, moved struct<topic: string, start: timestamp, queues_moved: int, least_moves: int>, "
        "client_id string, came boolean, at_once int"
    )
    found = flapping_member.flapping(spark.createDataFrame(rows, schema), 2).collect()
    said = {row.consumer_group: f"{row.cause} {row.subject} {row.comings} {row.goings}" for row in found}
    assert len(said) == len(found)
    for case, (text, expected) in enumerate(_lines(PASSAGES)):
        assert said.get(str(case), "") == expected, text
    for row in found:
        assert (row.queues_moved, row.least_moves) == (8 * (row.comings + row.goings), 4 * (row.comings + row.goings))


#: consumer offset, pull offset, last timestamp | in flight
OFFSETS = [
    ((100, 130, 5), 30),
    ((100, 100, 5), 0),
    ((100, 99, 5), 0),  # read one after the other
    ((0, 7, 5), 7),
    ((0, 0, 5), 0),
    ((0, 7, 0), None),  # never committed
    ((0, 7, None), None),
    ((100, 0, 5), None),  # the broker forgot the pulls
    ((100, -1, 5), None),
    ((100, None, 5), None),
    ((0, None, 5), None),
    ((None, 7, 5), None),
]


def test_in_flight(spark: SparkSession) -> None:
    rows = [(offsets, count) for offsets, count in OFFSETS]
    schema = "r struct<consumer_offset: bigint, pull_offset: bigint, last_timestamp: bigint>, expected bigint"
    frame = spark.createDataFrame(rows, schema).withColumn("found", redelivery_exposure.in_flight(F.col("r")))
    assert frame.where("NOT found <=> expected").collect() == []
    assert [in_flight(*offsets) for offsets, _ in OFFSETS] == [count for _, count in OFFSETS]


def test_exposure(spark: SparkSession) -> None:
    """Queues 0 and 1 hold 30 and 12 in flight, 2 is unknown; a reading 60 s old says nothing."""
    offsets = [("b", 0, 100, 130, 5), ("b", 1, 100, 112, 5), ("b", 2, 0, 9, 0), ("b", 3, 50, 50, 5)]
    rows = [
        # group, topic, moment, handed over, at, read at
        ("two queues and one unknown", "t", 100, ["b:0", "b:1", "b:2"], 95, 90),
        ("two topics and rebalances", "t", 100, ["b:0"], 95, 90),
        ("two topics and rebalances", "u", 100, ["b:1"], 95, 90),
        ("two topics and rebalances", "t", 300, ["b:1"], 295, 290),
        ("two topics and rebalances", "t", 500, ["b:3"], 495, 490),
        ("nothing in flight", "t", 100, ["b:3"], 95, 90),
        ("unknown", "t", 100, ["b:2"], 95, 90),
        ("too old", "t", 100, ["b:0"], 95, 34),
        ("just not too old", "t", 100, ["b:0"], 95, 35),
        ("no reading", "t", 100, ["b:0"], 95, None),
    ]
    schema = (
        f"{_KEY}, topic string, moment timestamp, handed_over array<string>, at timestamp, reading struct<read_at: "
        "timestamp, offsets: array<struct<broker_name: string, queue_id: int, consumer_offset: bigint, pull_offset: "
        "bigint, last_timestamp: bigint>>>"
    )
    frame = spark.createDataFrame(
        [
            (T, "c", group, topic, at(moment), queues, at(seen), None if read is None else (at(read), offsets))
            for group, topic, moment, queues, seen, read in rows
        ],
        schema,
    )
    found = {
        row.consumer_group: (
            _seconds(row.start),
            _seconds(row.last),
            row.rebalances,
            row.in_flight_max,
            row.in_flight_total,
            row.queues_handed_over,
            row.unknown_queues,
        )
        for row in redelivery_exposure.exposures(frame, timedelta(seconds=60)).collect()
    }
    assert found == {
        "two queues and one unknown": (100, 100, 1, 42, 42, 3, 1),
        "two topics and rebalances": (100, 300, 2, 42, 54, 3, 0),
        "just not too old": (100, 100, 1, 30, 30, 1, 0),
    }
