"""When something rose, by totals that are written out."""

import numpy as np
import pytest

from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.lagging_queues import rising_time


@pytest.mark.parametrize(
    ("grown", "limit", "expected"),
    [
        ([5, 5, 5, 5], 3, (0, 4)),
        ([0, 0, 0, 9, 9], 3, (3, 5)),
        ([1, 1, 1, 1, 1, 9, 9], 3, (5, 7)),
        ([9, 9, 0, 0, 0, 0, 0], 3, (0, 2)),
        # What falls little, and not for long, says nothing.
        ([2, 2, 9, 9, 2], 3, (0, 5)),
        # Nothing came at first.
        ([0, 2, 9, 9], 3, (1, 4)),
    ],
)
def test_the_time_of_a_rise(grown: list[int], limit: int, expected: tuple[int, int]) -> None:
    """A sample a minute; a fall of 10, or of five minutes, is none by chance."""
    at = np.arange(len(grown) + 1) * 60 * SECOND
    amount = np.append(0, np.cumsum(grown))
    time = rising_time(at, amount, (amount - np.arange(len(grown) + 1) * limit), 10, 300 * SECOND)
    assert time == tuple(place * 60 * SECOND for place in expected)


def test_one_sample_shows_no_rise() -> None:
    one = np.array([7])
    assert rising_time(one, one, one, 10, 300 * SECOND) is None
