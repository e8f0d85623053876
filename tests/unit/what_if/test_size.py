"""The size that a group needs, on paper."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.what_if.size import Goals, Size, refuted, size
from tests.support.what_if import Messages, nothing, rate, reported_by, steps


def sized(history: Sequence[AuditedStep], load: float = 1.0, **goals: float) -> Size:
    found = size(history, Goals(**{"utilization": None} | goals), load, StrategySettings())  # type: ignore[arg-type]
    assert found is not None
    return found


def slow(came: Sequence[Messages], consumed: Sequence[Messages], members: Sequence[str] = ("c1",)) -> list[AuditedStep]:
    """Members with 2 threads and a listener that takes 100 ms: 20 messages a second each."""
    return steps(lambda _: members, came, consumed, clients=reported_by(members, threads=2, response_ms=100))


@pytest.mark.parametrize(
    ("load", "utilization", "members", "queues", "busiest"),
    [
        # 40 a second in 8 queues: 2 members would have all of their 20 to do, 3 have 3, 3 and 2 queues: 15 of 20.
        (1, 1.0, 2, 8, 1.0),
        (1, 0.75, 3, 8, 0.75),
        # 4 have 2 queues each: 10 of 20.
        (1, 0.7, 4, 8, 0.5),
        # Twice the messages: 8 have 10 of 20 each, 7 have 2 queues once: 20 of 20.
        (2, 0.7, 8, 8, 0.5),
        # Four times: each queue has 20. With 16 members and 16 queues each has 10.
        (4, 0.7, 16, 16, 0.5),
    ],
)
def test_the_fewest_members_suffice(load: float, utilization: float, members: int, queues: int, busiest: float) -> None:
    (need,) = sized(slow([rate(5)] * 8, [rate(2.5)] * 8), load, utilization=utilization).needs
    assert need.group is not None
    assert (need.group.members, need.group.queues, need.group.unassigned_queues) == (members, queues, 0)
    assert need.group.utilization == pytest.approx(busiest, rel=0.02)
    assert not need.group.by_pulls


def test_what_the_group_was_like() -> None:
    found = sized(slow([rate(5)] * 8, [rate(2.5)] * 8))
    assert (found.members, found.queues, found.needs) == (1, 8, [])
    assert found.peak == pytest.approx(40, rel=0.02)
    # 40 a second come, 20 are consumed: 600 s × 20.
    assert found.today.backlog == pytest.approx(12_000, rel=0.01)
    assert found.today.drained is None
    assert found.today.utilization == pytest.approx(2, rel=0.02)


def test_the_fewest_members_that_are_never_too_far_behind() -> None:
    # With 1 member 12,000 pile up, with 2 nothing.
    history = slow([rate(5)] * 8, [rate(2.5)] * 8)
    few, enough = sized(history, backlog=12_100).needs[0], sized(history, backlog=11_000).needs[0]
    assert few.group is not None
    assert enough.group is not None
    assert (few.group.members, enough.group.members) == (1, 2)


def test_the_fewest_members_that_drain_in_time() -> None:
    def burst(second: int) -> int:
        return 600 * (second >= 100)

    # 8 × 600 messages in 20 s. A member consumes 400 meanwhile, then 400 between two samples, until a tenth is left:
    # 1 has 4,400, 200 s. 2 have 4,000, 100 s. 3 have 3,600, of which two have 1,400 each, 80 s. 4 have 3,200, 40 s.
    history = slow([burst] * 8, [lambda second: min(round(2.5 * max(second - 100, 0)), 600)] * 8)
    for wanted, members in ((200, 1), (199, 2), (100, 2), (99, 3), (80, 3), (79, 4)):
        (need,) = sized(history, drained=wanted).needs
        assert need.group is not None
        assert need.group.members == members


def test_faults_are_not_sized_for() -> None:
    # Twins: half of the queues are nobody's. With ids of their own two have 10 of 20 a second each.
    found = sized(slow([rate(2.5)] * 8, [rate(2.5)] * 4 + [nothing] * 4, ["c1", "c1"]), backlog=100)
    assert found.today.backlog == pytest.approx(0, abs=1)
    assert found.today.utilization == pytest.approx(0.5, rel=0.02)


def test_no_member_reports_its_pace() -> None:
    (need,) = sized(steps(lambda _: ["c1"], [rate(5)] * 2, [rate(5)] * 2), utilization=0.7).needs
    assert need.group is None


def test_of_one_queue_that_gets_everything_more_members_have_nothing() -> None:
    # 25 a second into one queue, which is more than a member can do: it takes more queues.
    (need,) = sized(slow([rate(25), nothing, nothing], [rate(20), nothing, nothing]), utilization=0.7).needs
    assert need.group is not None
    assert (need.group.members, need.group.queues) == (4, 6)


def test_a_size_is_refuted_where_a_member_that_stopped_would_have_had_all_queues() -> None:
    def until_400(second: int) -> int:
        return round(1.25 * min(second, 400))

    # 10 a second for members of 20: one is enough. The one that stays stopped after 400 s: of 4 queues 1,000 are left,
    # of all 8 it would be 2,000.
    for taken, reason in (
        (until_400, "with that time's pauses, ids and subscriptions, a group of 1 falls behind"),
        (rate(1.25), None),
    ):
        history = slow([rate(1.25)] * 8, [taken] * 4 + [rate(1.25)] * 4, ["c1", "c2"])
        needed = sized(history, utilization=0.7)
        assert needed.needs[0].group is not None
        assert needed.needs[0].group.members == 1
        assert refuted(history, needed, 1.0, StrategySettings()) == reason
