"""What was seen before a window, by hour."""

from __future__ import annotations

import numpy as np

from spark_jobs.domain.model.series import NEVER, Sightings
from spark_jobs.domain.model.window import HOUR, SECOND

MINUTE = 60 * SECOND


def sightings(*parts: tuple[float, float]) -> Sightings:
    """Parts from the first to the last minute in which it was seen."""
    return Sightings.of(np.array([int(minute * MINUTE) for part in parts for minute in part], dtype=np.int64))


def test_parts_of_an_hour_are_one() -> None:
    found = sightings((130, 140), (10, 20), (125, 126), (5, 15))
    assert (found.first // MINUTE).tolist() == [5, 125]
    assert (found.last // MINUTE).tolist() == [20, 140]


def hour(seen: Sightings, start: float, end: float) -> int | None:
    found = seen.last_hour(int(start * MINUTE), int(end * MINUTE))
    return None if found is None else found // HOUR


def test_the_last_hour_with_a_sighting_in_a_time() -> None:
    seen = sightings((10, 50), (130, 170))
    assert hour(seen, 0, 1000) == 2
    assert hour(seen, 0, 131) == 2  # 130, and later ones of that hour
    assert hour(seen, 0, 130) == 0  # the end is not in it
    assert hour(seen, 50, 130) == 0  # 50
    assert hour(seen, 51, 130) is None
    assert hour(seen, 170, 1000) == 2
    assert hour(seen, 171, 1000) is None
    assert hour(seen, -500, 10) is None
    assert hour(NEVER, 0, 1000) is None


def test_what_came_in_the_rest_of_the_hour_changes_nothing() -> None:
    for rest in ((11, 11), (11, 50)):
        assert hour(sightings((10, 10), rest), -1000, 12) == 0
