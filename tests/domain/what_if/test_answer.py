"""The capacity answer in numbers, of histories whose outcome can be computed on paper."""

from __future__ import annotations

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.capacity import GroupInStep, HeldBack, Limit
from spark_jobs.domain.what_if.answer import in_numbers
from tests.domain.what_if.histories import at, nothing, steps
from tests.domain.what_if.told import client_row, told_by

TWINS, TWO = ["c1", "c1"], ["c1", "c2"]


def told(history: list[AuditedStep], limit: Limit, messages: int, readable: int = 8, members: int = 2) -> str | None:
    held = HeldBack(limit, 4, messages, 1000, readable, members)
    return in_numbers(history[0], GroupInStep(members, readable, True, held_back=[held]), StrategySettings())


def twins(seconds: range = range(0, 601, 20)) -> list[AuditedStep]:
    """8 queues with 2.5 messages a second each; twins consume the first four, the others grow by 10 a second."""
    return steps(lambda _: TWINS, [at(2.5)] * 8, [at(2.5)] * 4 + [nothing] * 4, seconds)


def test_twins() -> None:
    # With ids of their own none waits.
    assert told(twins(), Limit.DUPLICATE_IDS, 6000) == (
        "With unique ids the highest backlog would have been about 0 instead of 6,000."
    )


def test_members_that_do_not_subscribe() -> None:
    assert told(twins(), Limit.SUBSCRIPTIONS, 6000) == (
        "With the same subscriptions the highest backlog would have been about 6,000 instead of 6,000."
    )


def test_as_many_members_as_give_the_busiest_one_less() -> None:
    # 10 a second come into each of four queues, of which 8 are taken: 8 a second more wait.
    history = steps(lambda _: TWO, [at(10)] * 4, [at(8)] * 4)
    # 2 more members: each has a queue, and can take 16 a second.
    assert told(history, Limit.MEMBERS, 4800, readable=4) == (
        "With 2 more members the highest backlog would have been about 0 instead of 4,800."
    )
    assert told(history, Limit.LISTENER, 4800, readable=4) == (
        "With 2 more members the highest backlog would have been about 0 instead of 4,800."
    )


def test_where_members_would_not_help_and_nothing_else_is_simulated_there_is_no_number() -> None:
    assert told(twins(), Limit.STUCK_CONSUMER, 6000) is None


def test_twice_the_queues_where_each_has_a_member() -> None:
    # Of 20 a second in each of two queues a member takes 16. Of four members each has a queue with 10.
    history = steps(lambda _: TWO, [at(20)] * 2, [at(16)] * 2)
    assert told(history, Limit.QUEUES, 4800, readable=2) == (
        "With twice the queues and members the highest backlog would have been about 0 instead of 4,800."
    )


def test_one_strategy_where_several_leave_queues_without_an_owner() -> None:
    # 10 a second come into each of four queues. By AVG c1 owns the first two, by AVG_BY_CIRCLE c2 the second and the
    # last: the third is nobody's. Under one strategy each has two.
    classes = {"c1": "AllocateMessageQueueAveragely", "c2": "AllocateMessageQueueAveragelyByCircle"}
    clients = [client_row(0, client_id, [], strategy_class=name) for client_id, name in classes.items()]
    history = steps(lambda _: TWO, [at(10)] * 4, [at(10), at(10), nothing, at(10)], clients=clients)
    assert told(history, Limit.ALLOCATION, 6000, readable=4) == (
        "With AVG for all members the highest backlog would have been about 0 instead of 6,000."
    )


def test_twice_the_threads_where_the_listener_is_the_limit_and_tells() -> None:
    # 20 a second come to each of two, which take 16 with one thread and 62.5 ms.
    clients = told_by(TWO, threads=1, response_ms=62.5)
    history = steps(lambda _: TWO, [at(10)] * 4, [at(8)] * 4, clients=clients)
    assert told(history, Limit.LISTENER_AND_QUEUES, 4800, readable=4) == (
        "With twice the consume threads the highest backlog would have been about 0 instead of 4,800."
    )
    silent = steps(lambda _: TWO, [at(10)] * 4, [at(8)] * 4)
    assert told(silent, Limit.LISTENER_AND_QUEUES, 4800, readable=4) == (
        "How large the backlog would have been otherwise is unknown: the members do not tell how fast they are."
    )


