"""Snapshots of one key become spans of its states, and what was seen before a window is known by hour: by hand."""

import numpy as np
import pytest

from spark_jobs.domain.model.series import NO_SIGHTINGS, Sightings
from spark_jobs.domain.model.window import HOUR, SECOND, StepWindow
from tests.support.kernel import series_of

#: Seconds: the step is [100, 200); it is replayed from 60 on and reads from 30 on.
WINDOW = StepWindow(30 * SECOND, 60 * SECOND, 100 * SECOND, 200 * SECOND)
GAP = 30 * SECOND


def spans(snapshots: str, max_gap: int | None = GAP) -> str:
    """`60a 80a` → `60-110a@80`: from, until, state, last seen."""
    series = series_of([(int(snapshot[:-1]) * SECOND, snapshot[-1]) for snapshot in snapshots.split()])
    found = series.spans(WINDOW, max_gap)
    return " ".join(
        f"{span.start // SECOND}-{span.end // SECOND}{span.state}@{span.seen_at // SECOND}" for span in found
    )


@pytest.mark.parametrize(
    ("snapshots", "expected"),
    [
        ("", ""),
        ("110a 120a 130b 140b", "110-130a@120 130-170b@140"),
        # A state holds for the gap, to the moment; a snapshot at that moment goes on with it.
        ("110a 140a", "110-170a@140"),
        ("110a 141a", "110-140a@110 141-171a@141"),
        # What began before the window is clipped; what is over when it begins is no span.
        ("40a 70a", "60-100a@70"),
        ("30a", ""),
        ("30a 110a", "110-140a@110"),
        ("31a 110a", "60-61a@31 110-140a@110"),
        # Snapshots outside the window say nothing: not before it, not at its end.
        ("29a 200b", ""),
        ("29a 59a 59b 199a 200b", "60-89b@59 199-200a@199"),
        # There and back are three spans.
        ("110a 120b 130a", "110-120a@110 120-130b@120 130-160a@130"),
    ],
)
def test_a_state_holds_until_the_next_one_or_a_gap(snapshots: str, expected: str) -> None:
    assert spans(snapshots) == expected


def test_without_a_gap_a_state_holds_to_the_end_of_the_step() -> None:
    assert spans("40a 150b", max_gap=None) == "60-150a@40 150-200b@150"


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
    assert hour(NO_SIGHTINGS, 0, 1000) is None


def test_what_came_in_the_rest_of_the_hour_changes_nothing() -> None:
    for rest in ((11, 11), (11, 50)):
        assert hour(sightings((10, 10), rest), -1000, 12) == 0


def test_stretches_of_equal_states_inside_a_time() -> None:
    series = series_of([(0, "a"), (10, "a"), (20, "b"), (30, "a"), (100, "a")])
    assert series.runs(10, 31) == [(10, 20, 10, "a"), (20, 30, 20, "b"), (30, 31, 30, "a")]
    assert series.runs(30, 101) == [(30, 101, 100, "a")]
    assert series.runs(30, 101, 60) == [(30, 90, 30, "a"), (100, 101, 100, "a")]
    # A time that ends before it begins has none.
    assert series.runs(31, 100) == series.runs(200, 300) == series.runs(101, 30) == []
