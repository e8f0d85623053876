"""Cases played on histories whose outcome can be computed on paper."""

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.errors import StrategyError
from spark_jobs.what_if.cases import UNCHANGED_CASE, Case, Change
from spark_jobs.what_if.outcome import NO_BACKLOG_KNOWN, NO_PACE, CaseOutcome, Comparison, compare
from tests.support.what_if import nothing, rate, steps, twins

TWINS, TWO = ["c1", "c1"], ["c1", "c2"]


def compared(history: list[AuditedStep], *cases: Case) -> Comparison:
    found = compare(history, cases, StrategySettings())
    assert found is not None
    return found


def only(history: list[AuditedStep], case: Case) -> CaseOutcome:
    return compared(history, case).cases[0]


def test_twins_of_8_queues_and_20_messages_a_second() -> None:
    found = compared(twins(), UNCHANGED_CASE, Case("unique", unique_ids=True, speed={"c1": 30.0}))
    # 600 s × 2.5 × 4 queues nobody owned; as many came into the four that both consumed.
    assert found.recorded == CaseOutcome("really happened", 2, 4, 4, 0, 4, 0, 0, 6000, 6000, None, 6000)
    assert found.cases[0] == CaseOutcome("as it was", 2, 4, 4, 0, 4, 0, 0, 6000, 6000, None, 6000)
    assert found.cases[1] == CaseOutcome("unique", 2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0)
    assert found.error == pytest.approx(0, abs=1)


def test_a_third_member_with_an_id_of_its_own_takes_what_is_left_but_for_the_second_twins_share() -> None:
    # AVG of 8 over c1, c1, new: 0-2 twice, 3-5 nobody, 6-7 new.
    found = only(twins(), Case("+1", members=Change("+", 1)))
    assert found == CaseOutcome("+1", 3, 3, 3, 0, 3, 0, 0, 4500, 4500, None, 4500)


def test_a_member_slower_than_what_comes_falls_behind_by_the_difference() -> None:
    history = steps(lambda _: TWO, [rate(10)] * 2, [rate(10)] * 2)
    # 10 a second to each; c2 can take 4: 6 more wait each second.
    assert only(history, Case(speed={"c1": 30.0, "c2": 4.0})).highest == 3600
    # c1 alone: 20 a second and 15 taken.
    alone = only(history, Case(without=frozenset({"c2"}), speed={"c1": 15.0}))
    assert (alone.members, alone.busiest, alone.highest, alone.last) == (1, 2, 3000, 3000)


def test_the_backlog_of_the_first_sample_is_the_highest_if_it_only_falls() -> None:
    """600 messages wait, 10 a second come, and 20 are taken; a fast member has none left at the second sample."""
    history = steps(lambda _: ["c1"], [lambda second: 600 + 10 * second], [rate(20)], range(0, 61, 20))
    found = compared(history, UNCHANGED_CASE, Case(speed={"c1": 1000.0}))
    assert [(one.highest, one.last) for one in (found.recorded, *found.cases)] == [(600, 0), (600, 0), (600, 0)]


def test_more_members_than_queues_change_nothing() -> None:
    history = steps(lambda _: TWO, [rate(10)] * 2, [rate(4)] * 2)
    found = compared(history, UNCHANGED_CASE, Case("+5", members=Change("+", 5)))
    # 6 a second more wait in each of two queues.
    assert [one.highest for one in found.cases] == [7200, 7200]
    assert (found.cases[1].idle, found.cases[1].busiest, found.cases[1].unassigned_queues) == (5, 1, 0)
    assert not found.cases[1].at_most


def test_of_one_hot_queue_no_number_of_members_helps() -> None:
    history = steps(lambda _: ["c1"], [rate(20), nothing, nothing, nothing], [rate(5), nothing, nothing, nothing])
    found = compared(history, *(Case(str(count), members=Change("=", count)) for count in (1, 2, 4)))
    assert [one.highest for one in found.cases] == [9000, 9000, 9000]


def test_twice_as_many_queues_halve_what_comes_into_each() -> None:
    history = steps(lambda _: TWO, [rate(20), nothing], [rate(5), nothing])
    # Queue 0's messages go to 0 and 2: AVG of 4 gives 0-1 to c1 and 2-3 to c2, each with 10 a second and a pace of 5.
    found = only(history, Case(queues=Change("x", 2), speed={"c2": 5.0}))
    assert (found.highest, found.busiest) == (6000, 2)
    # Three queues are filled evenly, 6⅔ a second: c1 has 0-1, 13⅓ less 5, c2 has 2.
    assert only(history, Case(queues=Change("=", 3), speed={"c2": 30.0})).highest == 5000


def test_queues_that_were_never_read_stay_unknown_however_many_there_are() -> None:
    history = steps(lambda _: TWO, [rate(20)], [rate(5)], readable=2)
    # As above, but of queue 1, and so of 1 and 3, nothing is known.
    assert only(history, Case(queues=Change("x", 2), speed={"c2": 5.0})).highest == 6000
    # What goes to the only queue is not known, because that of queue 1 does.
    assert only(history, Case(queues=Change("=", 1), speed={"c2": 5.0})).highest is None


