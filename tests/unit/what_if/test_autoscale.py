"""Members that are added and removed by the backlog, on paper."""

from typing import Any

import numpy as np
import pytest

from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.what_if.cases import Autoscaler, Case
from spark_jobs.what_if.outcome import CaseOutcome, Scaled, compare
from tests.support.what_if import Messages, rate, reported_by, steps


def scaled(came: Messages, **rule: Any) -> tuple[CaseOutcome, dict[int, float]]:
    """8 queues with so many messages each, one member that takes 20 a second, 660 s long; the backlog by the second."""
    clients = reported_by(["c1"], threads=2, response_ms=100)
    history = steps(
        lambda _: ["c1"], [came] * 8, [lambda second: min(came(second), round(2.5 * second))] * 8, clients=clients
    )
    usual = {"lag": 1000, "most": 8, "least": 1, "every": 60, "down_after": 120, "start": 60}
    times = {name: (usual | rule)[name] * SECOND for name in ("every", "down_after", "start")}
    scaler = Autoscaler(**(usual | rule | times))
    found = compare(history, [Case("scaled", scaler=scaler)], StrategySettings())
    assert found is not None
    (outcome,) = found.cases
    assert outcome.curve is not None
    seconds = ((np.array(found.times) - found.times[0]) // SECOND).tolist()
    return outcome, dict(zip(seconds, outcome.curve.tolist(), strict=True))


def hours(outcome: CaseOutcome) -> tuple[Scaled, Any]:
    """What the autoscaler did, and the member hours by themselves."""
    assert outcome.scaled is not None
    return outcome.scaled._replace(member_hours=0.0), outcome.scaled.member_hours


def test_members_are_asked_for_by_the_lag_of_each_and_take_their_time() -> None:
    # 40 a second come. At 60 s 1,200 wait: 2 members, of which the second is there at 120 s, when 2,400 wait: 3. Two
    # keep up, so 2,400 wait at 180 s, too, when the third is there. Three take 20 a second more: at 240 s 1,200 wait,
    # for which 2 are enough, but 3 were wanted within 120 s. At 300 s 600 wait, 1 is enough, and 2 the most that were
    # wanted since: they keep up. At 360 s it is 1, who gets behind again: 1,800 at 420 s (2, there at 480 s), 3,000 at
    # 480 s (3, there at 540 s).
    outcome, waiting = scaled(rate(5))
    seconds = (60, 120, 180, 240, 300, 360, 420, 480, 540)
    expected = [1200, 2400, 2400, 1200, 600, 600, 1800, 3000, 3000]
    assert [waiting[second] for second in seconds] == pytest.approx(expected, abs=1)
    assert outcome.scaled is not None
    assert outcome.scaled[:3] == (1, 3, 6)


def test_no_more_than_the_most_and_than_there_are_queues() -> None:
    assert scaled(rate(50), most=2)[0].scaled[:2] == (1, 2)  # type: ignore[index]
    assert scaled(rate(50), most=99)[0].scaled[:2] == (1, 8)  # type: ignore[index]


def test_fewer_only_when_no_more_were_wanted_for_a_time() -> None:
    def burst(second: int) -> int:
        return 250 * (second >= 20)

    # 2,000 messages at once: at 60 s 800 wait, for which one is enough.
    assert hours(scaled(burst)[0]) == (Scaled(1, 1, 0, 0.0), pytest.approx(660 / 3600))
    # For 200 each it is 4, there from 70 s on. At 120 s nothing waits any more, but 4 were wanted 60 s before: at 180 s
    # they leave, but for one.
    outcome, waiting = scaled(burst, lag=200, start=10)
    assert waiting[60] == pytest.approx(800, abs=20)
    assert waiting[120] == pytest.approx(0, abs=1)
    assert hours(outcome) == (Scaled(1, 4, 2, 0.0), pytest.approx((70 + 4 * 110 + 480) / 3600, rel=0.01))


def test_what_is_near_the_wanted_lag_is_left_alone() -> None:
    # 21.8 a second come: 1.8 more than are taken, so 1,080 wait at the end: within a tenth of 1,000.
    assert hours(scaled(rate(21.8 / 8))[0]) == (Scaled(1, 1, 0, 0.0), pytest.approx(660 / 3600))
