"""Known paces of members, and times in which they stood still."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.what_if.pace import Members, Pace, StalledTime, hand_over_pause, members_of, uncommitted_seconds
from spark_jobs.what_if.recorded import Recorded, recorded
from tests.support.times import HOUR
from tests.support.what_if import nothing, rate, steps

TWO = ["c1", "c2"]


def of(history: Sequence[AuditedStep]) -> Recorded:
    found = recorded(history)
    assert found is not None
    return found


def test_a_member_with_a_backlog_has_reached_its_pace_and_others_may_be_faster() -> None:
    found = members_of(of(steps(lambda _: TWO, [rate(10)] * 2, [rate(10), rate(4)])))
    assert found.paces == {"c1": Pace(10, False), "c2": Pace(4, True)}
    assert found.stalled_times == []


def test_the_highest_rate_over_a_minute_counts() -> None:
    # c1 takes nothing, then 20 a second for a minute, then 5.
    def taken(second: int) -> int:
        return 20 * min(max(second - 200, 0), 60) + 5 * max(second - 260, 0)

    assert members_of(of(steps(lambda _: ["c1"], [rate(10)], [taken]))).paces == {"c1": Pace(20, True)}


def test_a_member_that_takes_nothing_while_messages_come_stood_still() -> None:
    def taken(second: int) -> int:
        return 10 * min(second, 200) + 10 * max(second - 400, 0)

    found = members_of(of(steps(lambda _: TWO, [rate(10)] * 2, [taken, rate(10)])))
    start = to_micros(HOUR.start)
    assert found.stalled_times == [StalledTime("c1", start + 200 * SECOND, start + 400 * SECOND)]


def test_a_pause_no_longer_than_a_gap_is_none() -> None:
    def taken(second: int) -> int:
        return 10 * min(second, 200) + 10 * max(second - 260, 0)

    assert members_of(of(steps(lambda _: ["c1"], [rate(10)], [taken]))).stalled_times == []


def test_the_usual_pace_is_the_median_of_those_that_were_reached_if_any_was() -> None:
    reached = {name: Pace(rate, True) for name, rate in (("a", 10.0), ("b", 20.0), ("c", 90.0))}
    assert Members({"d": Pace(500.0, False), **reached}).usual == Pace(20.0, True)
    assert Members({"d": Pace(500.0, False)}).usual == Pace(500.0, False)
    assert Members().usual is None


def test_what_is_not_committed_yet_is_no_backlog() -> None:
    # 30 messages wait, 10 a second come in: 3 seconds.
    behind = steps(lambda _: ["c1"], [rate(10)] * 2, [lambda second: 10 * second - 30] * 2)
    assert uncommitted_seconds(of(behind).course) == pytest.approx(3)
    assert uncommitted_seconds(of(steps(lambda _: ["c1"], [rate(10)], [rate(4)])).course) == 0
    assert uncommitted_seconds(of(steps(lambda _: ["c1"], [nothing], [nothing])).course) == 0


def test_a_queue_that_changed_hands_stood_still_until_it_moved() -> None:
    def members(second: int) -> list[str]:
        return TWO if second >= 300 else ["c1"]

    # Queue 1 goes to c2 at 300 s, and stands until 340 s; the sample at 360 s shows it moved.
    def taken(second: int) -> int:
        return 10 * min(second, 300) + 10 * max(second - 340, 0) - 10

    assert hand_over_pause(steps(members, [rate(10)] * 2, [rate(10), taken])) == 40 * SECOND
    assert hand_over_pause(steps(lambda _: TWO, [rate(10)] * 2, [rate(10)] * 2)) == 0
