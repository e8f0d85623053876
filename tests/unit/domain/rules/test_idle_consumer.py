"""Members without a queue, over all topics that they subscribe."""

from __future__ import annotations

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.rules.idle_consumer import RULE
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.times import START, micros, second_of


def _of(
    topic: str, start: int, end: int, ids: str, owners: str, *, view: str = "*", strategy: str = "AVG"
) -> RebalanceInterval:
    listed = members(ids, strategy)
    return interval(start, end, listed, allocation(listed, owners), topic=topic, view=view, seen_at=end)


def _found(*intervals: RebalanceInterval) -> list[tuple[str | None, int, int, int | None, int | None]]:
    return [
        (hit.client_id, second_of(hit.start), second_of(hit.end), hit.member_count, hit.queue_count)
        for hit in RULE.hits(audited_step(*intervals))
    ]


def test_more_members_than_queues() -> None:
    assert list(RULE.hits(audited_step(_of("t", 0, 60, "c1 c2 c3", "0 1")))) == [
        RuleHit(
            START,
            micros(60),
            cause="MORE_MEMBERS_THAN_QUEUES",
            client_id="c3",
            implicated="c3",
            member_count=3,
            queue_count=2,
            severity="WARN",
            minimum_seconds=150,
        )
    ]


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


def test_idle_in_one_topic_is_not_idle() -> None:
    assert _found(_of("t", 0, 60, "c1 c2", "0"), _of("u", 0, 60, "c1 c2", "0 1")) == []


def test_idle_for_as_long_as_it_is_so_in_all_topics() -> None:
    """c2 has a queue of u until 60, and is no member of u from 100 on."""
    found = _found(
        _of("t", 0, 120, "c1 c2", "0"),
        _of("u", 0, 60, "c1 c2", "0 1"),
        _of("u", 60, 100, "c1 c2", "0 0 0"),
        _of("u", 100, 120, "c1 c2-", "0 0 0"),
    )
    # Counts are those of the topic whose interval began last.
    assert found == [("c2", 60, 100, 2, 3), ("c2", 100, 120, 2, 3)]


def test_the_topic_that_began_last_tells_how_many_members_and_queues_there_are() -> None:
    found = _found(_of("t", 0, 120, "c1 c2 c3", "0 0 2"), _of("u", 60, 100, "c1 c2", "0"))
    assert found == [("c2", 0, 60, 3, 3), ("c2", 60, 100, 2, 1), ("c2", 100, 120, 2, 1)]


def test_of_topics_that_begin_together_the_greatest_counts() -> None:
    """t has 3 members on 2 queues, u 2 on 1."""
    found = _found(_of("t", 0, 60, "c1 c2 c3-", "0 0", strategy="CONFIG"), _of("u", 0, 60, "c1 c2", "0"))
    assert found == [("c2", 0, 60, 3, 2)]


def test_time_in_which_it_is_no_member_is_none() -> None:
    found = _found(_of("t", 0, 60, "c1 c2", "0"), _of("t", 80, 120, "c1 c2", "0"))
    assert found == [("c2", 0, 60, 2, 1), ("c2", 80, 120, 2, 1)]


def test_twins_are_one_consumer_and_who_does_not_subscribe_is_none() -> None:
    """The second position of c1 has no queue in the replay of this made allocation, the first has."""
    assert _found(_of("t", 0, 60, "c1 c1 c2-", "0")) == []


def test_retry_topics_and_views_that_disagree_say_nothing() -> None:
    assert _found(_of("%RETRY%g", 0, 60, "c1 c2", "0"), _of("t", 0, 60, "c1 c2", "0", view="b")) == []
