"""Why a rebalance happened and what it moved: plain Python and Spark say what was worked out by hand.

Members: `q!` does not subscribe the topic, `q/X` runs X, `q?` has expired if it is gone. Owners are listed per broker
and queue: `-` nobody, `p+q` both. The broker `old` has been seen before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, NamedTuple

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.moves import Moves, Situation, has_expired, moves, triggers
from spark_jobs.domain.timeline import IntervalMember
from spark_jobs.replay.moves import compared, held, with_before
from spark_jobs.replay.silences import expired

#: members before | their queues | members after | their queues | triggers | moved, preserved, least
_TABLE = """
    p q        | a p p q q        | p q       | a p p q q           |                                         | 0 4 0
    p          | a p p p p        | p q       | a p p q q           | MEMBER_JOINED q                         | 2 2 2
    p q r      | a p p p p q q q q r r r r | o p q r | a o o o p p p q q q r r r | MEMBER_JOINED o          | 6 6 3
    p q        | a p p q q        | p         | a p p p p           | MEMBER_LEFT q                           | 2 2 2
    p q?       | a p p q q        | p         | a p p p p           | MEMBER_EXPIRED q                        | 2 2 2
    p q? r     | a p q r          | p         | a p p p             | MEMBER_EXPIRED q; MEMBER_LEFT r         | 2 1 2
    p q?       | a p q            | p q       | a p q               |                                         | 0 2 0
    p h@1      | a p p h@1 h@1    | p h@2     | a p p h@2 h@2       | MEMBER_RESTARTED h@1, h@2               | 2 2 2
    h@1?       | a h@1            | h@2       | a h@2               | MEMBER_RESTARTED h@1, h@2               | 1 0 1
    h@1 h@2    | a h@1 h@2        | h@2       | a h@2 h@2           | MEMBER_LEFT h@1                         | 1 1 1
    h@1        | a h@1            | g@1       | a g@1               | MEMBER_LEFT h@1; MEMBER_JOINED g@1      | 1 0 1
    x          | a x              | y         | a y                 | MEMBER_LEFT x; MEMBER_JOINED y          | 1 0 1
    p          | a p p p p        | p p       | a p p - -           | MEMBER_JOINED p                         | 2 2 2
    p p        | a p p - -        | p         | a p p p p           | MEMBER_LEFT p                           | 2 2 2
    p q        | a p q            |           | a - -               | MEMBER_LEFT p, q                        | 2 0 2
               | a - -            | q p       | a p q               | MEMBER_JOINED p, q                      | 2 0 2
    p q        | a p p q q        | p q/X     | a p p+q - q         | STRATEGY_CHANGED q                      | 2 2 2
    p q        | a p p q q        | p q!      | a p p - -           | SUBSCRIPTION_CHANGED q                  | 2 2 2
    p q        | a p+q            | p q r     | a q+p               | MEMBER_JOINED r                         | 0 1 0
    p q        | a p q            | p q       | a p p q q           | QUEUES_ADDED a:2-3                      | 1 1 0
    p          | a p p            | p         | a p p p             | QUEUES_ADDED a:2                        | 0 2 0
    p q        | a p p q q        | p q       | a p q               | QUEUES_REMOVED a:2-3                    | 1 1 1
    p q        | a p p b q q      | p q       | a p q               | BROKER_GONE b                           | 1 1 1
    p q        | a p q            | p q       | a p p old q q       | BROKER_BACK old                         | 1 1 0
    p q        | a p q            | p q       | a p p n q q         | QUEUES_ADDED n:0-1                      | 1 1 0
    p          | a p              | p         | b p                 | BROKER_GONE a; QUEUES_ADDED b:0         | 0 0 0
    p q h@1    | a p q h@1 b p    | p r h@2   | a p r old h@2 h@2   | BROKER_GONE b; BROKER_BACK old; QUEUES_REMOVED a:2; MEMBER_RESTARTED h@1, h@2; MEMBER_LEFT q; MEMBER_JOINED r | 1 1 1