def test_one_hot_queue() -> None:
    history = steps(lambda _: ["c1"], [at(20), nothing, at(5), nothing], [at(5), nothing, at(5), nothing])
    # 20 of 25 messages. c1 takes 10 a second; that its queue 2 goes to the new one leaves 5 of them for queue 0.
    found = told(history, Limit.MEMBERS, 9000, readable=4, members=1)
    assert found == "With 1 more member the highest backlog would have been about 6,000 instead of 9,000."
    history = steps(lambda _: ["c1"], [at(20), at(5), nothing, nothing], [at(5), at(5), nothing, nothing])
    # Queues 0 and 1 stay c1's.
    assert told(history, Limit.MEMBERS, 9000, readable=4, members=1) == (
        "With 1 more member the highest backlog would have been about 9,000 instead of 9,000. One queue received 80 % "
        "of the messages."
    )


def test_of_two_queues_none_is_hot_that_has_half() -> None:
    history = steps(lambda _: TWO, [at(10)] * 2, [at(4)] * 2)
    assert told(history, Limit.MEMBERS, 7200, readable=2) == (
        "With 1 more member the highest backlog would have been about 7,200 instead of 7,200."
    )


def test_a_bound_is_called_one_and_rounded_up() -> None:
    # From 300 s on nobody is there, and 40 a second wait. c1 and c2 were seen to take 20, and may be faster.
    history = steps(
        lambda second: TWO if second < 300 else [],
        [at(10)] * 4,
        [lambda second: 10 * min(second, 300)] * 4,
    )
    assert told(history, Limit.NOBODY_ONLINE, 12000, readable=4, members=0) == (
        "With 1 member the highest backlog would have been at most 6,000 instead of 12,000."
    )
    history = steps(
        lambda second: TWO if second < 300 else [], [at(10.1)] * 4, [lambda second: round(10.1 * min(second, 300))] * 4
    )
    # 20.2 of 40.4 a second are left: 6,060.
    assert told(history, Limit.NOBODY_ONLINE, 12120, readable=4, members=0) == (
        "With 1 member the highest backlog would have been at most 6,100 instead of 12,120."
    )


def test_a_bound_above_what_happened_tells_nothing() -> None:
    # Nobody's queue 2 grows by 2 a second: 1,200. With a third member, as fast as c1 was seen to be, it is that one's
    # and grows by 1, but queue 1 is nobody's and grows by 1: the same, at most. With ids of their own only by 1.
    history = steps(lambda _: TWINS, [nothing, at(1), at(2)], [nothing, at(1), nothing])
    assert told(history, Limit.DUPLICATE_IDS, 1200, readable=3) == (
        "With unique ids the highest backlog would have been at most 600 instead of 1,200."
    )
    assert told(history, Limit.MEMBERS, 1200, readable=3) == (
        "How large the backlog would have been otherwise is unknown: the members do not tell how fast they are, and "
        "were never seen at their limit."
    )


def test_without_a_known_pace() -> None:
    history = steps(lambda _: [], [at(1)] * 4, [nothing] * 4)
    assert told(history, Limit.NOBODY_ONLINE, 2400, readable=4, members=0) == (
        "How large the backlog would have been otherwise is unknown: no member was seen to consume, or tells how fast "
        "it is."
    )


def test_what_waited_where_it_is_not_played() -> None:
    where = "most of it was in queues with an unknown offset or owner, or in retry topics."
    # The queues that are played hold 6,000.
    assert told(twins(), Limit.DUPLICATE_IDS, 12_001) == (
        f"How large the backlog would have been otherwise is unknown: {where}"
    )


def test_only_the_snapshots_of_the_step_count() -> None:
    # The last reading of the hour is that of 3,580 s; between it and the next one, 20 s later, nothing is known.
    for seconds in (range(0, 3600, 20), range(0, 4200, 20)):
        found = told(twins(seconds), Limit.DUPLICATE_IDS, 35_800)
        assert found == "With unique ids the highest backlog would have been about 0 instead of 35,800."


@pytest.mark.parametrize("limit", [Limit.UNKNOWN_MEMBERS, Limit.UNKNOWN_OWNERS])
def test_that_it_is_unknown_is_not_said_twice(limit: Limit) -> None:
    assert told(twins(), limit, 6000) is None


def test_of_what_is_unknown_one_sentence_is_enough() -> None:
    """The advice tells of the queues whose backlog is unknown, at all or at first."""
    history, held = steps(lambda _: [], [at(1)] * 4, [nothing] * 4), HeldBack(Limit.NOBODY_ONLINE, 4, 2400, 1000, 4, 0)
    for unknown, at_first in ((1, 0), (0, 1)):
        group = GroupInStep(0, 4, True, unknown, [held], at_first)
        assert in_numbers(history[0], group, StrategySettings()) is None


def test_what_was_not_held_back_is_not_played() -> None:
    held = HeldBack(Limit.ALLOCATION, 0, 0, 0, 8, 2)
    for none in ([], [held]):
        group = GroupInStep(2, 8, True, held_back=none)
        assert in_numbers(twins()[0], group, StrategySettings()) is None
