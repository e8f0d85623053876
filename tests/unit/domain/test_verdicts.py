"""Verdicts on histories of offsets, worked out by hand from the rules; the oracle says the same.

The intervals are too short for a window: each is evaluated as a whole. `test_verdict_windows` has those that are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from spark_jobs.domain.kernel.progress import lag_qualities, topic_progress
from spark_jobs.domain.model.history import UNKNOWN
from spark_jobs.domain.model.window import SECOND
from tests.support.builders import replayed
from tests.support.kernel import settings
from tests.support.oracle.verdicts import Limits, Sample, spans
from tests.support.samples import offsets
from tests.support.times import START, micros

SETTINGS = settings(30)
WINDOW = SETTINGS.window(START)

#: samples every 10 s, broker/consumer offset (`?`: never committed, `-`: no sample) | allowed lag | verdict
_TABLE = """
    100/100 200/200                | 0  | OK
    100/105 200/210                | 0  | OK
    100/90 200/195                 | 5  | OK
    100/90 200/194                 | 5  | OK
    100/90 200/190                 | 5  | WARN
    100/90 200/180 300/270         | 5  | WARN
    100/90 110/100 120/110         | 5  | WARN
    100/90 200/180 300/281         | 5  | OK
    100/99 200/199                 | 0  | WARN
    100/99 200/199                 | 1  | OK
    100/68 200/168                 | 32 | OK
    100/67 200/167                 | 32 | WARN
    100/90 200/90 300/90           | 5  | STALL
    100/50 100/50 100/50           | 5  | STALL
    100/94 200/94                  | 5  | STALL
    100/95 200/95                  | 5  | OK
    100/100 200/100 300/100        | 5  | OK
    100/90 200/190 300/190 400/190 | 5  | STOP
    100/90 200/190 - - 300/190     | 5  | STOP
    100/90 200/190 300/190         | 5  | WARN
    100/97 200/197 300/197 400/197 | 5  | STOP
    100/90 190/190 300/190 400/190 | 5  | OK
    100/90 200/190 300/190 195/190 | 5  | OK
    100/90 200/50 300/50 400/50    | 5  | STOP
    100/90 200/50 300/60           | 5  | REWIND
    100/100 200/50 300/60          | 5  | REWIND
    100/90 200/50 300/290 400/280  | 5  | REWIND
    100/90 200/50 300/90           | 5  | WARN
    100/90 200/50 300/90 400/290   | 5  | OK
    100/100 100/50 100/96          | 5  | OK
    100/50                         | 5  | unknown
    100/? 200/?                    | 5  | unknown
    100/? 200/150                  | 5  | unknown
    100/90 200/? 300/90            | 5  | STALL
    100/? 200/90 300/90            | 5  | STALL
