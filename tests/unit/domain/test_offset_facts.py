"""Queues whose offset stands while messages wait."""

from collections.abc import Sequence

import pytest

from spark_jobs.domain.kernel.offset_facts import unconsumed
from tests.support.kernel import SETTINGS, WINDOW
from tests.support.samples import QueueSample, offsets
from tests.support.times import second_of

TIME = (WINDOW.read_from, WINDOW.end)
#: Samples every 20 s from second 0 on: end offset, consumer offset; the store time is that of the last commit.
CASES: dict[str, tuple[Sequence[tuple[int, int] | None], Sequence[tuple[int, int, int, int, bool]]]] = {
    # Never committed: since the first sample after which messages come.
    "never": ([(100, 0), (100, 0), *((100 + n, 0) for n in range(1, 9))], [(20, 180, 3600, 8, False)]),
    "nothing comes": ([(100, 0)] * 10, []),
    "committed at last": ([(100 + n, 0) for n in range(8)] + [(108, 108), (109, 109)], [(0, 140, 160, 7, False)]),
    "too short": ([(100 + n, 0) for n in range(6)] + [(106, 106)] * 4, []),
    # Committed: since the last sample at which it moved, or nothing waited.
    "stands": ([(100, 90), (100, 95), *((100 + n, 95) for n in range(8))], [(20, 180, 3600, 12, True)]),
    "moves": ([(100 + n, 90 + n) for n in range(10)], []),
    "idle": ([(100, 100)] * 10, []),
    "idle, then stands": ([(100, 100)] * 3 + [(101, 100)] * 7, [(40, 180, 3600, 1, True)]),
    # A topic that is made anew, and a snapshot that does not show the queue.
    "anew": ([(100, 90)] * 5 + [(5, 0)] * 5, []),
    "missing": ([(100, 95)] * 4 + [None] + [(100, 95)] * 5, [(0, 180, 3600, 5, True)]),
    "gap": ([(100, 95)] * 3 + [None] * 4 + [(100, 95)] * 3, []),
}


def sample(offset: tuple[int, int] | None) -> list[QueueSample | None]:
    return [None if offset is None else (*offset, offset[1], 7 if offset[1] else 0)]


@pytest.mark.parametrize("case", CASES)
def test_since_when_and_how_many(case: str) -> None:
    seen, expected = CASES[case]
    samples = offsets([("b", 0)], {20 * n: sample(one) for n, one in enumerate(seen)})
    spans = [
        (second_of(one.start), second_of(one.seen_at), second_of(one.end), one.waiting, one.is_committed)
        for one in unconsumed(samples, TIME, SETTINGS.max_gap, 120)
    ]
    # A sample holds for a minute.
    assert spans == [(start, seen_at, min(end, seen_at + 60), *rest) for start, seen_at, end, *rest in expected]


def test_other_queues_that_commit() -> None:
    both: dict[float, Sequence[QueueSample | None]] = {
        20.0 * n: [(100 + n, 0, 0, 0), (50, 50, 50, 7)] for n in range(10)
    }
    (alone,) = unconsumed(offsets([("b", 0)], {at: row[:1] for at, row in both.items()}), TIME, SETTINGS.max_gap, 120)
    (beside,) = unconsumed(offsets([("b", 0), ("b", 1)], both), TIME, SETTINGS.max_gap, 120)
    assert (alone.others_commit, beside.others_commit) == (False, True)
