"""Would more consumers have helped?"""

from __future__ import annotations

import pytest

from spark_jobs.domain import capacity

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
    - | 0  | - → -     | -  |                                        | UNKNOWN_BACKLOG | -   | - → -
"""
_HELPS = {"yes": True, "no": False, "-": None}


def _number(text: str) -> int | None:
    return None if text.strip() == "-" else int(text)


@pytest.mark.parametrize("line", _TABLE.strip().splitlines())
def test_what_limits_a_group(line: str) -> None:
    members, queues, backlog, rate, signs, limit, helps, shares = (cell.strip() for cell in line.split("|"))
    start, end = map(_number, backlog.split("→"))
    out_rate = _number(rate)
    group = capacity.GroupAtEnd(
        _number(members),
        int(queues),
        start,
        end,
        None if out_rate is None else float(out_rate),
        frozenset(signs.split()),
    )
    assert capacity.limit(group) == limit
    assert capacity.more_members_help(capacity.limit(group)) is _HELPS[helps]
    assert [group.busiest_share, group.share_after] == [_number(share) for share in shares.split("→")]


def test_only_unassigned_queues_are_told_apart_by_their_cause() -> None:
    assert capacity.sign("UNASSIGNED_QUEUE", "CONFIG_HOLE") == "UNASSIGNED_QUEUE/CONFIG_HOLE"
    assert capacity.sign("UNASSIGNED_QUEUE", None) == "UNASSIGNED_QUEUE"
    assert capacity.sign("SLOW_LISTENER", "SLOW_LISTENER") == "SLOW_LISTENER"


@pytest.mark.parametrize(
    ("group", "advice"),
    [
        ((3, 16, 0, 900), "Yes, up to 16 members: one more takes the busiest one from 6 to 4 queues."),
        ((5, 4, 0, 900), "No: 5 members share 4 queues, a further one would be idle. Add queues."),
        ((0, 16, 0, 900), "Yes: nobody is online. Start consumers, up to 16 of them have queues."),
        ((3, 16, 0, 0), "Nothing to help: 3 members keep up with 16 queues."),
        ((None, 0, None, None), "Unknown: the backlog of the group is not known."),
    ],
)
def test_the_words_name_the_numbers(group: tuple[int | None, int, int | None, int | None], advice: str) -> None:
    assert capacity.advice(capacity.GroupAtEnd(*group, out_rate=1.0)) == advice
