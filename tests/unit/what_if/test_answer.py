"""The capacity answer in numbers, of histories whose outcome can be computed on paper."""

from collections.abc import Callable

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.capacity import GroupInStep, HeldBack, Limit
from spark_jobs.what_if.answer import advice_in_numbers
from tests.support.what_if import client_row, nothing, rate, reported_by, steps, twins

ONE, TWINS, TWO = ["c1"], ["c1", "c1"], ["c1", "c2"]
NUMBER = "With {} the highest backlog would have been {} instead of {}."
UNKNOWN = "How large the backlog would have been otherwise is unknown: {}."
History = Callable[[], list[AuditedStep]]


def answer(history: list[AuditedStep], limit: Limit, messages: int, readable: int, members: int) -> str | None:
    held_back = HeldBack(limit, 4, messages, 1000, readable, members)
    return advice_in_numbers(
        history[0], StrategySettings(), GroupInStep(members, readable, True, held_back=[held_back])
    )


def busy() -> list[AuditedStep]:
    """10 a second come into each of four queues, of which 8 are taken: 8 a second more wait."""
    return steps(lambda _: TWO, [rate(10)] * 4, [rate(8)] * 4)


def two_strategies() -> list[AuditedStep]:
    """10 a second come into each of four queues. By AVG c1 owns the first two, by AVG_BY_CIRCLE c2 the second and the
    last: the third is nobody's. Under one strategy each has two.
    """
    classes = {"c1": "AllocateMessageQueueAveragely", "c2": "AllocateMessageQueueAveragelyByCircle"}
    clients = [client_row(0, client_id, [], strategy_class=name) for client_id, name in classes.items()]
    return steps(lambda _: TWO, [rate(10)] * 4, [rate(10), rate(10), nothing, rate(10)], clients=clients)


def telling() -> list[AuditedStep]:
    """20 a second come to each of two, which take 16 with one thread and 62.5 ms."""
    return steps(lambda _: TWO, [rate(10)] * 4, [rate(8)] * 4, clients=reported_by(TWO, threads=1, response_ms=62.5))


def until_300(incoming: float) -> list[AuditedStep]:
    """From 300 s on nobody is there. c1 and c2 were seen to take half of what comes each, and may be faster."""
    taken = [lambda second: round(incoming * min(second, 300))] * 4
    return steps(lambda second: TWO if second < 300 else [], [rate(incoming)] * 4, taken)


def bounded() -> list[AuditedStep]:
    """Nobody's queue 2 grows by 2 a second: 1,200. With a third member, as fast as c1 was seen to be, it is that one's
    and grows by 1, but queue 1 is nobody's and grows by 1: the same, at most. With ids of their own only by 1.
    """
    return steps(lambda _: TWINS, [nothing, rate(1), rate(2)], [nothing, rate(1), nothing])


@pytest.mark.parametrize(
    ("history", "limit", "readable", "members", "answered"),
    [
        # With ids of their own none waits.
        (twins, Limit.DUPLICATE_IDS, 8, 2, ("unique ids", "about 0", "6,000")),
        (twins, Limit.SUBSCRIPTIONS, 8, 2, ("the same subscriptions", "about 6,000", "6,000")),
        # 2 more members: each has a queue, and can take 16 a second.
        (busy, Limit.LISTENER, 4, 2, ("2 more members", "about 0", "4,800")),
        # 20 a second in each of two queues, of which a member takes 16. Of four members each has a queue with 10.
        (lambda: steps(lambda _: TWO, [rate(20)] * 2, [rate(16)] * 2),
         *(Limit.QUEUES, 2, 2, ("twice the queues and members", "about 0", "4,800"))),
        (two_strategies, Limit.ALLOCATION, 4, 2, ("AVG for all members", "about 0", "6,000")),
        (telling, Limit.LISTENER_AND_QUEUES, 4, 2, ("twice the consume threads", "about 0", "4,800")),
        # 20 of 25 messages. c1 takes 10 a second; that its queue 2 goes to the new one leaves 5 of them for queue 0.
        (lambda: steps(lambda _: ONE, [rate(20), nothing, rate(5), nothing], [rate(5), nothing, rate(5), nothing]),
         *(Limit.LISTENER, 4, 1, ("1 more member", "about 6,000", "9,000"))),
        # Of two queues none is hot that has half.
        (lambda: steps(lambda _: TWO, [rate(10)] * 2, [rate(4)] * 2),
         *(Limit.LISTENER, 2, 2, ("1 more member", "about 7,200", "7,200"))),
        (bounded, Limit.DUPLICATE_IDS, 3, 2, ("unique ids", "at most 600", "1,200")),
    ],
)  # fmt: skip
def test_what_would_have_waited(
    history: History, limit: Limit, readable: int, members: int, answered: tuple[str, str, str]
) -> None:
    messages = int(answered[2].replace(",", ""))
    assert answer(history(), limit, messages, readable, members) == NUMBER.format(*answered)


