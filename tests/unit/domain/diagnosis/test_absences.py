"""Groups whose consumers come at even distances, consume all that waits, and leave."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.diagnosis.absences import is_between_runs
from tests.support.builders import allocation, audited_step, interval
from tests.support.samples import offsets

#: Seconds at which consumers leave, until the end of an hour; each time they come back after nine minutes.
EVERY_TEN_MINUTES = (60, 660, 1260, 1860, 2460, 3060)


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
    empty = [interval(second, second + 540, (), allocation((), "-")) for second in left_at]
    waiting = {second: lags.get(second, 0) for second in left_at}
    rows = {second: [f"{1000 + lag}/1000"] for second, lag in waiting.items() if lag is not None}
    assert is_between_runs(audited_step(*empty, offsets={"t": offsets([("b", 0)], rows)})) is expected


def test_what_waits_in_a_retry_topic_is_no_backlog_of_a_run() -> None:
    empty = [interval(second, second + 540, (), allocation((), "-")) for second in EVERY_TEN_MINUTES]
    rows = {second: ["1000/0"] for second in EVERY_TEN_MINUTES}
    assert is_between_runs(audited_step(*empty, offsets={"%RETRY%g": offsets([("b", 0)], rows)}))