def test_a_rebalance_hands_queues_over() -> None:
    def members(second: int) -> list[str]:
        return TWO if second >= 300 else ["c1"]

    # c1 takes 5 of each queue's 10; from 300 s on both take all that comes.
    def taken(second: int) -> int:
        return 5 * min(second, 300) + 10 * max(second - 300, 0)

    found = compared(steps(members, [rate(10)] * 2, [taken] * 2), UNCHANGED_CASE, Case("=1", members=Change("=", 1)))
    assert (found.recorded.moves, found.recorded.rebalances, found.recorded.highest) == (1, 1, 3000)
    # c1 has shown 10 a second, with a backlog: alone, it falls behind by 10 a second all the time.
    assert (found.cases[1].moves, found.cases[1].rebalances, found.cases[1].highest) == (0, 0, 6000)


def test_what_was_seen_without_a_backlog_is_a_bound() -> None:
    history = steps(lambda _: TWO, [rate(10)] * 4, [rate(10)] * 4)
    # c1 did 20 a second and may do more: 40 came.
    found = only(history, Case(without=frozenset({"c2"})))
    assert (found.highest, found.at_most) == (12000, True)


@pytest.mark.parametrize("case", [UNCHANGED_CASE, Case(members=Change("+", 2))])
def test_without_messages_no_pace_is_known(case: Case) -> None:
    found = only(steps(lambda _: TWO, [nothing] * 4, [nothing] * 4), case)
    assert (found.unknown, found.highest, found.last, found.consumed_twice) == (NO_PACE, None, None, None)
    assert found.unassigned_queues == 0


def test_without_members_everything_waits() -> None:
    found = only(steps(lambda _: [], [rate(1)] * 4, [nothing] * 4), UNCHANGED_CASE)
    assert (found.members, found.unassigned_queues, found.highest) == (0, 4, 2400)


def test_over_a_gap_nothing_is_claimed_and_behind_it_the_recorded_backlog_counts() -> None:
    seconds = [*range(0, 201, 20), *range(400, 601, 20)]
    found = compared(steps(lambda _: TWO, [rate(10)] * 2, [rate(4)] * 2, seconds), Case(speed={"c1": 10.0, "c2": 10.0}))
    # At 400 s 2 × 6 × 400 wait; nothing more comes to wait, and nothing less.
    assert found.cases[0].highest == found.cases[0].last == 4800
    assert found.cases[0].curve is not None
    curve = dict(zip(found.times, found.cases[0].curve, strict=True))
    known = [moment for moment, messages in curve.items() if messages == messages]
    assert not [moment for moment in known if 200 < (moment - found.times[0]) / 1e6 < 400]


def test_while_nobody_saw_the_members_nothing_is_claimed() -> None:
    found = compared(steps(lambda _: TWO, [rate(10)] * 2, [rate(4)] * 2, seen=range(300)), UNCHANGED_CASE)
    assert found.cases[0].curve is not None
    known = np.array(found.times)[~np.isnan(found.cases[0].curve)]
    # The last snapshot, of 280 s, holds for 60 seconds.
    assert (known.max() - found.times[0]) / 1e6 == 340
    assert found.recorded.highest == found.recorded.last == 2 * 6 * 340


def test_a_queue_that_changes_hands_stands_still_as_long_as_it_did() -> None:
    def members(second: int) -> list[str]:
        return TWO if second >= 300 else ["c1"]

    # Queue 1 goes to c2 at 300 s and stands until 340 s, while 10 messages a second come.
    def taken(second: int) -> int:
        return 10 * min(second, 300) + 10 * max(second - 340, 0) - 10

    history = steps(members, [rate(10)] * 2, [rate(10), taken])
    assert only(history, Case(speed={"c1": 100.0, "c2": 100.0})).highest == pytest.approx(400, abs=20)


def test_a_member_that_stood_still_does_so_in_every_case() -> None:
    def taken(second: int) -> int:
        return 10 * min(second, 200) + 10 * max(second - 400, 0)

    # For 200 s nothing is taken of 10 a second.
    history = steps(lambda _: TWO, [rate(10)] * 2, [taken, rate(10)])
    assert only(history, Case(speed={"c1": 1000.0, "c2": 1000.0})).highest == 2000


def test_what_is_not_committed_yet_waits_too() -> None:
    history = steps(lambda _: ["c1"], [rate(10)] * 2, [lambda second: 10 * second - 30] * 2)
    assert only(history, Case(speed={"c1": 1000.0})).highest == 60


def test_offsets_of_twins_that_go_back_and_forth_bring_no_messages() -> None:
    def taken(second: int) -> int:
        return second * 5 // 2 - 200 * (second // 20 % 2)

    history = steps(lambda _: TWINS, [rate(2.5)] * 8, [taken] * 4 + [nothing] * 4)
    assert only(history, UNCHANGED_CASE).consumed_twice == pytest.approx(6000, rel=0.05)


def test_what_an_operator_brings_back_comes_in_again() -> None:
    history = steps(lambda _: ["c1"], [rate(10)], [lambda second: 10 * second - 2000 * (second >= 300)])
    # The samples at 280 s and 300 s show 1,800 less. c1 was seen to take 10 a second and no more.
    assert only(history, UNCHANGED_CASE).highest == pytest.approx(1800, abs=10)


def test_without_a_known_backlog_only_the_shares_are_compared() -> None:
    found = only(steps(lambda _: TWO, [rate(1)] * 4, [lambda _: -1000] * 4), Case(members=Change("+", 1)))
    assert (found.members, found.busiest, found.unknown) == (3, 2, NO_BACKLOG_KNOWN)


def test_a_strategy_without_its_settings_is_refused() -> None:
    with pytest.raises(StrategyError, match="MACHINE_ROOM cannot be replayed without its rooms"):
        only(twins(), Case(strategy="MACHINE_ROOM"))
