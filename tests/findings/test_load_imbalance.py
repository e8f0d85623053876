"""What is uneven: Spark says what plain Python says, and both what the tables say."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.model import Thresholds
from spark_jobs.domain.balance import Traffic, is_imbalanced, severity, topic_cause, unequal_traffic
from spark_jobs.findings import load_imbalance, traffic
from tests.snapshots import DAY, at

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


#: 2 times as much, and 100 messages a queue.
THRESHOLDS = Thresholds()
MAX_GAP = 60
#: Members c1, c2, …: consumed / produced (`?`: unknown) x queues, from-until in seconds (the hour) | who had most and
#: least.
_TRAFFIC = """
    200/200x1 100/100x1                               | c1 c2
    199/200x1 100/100x1                               | -
    200/199x1 100/100x1                               | -
    300/300x1 100/100x1 300/300x1                     | c3 c2
    7200/7200x2 3600/3600x1                           | -
    7200/7200x2 1800/1800x1                           | c1 c2
    600/600x1 600/600x6                               | -
    900/300x1 300/300x1                               | -
    600/600x1 100/600x1                               | -
    0/100x1 0/900x1                                   | -
    100/100x1 0/0x1                                   | c1 c2
    99/99x1 0/0x1                                     | -
    199/199x2 0/0x1                                   | -
    900/900x1                                         | -
    ?/900x1 100/100x1                                 | -
    900/?x1 100/100x1                                 | -
    ?/900x1 300/300x1 100/100x1                       | c2 c3
    900/?x1 300/300x1 100/100x1                       | c2 c3
    900/900x1 300/300x1 100/100x1,0-1800              | c1 c2
    900/900x1,60-3600 100/100x1 100/100x1             | c1 c2
    900/900x1,61-3600 100/100x1 100/100x1             | -
    900/900x1,0-3540 100/100x1 100/100x1              | c1 c2
    900/900x1,0-3539 100/100x1 100/100x1              | -
"""


def _known(text: str) -> int | None:
    return None if text == "?" else int(text)


def _member(number: int, text: str) -> Traffic:
    messages, _, time = text.partition(",")
    counts, _, queues = messages.partition("x")
    consumed, produced = map(_known, counts.split("/"))
    start, end = (float(second) for second in (time or "0-3600").split("-"))
    return Traffic(f"c{number}", consumed, produced, int(queues) * (end - start), start, end)


def _fleets() -> list[tuple[list[Traffic], str]]:
    lines = (line.split("|") for line in _TRAFFIC.strip().splitlines())
    return [([_member(*one) for one in enumerate(cell.split(), start=1)], found.strip()) for cell, found in lines]


def test_traffic_in_plain_python() -> None:
    assert unequal_traffic([], 2.0, 0, MAX_GAP) is None
    for members, by_hand in _fleets():
        found = unequal_traffic(members, THRESHOLDS.skew_ratio, THRESHOLDS.skew_messages_per_queue, MAX_GAP)
        assert (" ".join(member.client_id for member in found) if found else "-") == by_hand, members


def test_traffic_in_spark(spark: SparkSession) -> None:
    rows = [
        (
            "c",
            str(number),
            DAY,
            one.client_id,
            one.consumed,
            one.produced,
            one.queue_seconds,
            at(one.start),
            at(one.end),
        )
        for number, (members, _) in enumerate(_fleets())
        for one in members
    ]
    names = "cluster string, consumer_group string, step_start timestamp, client_id string, consumed long"
    frame = spark.createDataFrame(rows, f"{names}, produced long, queue_seconds double, start timestamp, end timestamp")
    found = traffic.unequal_traffic(frame, THRESHOLDS, timedelta(seconds=MAX_GAP)).collect()
    ids = {int(row.consumer_group): f"{row.most.client_id} {row.least.client_id}" for row in found}
    assert ids == {number: by_hand for number, (_, by_hand) in enumerate(_fleets()) if by_hand != "-"}


#: Group, topic, view, owners, seconds from and to, consumed, produced (`?`: unknown) of one queue in one interval.
_PROGRESS = """
    g1 t         *  c1    0   100  30 40
    g1 t         *  c1    0   100  5  6
    g1 u         *  c1    100 200  7  8
    g1 %RETRY%g1 *  c1    0   900  9  9
    g1 t         b1 c1    200 900  9  9
    g1 t         *  -     0   900  9  9
    g1 t         *  c2    200 300  0  ?
    g1 t         *  c2    300 400  1  1
    g2 t         *  c1    0   100  30 40
    g2 t         *  c1    100 200  ?  50
    g2 t         *  c2,c3 0   100  30 40
    g2 t         *  c3    0   100  30 40
    g2 t         *  c4,c4 0   100  30 40
"""
#: Group, member: consumed, produced, seconds of its queues, from and to.
_MEMBERS = """
    g1 c1 42 54 300 0   200
    g1 c2 1  ?  200 200 400
    g2 c1 ?  90 200 0   200
    g2 c2 ?  40 100 0   100
    g2 c3 ?  80 200 0   100
    g2 c4 ?  40 100 0   100
"""


def test_what_each_member_had(spark: SparkSession) -> None:
    rows = []
    for group, topic, view, owners, start, end, *messages in map(str.split, _PROGRESS.strip().splitlines()):
        connections = [(client_id, f"host:{port}") for port, client_id in enumerate(owners.split(",")) if owners != "-"]
        times = (at(int(start)), at(int(end)))
        rows.append(("c", group, DAY, topic, view, connections, *times, *map(_known, messages)))
    names = "cluster string, consumer_group string, step_start timestamp, topic string, membership_view string"
    owners_ = "owners array<struct<client_id: string, client_addr: string>>"
    times_ = "interval_start timestamp, interval_end timestamp, consumed long, produced long"
    found = traffic.member_traffic(spark.createDataFrame(rows, f"{names}, {owners_}, {times_}"))
    zero = DAY.replace(tzinfo=None)
    lines = {
        (row.consumer_group, row.client_id, row.consumed, row.produced, row.queue_seconds, *seconds)
        for row in found.collect()
        for seconds in [[(moment - zero).total_seconds() for moment in (row.start, row.end)]]
    }
    by_hand = (line.split() for line in _MEMBERS.strip().splitlines())
    assert lines == {(group, member, *map(_known, numbers)) for group, member, *numbers in by_hand}