"""
SEEN = ["a", "old"]
T = datetime(2026, 3, 1, 10, tzinfo=UTC)


Owners = dict[tuple[str, int], frozenset[str]]


class Case(NamedTuple):
    before: Situation
    after: Situation
    expired: list[str]
    triggers: list[tuple[str, str]]
    moves: Moves


def _case(line: str) -> Case:
    was, held_before, now, held_after, why, counts = (cell.strip() for cell in line.split("|"))
    named = [tuple(one.split(" ", 1)) for one in why.split("; ") if one]
    gone = [one.rstrip("?") for one in was.split() if one.endswith("?")]
    moved = Moves(*map(int, counts.split()))
    return Case(_situation(was, held_before), _situation(now, held_after), gone, named, moved)  # type: ignore[arg-type]


def _situation(members: str, queues: str) -> Situation:
    owners: Owners = {}
    counts: dict[str, int] = {}
    broker = ""
    for word in queues.split():
        if word in ("a", "b", "n", "old"):
            broker = word
        else:
            number = counts.get(broker, 0)
            owners[broker, number] = frozenset(word.replace("-", "").split("+")) - {""}
            counts[broker] = number + 1
    return Situation(tuple(_members(members)), counts, owners)


def _members(text: str) -> Iterator[IntervalMember]:
    for word in text.split():
        client_id, _, strategy = word.rstrip("!?").partition("/")
        yield IntervalMember(client_id, strategy or "AVG", not word.endswith("!"))


CASES = [_case(line) for line in _TABLE.strip().splitlines()]


def test_plain_python() -> None:
    for case in CASES:
        assert triggers(case.before, case.after, SEEN, case.expired) == case.triggers, case
        assert moves(case.before, case.after) == case.moves, case


def test_no_allocation_with_the_same_shares_moves_less() -> None:
    """Every way to deal out the shares is tried: owners, queues that come and go, shares that nobody takes."""
    rng = random.Random(4)
    for _ in range(300):
        first, common, last = (rng.randint(0, limit) for limit in (2, 4, 2))
        before = {("a", n): frozenset(rng.choice(["", "p", "q", "r"])) for n in range(first + common)}
        queues = [("a", n) for n in range(first, first + common + last)]
        dealt = [frozenset(rng.choice(["", "p", "q", "s"])) for _ in queues]
        after = Situation((), {}, dict(zip(queues, dealt, strict=True)))
        least = min(_moved(before, dict(zip(queues, order, strict=True))) for order in permutations(dealt))
        assert moves(Situation((), {}, before), after).least == least


def _moved(before: Owners, after: Owners) -> int:
    return sum(before[queue] != owner for queue, owner in after.items() if queue in before)


def _row(number: int, situation: Situation) -> tuple[Any, ...]:
    ids = [member.client_id for member in situation.members]
    ownership = [
        (broker, queue, True, sorted((p for p, one in enumerate(ids) if one in owners), reverse=True))
        for (broker, queue), owners in situation.owners.items()
    ]
    return number, list(situation.members), list(situation.owners), [*ownership, ("w", 0, False, [])]


def test_spark(spark: SparkSession) -> None:
    schema = (
        "number int, members array<struct<client_id: string, strategy: string, subscribes: boolean>>, "
        "queues array<struct<broker_name: string, queue_id: int>>, "
        "ownership array<struct<broker_name: string, queue_id: int, readable: boolean, owners: array<int>>>"
    )
    before = spark.createDataFrame([_row(n, case.before) for n, case in enumerate(CASES)], schema)
    unknown = _row(-1, CASES[0].after)
    after = spark.createDataFrame([*(_row(n, case.after) for n, case in enumerate(CASES)), unknown], schema)
    gone = spark.createDataFrame(
        [(n, case.expired) for n, case in enumerate(CASES)], "number int, expired array<string>"
    )
    rows = (
        after.withColumn("held", held())
        .join(
            before.select("number", F.struct("members", "queues", held().alias("held")).alias("before")),
            "number",
            "left",
        )
        .join(gone, "number", "left")
        .withColumn("seen_brokers", F.lit(SEEN))
        .transform(compared)
        .collect()
    )
    found = {row.number: row for row in rows}
    for number, case in enumerate(CASES):
        row = found[number]
        assert [tuple(one) for one in row.triggers] == case.triggers, case
        assert Moves(row.queues_moved, row.queues_preserved, row.least_moves) == case.moves, case
        assert set(row.handed_over) == _handed_over(case), case
    assert _judgement(found[-1]) == (None,) * 5


def _handed_over(case: Case) -> set[str]:
    owners = case.after.owners
    moved = (queue for queue, was in case.before.owners.items() if was and queue in owners and owners[queue] != was)
    return {f"{broker}:{queue_id}" for broker, queue_id in moved}


def _judgement(row: Row) -> tuple[Any, ...]:
    return row.triggers, row.queues_moved, row.queues_preserved, row.least_moves, row.handed_over


#: Left, last answer, first silence, next answer (seconds), cadence 10 s: 90–160 s after the last answer.
SILENCES: list[tuple[tuple[int, int, int, int | None], bool]] = [
    ((200, 110, 120, None), True),
    ((200, 111, 121, None), False),  # too soon: it was asked to go
    ((200, 40, 50, None), True),
    ((200, 39, 49, None), False),  # a broker would have dropped it long before
    ((200, 100, 110, 200), True),
    ((200, 100, 110, 199), False),  # it answered in between
    ((200, 100, 200, None), False),  # nobody asked while it was there
]


def test_who_expired(spark: SparkSession) -> None:
    cadence = timedelta(seconds=10)
    rows: list[tuple[Any, ...]] = []
    for number, (seconds, is_expired) in enumerate(SILENCES):
        *known, answer = seconds
        left, last, first = (T + timedelta(seconds=one) for one in known)
        following = None if answer is None else T + timedelta(seconds=answer)
        assert has_expired(left, last, first, following, cadence) == is_expired, seconds
        rows.append((number, left, [("c", last, first, following)], ["c"] if is_expired else []))
    rows.append((99, T, None, []))
    schema = (
        "number int, start timestamp, silences array<struct<client_id: string, last_answer: timestamp, "
        "first_silence: timestamp, next_answer: timestamp>>, expected array<string>"
    )
    frame = spark.createDataFrame(rows, schema).withColumn("found", expired(cadence))
    assert frame.where("NOT found <=> expected").collect() == []


def test_what_an_interval_is_compared_with(spark: SparkSession) -> None:
    """The last replayed one of its own list or of all hosts; after a split, what all hosts last agreed on."""
    history = [
        # start, view, status, the broker with queues, the start of what it is compared with, brokers seen
        (0, "*", "REPLAYED", "x", None, ""),
        (10, "*", "REPLAYED", "a", 0, "x"),
        (20, "a", "REPLAYED", "b", 10, "a x"),
        (20, "b", "REPLAYED", "b", 10, "a x"),
        (30, "b", "REPLAYED", "a", 20, "a b x"),
        (40, "*", "REPLAYED", "a", 10, "a b x"),
        (50, "b", "REPLAYED", "a", 40, "a b x"),
        (60, "*", "UNOBSERVED", "u", 40, "a b x"),
        (70, "*", "NOT_REPLAYABLE", "n", 40, "a b x"),
        (80, "*", "REPLAYED", "a", 40, "a b x"),
    ]
    rows = [
        (T, "c", "g", "t", view, T + timedelta(seconds=start), T, [("m",)], [(broker,)], ["h"], status)
        for start, view, status, broker, *_ in history
    ]
    schema = (
        "step_start timestamp, cluster string, consumer_group string, topic string, membership_view string, "
        "start timestamp, seen_at timestamp, members array<struct<client_id: string>>, "
        "queues array<struct<broker_name: string>>, held array<string>, status string"
    )
    start, compared_with = (F.unix_seconds(at) - F.unix_seconds("step_start") for at in ("start", "before.start"))
    found = spark.createDataFrame(rows, schema).transform(with_before)
    got = {
        (row.begun, row.membership_view, row.compared, " ".join(sorted(row.seen_brokers)))
        for row in found.withColumns({"begun": start, "compared": compared_with}).collect()
    }
    assert got == {(start, view, compared, seen) for start, view, _, _, compared, seen in history}