"""


class Case(NamedTuple):
    history: list[str]
    allowed_lag: int
    verdict: str | None


def _cases() -> Iterator[Case]:
    for line in _TABLE.strip().splitlines():
        history, allowed_lag, expected = (cell.strip() for cell in line.split("|"))
        yield Case(history.split(), int(allowed_lag), None if expected == "unknown" else expected)


CASES = list(_cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.history))
def test_a_short_interval_gets_one_verdict(case: Case) -> None:
    interval = replayed(0, 3600, {("b", 0): (0,)})
    samples = offsets([("b", 0)], {10 * number: [text] for number, text in enumerate(case.history)})
    (found,) = topic_progress([interval], samples, WINDOW, settings(30, allowed_lag=case.allowed_lag))
    assert found.verdicts == [case.verdict]


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.history))
def test_the_oracle_gives_the_same_verdicts(case: Case) -> None:
    samples = []
    for number, text in enumerate(case.history):
        end, _, consumed = text.partition("/")
        if text != "-":
            known = None if consumed == "?" else int(consumed)
            samples.append(Sample(10 * number, known, None if known is None else max(int(end) - known, 0)))
    limits = Limits(case.allowed_lag, window=300, window_samples=5, max_gap=90)
    assert spans(samples, 0, limits).worst == case.verdict


def test_every_queue_has_its_own_verdict_and_its_own_samples() -> None:
    """Of the queues of the interval, in its order: one that nobody read, and the columns in another order."""
    interval = replayed(0, 3600, {("a", 0): (0,), ("b", 0): (0,), ("b", 1): (0,)})
    columns = [("z", 0), ("b", 1), ("a", 0)]
    samples = offsets(columns, {0: ["-", "100/0", "10/10"], 10: ["-", "200/0", "20/20"], 20: ["9/9", "-", "30/30"]})
    (found,) = topic_progress([interval], samples, WINDOW, SETTINGS)
    assert found.verdicts == ["OK", None, "STALL"]
    assert found.readings.tolist() == [3, 0, 2]
    assert found.lag_last.tolist() == [0, UNKNOWN, 200]
    assert found.last_reading_at.tolist() == [micros(20), UNKNOWN, micros(10)]


def test_without_the_ends_of_queues_what_was_consumed_is_known_and_what_waits_is_not() -> None:
    """Committed offsets out of logs: they advance, stand, go back, and begin with 0. A pair of samples of which only
    one has the end is not compared: the topic may have been created again.
    """
    interval = replayed(0, 3600, {("b", 0): (0,), ("b", 1): (0,), ("b", 2): (0,)})
    rows = {0: ["?/0", "?/40", "?/5"], 10: ["?/7", "?/40", "9/9"], 20: ["?/4", "?/40", "?/3"]}
    (found,) = topic_progress([interval], offsets([("b", 0), ("b", 1), ("b", 2)], rows), WINDOW, SETTINGS)
    assert found.consumed.tolist() == [7, 0, UNKNOWN]
    assert (found.rewinds.tolist(), found.rewound.tolist()) == ([1, 0, UNKNOWN], [3, UNKNOWN, UNKNOWN])
    for unknown in (found.produced, found.lag_first, found.lag_last, found.age_ms):
        assert unknown.tolist() == [UNKNOWN] * 3
    assert found.verdicts == [None] * 3
    assert lag_qualities([found]).tolist() == ["END_UNKNOWN"] * 3


def test_what_came_in_before_the_interval_s_first_sample_is_its_own_and_its_verdict_is_not() -> None:
    """The sample before belongs to another interval: it moves no offset here."""
    first, second = replayed(0, 100, {("b", 0): (0,)}), replayed(100, 200, {("b", 0): (1,)})
    samples = offsets([("b", 0)], {90: ["100/0"], 100: ["300/150"], 110: ["350/150"]})
    before, found = topic_progress([first, second], samples, WINDOW, SETTINGS)
    assert (before.produced.tolist(), before.verdicts) == ([UNKNOWN], [None])
    assert (found.produced.tolist(), found.consumed.tolist()) == ([250], [150])
    assert (found.moved_at.tolist(), found.verdicts) == ([UNKNOWN], ["STALL"])


def test_a_sample_before_the_step_counts_for_a_gap_and_no_longer() -> None:
    interval = replayed(-500, 3600, {("b", 0): (0,)})
    assert SETTINGS.max_gap == 90 * SECOND
    for seconds, produced in ((-90, 50), (-91, UNKNOWN)):
        samples = offsets([("b", 0)], {seconds: ["100/100"], 5: ["150/150"]})
        (found,) = topic_progress([interval], samples, WINDOW, SETTINGS)
        assert (found.start, found.produced.tolist()) == (START, [produced])


#: Samples every 10 s | produced, consumed | rewinds, all of them, the greatest, when.
_OFFSETS = [
    (["100/100", "150/120", "200/180"], (100, 80), (0, UNKNOWN, UNKNOWN, UNKNOWN)),
    (["100/100", "150/90", "200/180", "200/150"], (100, 90), (2, 40, 30, 30)),
    (["100/90", "100/60", "100/80", "100/50"], (0, 20), (2, 60, 30, 30)),  # equal ones: the last
    (["100/90", "20/10", "30/20"], (10, 10), (0, UNKNOWN, UNKNOWN, UNKNOWN)),  # the topic was made anew
    (["100/90"], (UNKNOWN, UNKNOWN), (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)),
    (["100/?", "150/90", "150/95"], (50, 5), (0, UNKNOWN, UNKNOWN, UNKNOWN)),
    (["?/90", "150/95", "150/99"], (0, 4), (0, UNKNOWN, UNKNOWN, UNKNOWN)),
    (["100/90", "-", "150/80"], (50, UNKNOWN), (1, 10, 10, 20)),
]


@pytest.mark.parametrize(("history", "went", "back"), _OFFSETS, ids=str)
def test_what_went_in_and_out(history: list[str], went: tuple[int, int], back: tuple[int, int, int, int]) -> None:
    interval = replayed(0, 3600, {("b", 0): (0,)})
    samples = offsets([("b", 0)], {10 * number: [text] for number, text in enumerate(history)})
    stored_now = np.where(samples.last_timestamp == UNKNOWN, UNKNOWN, samples.times[:, None] // 1000)
    (found,) = topic_progress([interval], replace(samples, last_timestamp=stored_now), WINDOW, SETTINGS)
    assert (found.produced[0], found.consumed[0]) == went
    rewinds, rewound, greatest, seconds = back
    when = UNKNOWN if seconds == UNKNOWN else micros(seconds)
    expected = (rewinds, rewound, greatest, when)
    assert (found.rewinds[0], found.rewound[0], found.rewound_max[0], found.rewound_at[0]) == expected