@pytest.mark.parametrize(
    ("incoming", "messages", "with_one"),
    [(10, 12_000, "at most 6,000 instead of 12,000"), (10.1, 12_120, "at most 6,100 instead of 12,120")],
)
def test_one_member_for_each_queue_is_played_too(incoming: float, messages: int, with_one: str) -> None:
    """A bound is called one and rounded up: 20 of 40 a second wait for 300 s; 20.2 of 40.4 are 6,060. Four members have
    a queue each, and take more than comes there.
    """
    assert answer(until_300(incoming), Limit.NO_MEMBERS, messages, 4, 0) == (
        f"With 1 member the highest backlog would have been {with_one}. With 4 members it would have been about 0."
    )


def test_one_hot_queue_is_named() -> None:
    history = steps(lambda _: ONE, [rate(20), rate(5), nothing, nothing], [rate(5), rate(5), nothing, nothing])
    # Queues 0 and 1 stay c1's, which takes 10 a second; of four members each has one.
    assert answer(history, Limit.LISTENER, 9000, 4, 1) == (
        "With 1 more member the highest backlog would have been about 9,000 instead of 9,000. With 3 more members it "
        "would have been about 6,000. One queue received 80 % of the messages."
    )


@pytest.mark.parametrize(
    ("history", "limit", "messages", "readable", "members", "why"),
    [
        (busy, Limit.LISTENER_AND_QUEUES, 4800, 4, 2, "the members do not report how fast they are"),
        # A bound above what happened tells nothing.
        (*(bounded, Limit.LISTENER, 1200, 3, 2),
         "the members do not report how fast they are, and were never seen at their limit"),
        (*(lambda: steps(lambda _: [], [rate(1)] * 4, [nothing] * 4), Limit.NO_MEMBERS, 2400, 4, 0),
         "no member was seen to consume, or reports how fast it is"),
        # The queues that are played hold 6,000.
        (*(twins, Limit.DUPLICATE_IDS, 12_001, 8, 2),
         "most of it was in queues with an unknown offset or owner, or in retry topics"),
    ],
)  # fmt: skip
def test_unknown_says_why(history: History, limit: Limit, messages: int, readable: int, members: int, why: str) -> None:
    assert answer(history(), limit, messages, readable, members) == UNKNOWN.format(why)


@pytest.mark.parametrize("limit", [Limit.STUCK_CONSUMER, Limit.UNKNOWN_MEMBERS, Limit.UNKNOWN_OWNERS])
def test_no_number_if_nothing_is_simulated_or_the_advice_calls_it_unknown(limit: Limit) -> None:
    assert answer(twins(), limit, 6000, 8, 2) is None


def test_only_the_snapshots_of_the_step_count() -> None:
    # The last sample of the hour is that of 3,580 s; between it and the next one, 20 s later, nothing is known.
    for seconds in (range(0, 3600, 20), range(0, 4200, 20)):
        found = answer(twins(seconds), Limit.DUPLICATE_IDS, 35_800, 8, 2)
        assert found == NUMBER.format("unique ids", "about 0", "35,800")


def test_of_what_is_unknown_one_sentence_is_enough() -> None:
    """The advice tells of the queues whose backlog is unknown, at all or at first."""
    history, held = (
        steps(lambda _: [], [rate(1)] * 4, [nothing] * 4),
        HeldBack(Limit.NO_MEMBERS, 4, 2400, 1000, 4, 0),
    )
    for unknown, at_first in ((1, 0), (0, 1)):
        group = GroupInStep(0, 4, True, unknown, [held], at_first)
        assert advice_in_numbers(history[0], StrategySettings(), group) is None


def test_what_was_not_held_back_is_not_played() -> None:
    held = HeldBack(Limit.ALLOCATION, 0, 0, 0, 8, 2)
    for none in ([], [held]):
        group = GroupInStep(2, 8, True, held_back=none)
        assert advice_in_numbers(twins()[0], StrategySettings(), group) is None
