"""Groups whose consumers come at even distances, consume all that waits, and leave."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.diagnosis.absences import is_between_runs
from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from tests.support.builders import allocation, audited_step, interval, members
from tests.support.samples import offsets

#: Seconds at which consumers leave, until the end of an hour; each time they come back after nine minutes.
EVERY_TEN_MINUTES = (60, 660, 1260, 1860, 2460, 3060)


def visits(left_at: Sequence[int]) -> list[RebalanceInterval]:
    """A consumer for a minute until each of these seconds, and no consumer for nine minutes."""
    listed, unassigned = members("c1"), allocation((), "-")
    online = [interval(second - 60, second, listed, allocation(listed, "0")) for second in left_at]
    return [*online, *(interval(second, second + 540, (), unassigned) for second in left_at)]


@pytest.mark.parametrize(
    ("left_at", "lags", "expected"),
    [
        (EVERY_TEN_MINUTES, {}, True),
        (EVERY_TEN_MINUTES, {1860: 32}, True),
        (EVERY_TEN_MINUTES, {1860: 33}, False),
        (EVERY_TEN_MINUTES, {60: None}, False),  # there is no sample until then
        ((660, 1260, 1860), {}, False),  # then they came no more
        ((60, 660, 1860, 2460, 3060), {}, False),
        ((60, 930, 1510, 2090, 2670, 3250), {}, False),  # 870 s is 1.5 × 580 s
        ((60, 929, 1510, 2090, 2670, 3250), {}, True),
        ((1200, 2400), {}, False),
    ],
    ids=str,
)
def test_consumers_come_at_even_distances(left_at: Sequence[int], lags: dict[int, int | None], expected: bool) -> None:
    waiting = {second: lags.get(second, 0) for second in left_at}
    rows = {second: [f"{1000 + lag}/1000"] for second, lag in waiting.items() if lag is not None}
    step = audited_step(*visits(left_at), offsets={"t": offsets([("b", 0)], rows)})
    assert is_between_runs(step) is expected


def test_an_absence_that_began_before_the_window_is_no_leaving() -> None:
    """No consumer was seen before 600 s, while 1,000 messages wait."""
    rows = {-300: ["1000/0"], **{second: ["1000/1000"] for second in EVERY_TEN_MINUTES[1:]}}
    before = interval(-300, 600, (), allocation((), "-"))
    step = audited_step(before, *visits(EVERY_TEN_MINUTES[1:]), offsets={"t": offsets([("b", 0)], rows)})
    assert is_between_runs(step)


def test_what_waits_in_a_retry_topic_is_no_backlog_of_a_run() -> None:
    rows = {second: ["1000/0"] for second in EVERY_TEN_MINUTES}
    assert is_between_runs(audited_step(*visits(EVERY_TEN_MINUTES), offsets={"%RETRY%g": offsets([("b", 0)], rows)}))
