"""Members without a queue, over all topics that they subscribe."""

from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.rules.member_loads import IDLE_CONSUMER as RULE
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.findings import rule_hit
from tests.support.times import second_of


def _of(
    topic: str, start: int, end: int, ids: str, owners: str, *, view: str = "*", strategy: str = "AVG"
) -> RebalanceInterval:
    listed = members(ids, strategy)
    return interval(start, end, listed, allocation(listed, owners), topic=topic, view=view, seen_at=end)


def _idle(*intervals: RebalanceInterval) -> list[tuple[str | None, int, int, int | None, int | None]]:
    return [
        (hit.client_id, second_of(hit.start), second_of(hit.end), hit.member_count, hit.queue_count)
        for hit in RULE.hits(audited_step(*intervals))
    ]


def test_more_members_than_queues() -> None:
    (hit,) = RULE.hits(audited_step(_of("t", 0, 60, "c1 c2 c3", "0 1")))
    about: dict[str, Any] = {"client_id": "c3", "implicated": "c3", "member_count": 3, "queue_count": 2}
    assert hit == rule_hit(0, 60, "MORE_MEMBERS_THAN_QUEUES", **about, severity="WARN", minimum_seconds=150)


def test_who_finds_no_queue_because_ids_repeat_is_not_surplus() -> None:
    """Three consumers, one of which is listed twice, share three queues; a fourth one would be surplus."""
    (pushed_out,) = RULE.hits(audited_step(_of("t", 0, 60, "c1 c1 c2 c3", "0+1 - 2")))
    assert (pushed_out.client_id, pushed_out.cause) == ("c3", "PUSHED_OUT_BY_DUPLICATES")
    c3, c4 = RULE.hits(audited_step(_of("t", 0, 60, "c1 c1 c2 c3 c4", "0+1 - 2")))
    assert (c3.cause, c4.cause) == ("MORE_MEMBERS_THAN_QUEUES", "MORE_MEMBERS_THAN_QUEUES")


def test_left_out_by_the_strategy_where_there_are_queues_enough() -> None:
    (found,) = RULE.hits(audited_step(_of("t", 0, 60, "c1 c2", "0 0")))
    assert (found.client_id, found.cause) == ("c2", "LEFT_OUT_BY_STRATEGY")
    assert set(RULE.causes) == {"MORE_MEMBERS_THAN_QUEUES", "PUSHED_OUT_BY_DUPLICATES", "LEFT_OUT_BY_STRATEGY"}


def test_a_member_is_idle_for_as_long_as_it_is_in_all_topics() -> None:
    """c2 has a queue of u until 60, and is no member of u from 100 on."""
    idle = _idle(
        _of("t", 0, 120, "c1 c2", "0"),
        _of("u", 0, 60, "c1 c2", "0 1"),
        _of("u", 60, 100, "c1 c2", "0 0 0"),
        _of("u", 100, 120, "c1 c2-", "0 0 0"),
    )
    # Counts are those of the topic whose interval began last.
    assert idle == [("c2", 60, 100, 2, 3), ("c2", 100, 120, 2, 3)]


@pytest.mark.parametrize(
    ("intervals", "idle"),
    [
        pytest.param([_of("t", 0, 60, "c1 c2", "0"), _of("u", 0, 60, "c1 c2", "0 1")], [], id="a queue of one topic"),
        pytest.param(
            [_of("t", 0, 120, "c1 c2 c3", "0 0 2"), _of("u", 60, 100, "c1 c2", "0")],
            [("c2", 0, 60, 3, 3), ("c2", 60, 100, 2, 1), ("c2", 100, 120, 2, 1)],
            id="the topic that began last counts members and queues",
        ),
        pytest.param(
            [_of("t", 0, 60, "c1 c2 c3-", "0 0", strategy="CONFIG"), _of("u", 0, 60, "c1 c2", "0")],
            [("c2", 0, 60, 3, 2)],
            id="of topics that begin together the greatest: 3 members on 2 queues, 2 on 1",
        ),
        pytest.param(
            [_of("t", 0, 60, "c1 c2", "0"), _of("t", 80, 120, "c1 c2", "0")],
            [("c2", 0, 60, 2, 1), ("c2", 80, 120, 2, 1)],
            id="not while it is no member",
        ),
        # The second position of c1 has no queue in the replay of this synthetic allocation, the first has.
        pytest.param([_of("t", 0, 60, "c1 c1 c2-", "0")], [], id="duplicates are one, who does not subscribe is none"),
        pytest.param([_of("%RETRY%g", 0, 60, "c1 c2", "0")], [], id="retry topics"),
        pytest.param([_of("t", 0, 60, "c1 c2", "0", view="b")], [], id="views that disagree"),
    ],
)
def test_when_a_member_is_idle(intervals: list[RebalanceInterval], idle: list[tuple[str, int, int, int, int]]) -> None:
    assert _idle(*intervals) == idle
