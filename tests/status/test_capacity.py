"""Would more consumers have helped? Spark says what plain Python says, and both what the table says."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain import capacity as domain
from spark_jobs.status.group_status import with_capacity

#: members | queues | backlog at start → end | consumed a second | signs | limit | helps | share → with one more
_TABLE = """
    3 | 16 | 0 → -     | 10 |                                        | UNKNOWN_BACKLOG | -   | 6 → 4
    3 | 16 | 0 → 0     | 0  | SLOW_LISTENER                          | NO_BACKLOG      | -   | 6 → 4
    3 | 16 | 0 → 600   | 10 |                                        | NO_BACKLOG      | -   | 6 → 4
    3 | 16 | 0 → 601   | 10 |                                        | MEMBERS         | yes | 6 → 4
    3 | 16 | - → 601   | 10 |                                        | MEMBERS         | yes | 6 → 4
    3 | 16 | 0 → 1     | -  |                                        | MEMBERS         | yes | 6 → 4
    3 | 16 | 900 → 899 | 10 |                                        | NO_BACKLOG      | -   | 6 → 4
    0 | 16 | 0 → 900   | 0  | GROUP_OFFLINE                          | NOBODY_ONLINE   | yes | - → 16
    3 | 8  | 0 → 900   | 0  | DUPLICATE_CLIENT_ID SLOW_LISTENER      | DUPLICATE_IDS   | no  | 3 → 2
    2 | 4  | 0 → 900   | 0  | UNASSIGNED_QUEUE/MEMBER_NOT_SUBSCRIBED | SUBSCRIPTIONS   | no  | 2 → 2
    2 | 4  | 0 → 900   | 0  | UNASSIGNED_QUEUE/CONFIG_HOLE           | ALLOCATION      | no  | 2 → 2
    2 | 4  | 0 → 900   | 0  | UNASSIGNED_QUEUE/GROUP_OFFLINE         | MEMBERS         | yes | 2 → 2
    3 | 16 | 0 → 900   | 0  | CONSUMER_STALLED PRODUCER_SKEW         | STUCK_CONSUMER  | no  | 6 → 4
    3 | 16 | 0 → 900   | 0  | PRODUCER_SKEW                          | PRODUCER_SKEW   | no  | 6 → 4
    3 | 16 | 0 → 900   | 0  | ORDERLY_LOCK_MISSING FLOW_CONTROLLED   | ORDERLY_LOCKS   | no  | 6 → 4
    3 | 16 | 0 → 900   | 0  | FLOW_CONTROLLED                        | LISTENER        | no  | 6 → 4
    4 | 4  | 0 → 900   | 0  |                                        | QUEUES          | no  | 1 → 1
    5 | 4  | 0 → 900   | 0  | IDLE_CONSUMER                          | QUEUES          | no  | 1 → 1
    3 | 4  | 0 → 900   | 0  |                                        | MEMBERS         | yes | 2 → 1
"""
_HELPS = {"yes": True, "no": False, "-": None}


def _number(text: str) -> int | None:
    return None if text.strip() == "-" else int(text)


def _case(line: str) -> tuple[domain.GroupAtEnd, str, bool | None, list[int | None]]:
    members, queues, backlog, rate, signs, limit, helps, shares = (cell.strip() for cell in line.split("|"))
    start, end = map(_number, backlog.split("→"))
    out_rate = _number(rate)
    group = domain.GroupAtEnd(
        int(members),
        int(queues),
        start,
        end,
        None if out_rate is None else float(out_rate),
        frozenset(signs.split()),
    )
    return group, limit, _HELPS[helps], [_number(share) for share in shares.split("→")]


CASES = [_case(line) for line in _TABLE.strip().splitlines()]


def test_plain_python() -> None:
    for group, limit, helps, (share, after) in CASES:
        assert domain.limit(group) == limit, group
        assert domain.more_members_help(domain.limit(group)) == helps, group
        assert domain.busiest_share(group.queues, group.members) == share, group
        assert domain.busiest_share(group.queues, group.members + 1) == after, group


def test_spark(spark: SparkSession) -> None:
    schema = (
        "number int, members int, queues int, widest int, backlog_start bigint, backlog_end bigint, out_rate double, "
        "signs array<string>"
    )
    rows = [
        (number, g.members, g.queues, g.queues, g.backlog_start, g.backlog_end, g.out_rate, sorted(g.signs))
        for number, (g, *_) in enumerate(CASES)
    ]
    found = with_capacity(spark.createDataFrame(rows, schema)).orderBy("number").collect()
    for row, (group, limit, helps, shares) in zip(found, CASES, strict=True):
        assert (row["limit"], row["more_members_help"]) == (limit, helps), group
        assert [row["busiest_share"], row["share_after"]] == shares, group
        assert row["advice"] == domain.advice(group), group


def test_the_words_name_the_numbers() -> None:
    group = domain.GroupAtEnd(3, 16, 0, 900, 1.0)
    assert domain.advice(group) == "Yes, up to 16 members: one more takes the busiest one from 6 to 4 queues."
    surplus = domain.GroupAtEnd(5, 4, 0, 900, 1.0)
    assert domain.advice(surplus) == "No: 5 members share 4 queues, a further one would be idle. Add queues."


def test_a_group_without_any_reading_has_an_answer(spark: SparkSession) -> None:
    schema = "members int, queues int, widest int, backlog_start bigint, backlog_end bigint, out_rate double"
    groups = spark.createDataFrame([(None,) * 6], schema).withColumn("signs", F.lit(None).cast("array<string>"))
    (row,) = with_capacity(groups).collect()
    assert (row["limit"], row["more_members_help"], row["queues"]) == ("UNKNOWN_BACKLOG", None, None)
