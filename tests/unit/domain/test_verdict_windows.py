"""Verdicts of a sliding window, worked out by hand from the rules; the oracle says the same.

Samples every 10 s; a window spans 40 s and has three samples, what is further apart than 30 s is a gap, and a lag of
5 messages is allowed. The interval begins 100 s before the step and ends 200 s after its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from spark_jobs.domain.kernel.progress import topic_progress
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.support.builders import replayed
from tests.support.oracle.verdicts import Limits, Sample, spans
from tests.support.samples import offsets
from tests.support.tables import cells
from tests.support.times import START, micros

#: what | the first sample's second | next to write/next to consume (`?`: never committed, `-`: no sample, `xN`: the
#: sample N times) | worst verdict | spans: verdict, its first and last second
_TABLE = """
it never moved                     | 0   | 9/0x6                              | STALL | STALL 0-80
nothing to do, then it stands      | 0   | 5/0x3 9/0x5                        | STALL | STALL 20-100
… for less than a window           | 0   | 5/0x3 9/0x4                        | OK    |
it moves, and stands               | 0   | 9/1 9/2 9/3 15/3x5                 | STOP  | STOP 20-100
… until it moves                   | 0   | 9/1 9/2 9/3 15/3x5 15/9x3          | STOP  | STOP 20-80
… and stands again                 | 0   | 9/1 9/2 9/3 15/3x5 15/9x6          | STOP  | STOP 20-80, STOP 80-160
it stands longer than a window     | 0   | 9/1 9/2 9/3 15/3x9                 | STOP  | STOP 20-140
all is done, it stands             | 0   | 5/5 6/6 7/7 20/7x8                 | STOP  | STOP 20-130
… for a window                     | 0   | 5/5 6/6 7/7 20/7x4                 | OK    |
all is done, nothing comes         | 0   | 5/5 6/6 7/7x8 20/7x5               | STOP  | STOP 90-170
it falls behind                    | 0   | 9/1 18/2 27/3 36/4 45/5 54/6       | WARN  | WARN 0-80
… but for once | 0 | 9/1 18/2 27/3 36/4 45/5 50/40 60/41 70/42 80/43 90/44 | WARN | WARN 0-50, WARN 50-120
nothing to do, it falls behind     | 0   | 5/1x3 18/2 27/3 36/4 45/5 54/6     | WARN  | WARN 20-100
it goes back, and recovers         | 0   | 20/20x5 30/10 40/30 50/50          | REWIND |
it goes back, and stands           | 0   | 20/20x5 30/10x7                    | STOP  | STOP 50-140
it went back before it was evaluated  | 0   | 30/20 30/10 30/14 30/19 30/21x2    | OK    |
unknown now and then               | 0   | 9/0x2 9/? 9/0 9/? 9/0              | STALL | STALL 0-80
not committed at first             | 0   | 9/? 9/? 9/1x5                      | STALL | STALL 20-90
nothing is known                   | 0   | 9/?x6                              | none  |
one sample                        | 0   | 9/0                                | none  |
the samples are too few           | 0   | 9/0x3                              | STALL | STALL 0-50
a gap ends it                      | 0   | 9/0x6 - - - 9/3x2                  | STALL | STALL 0-80
no gap yet                         | 0   | 9/0x6 - - 9/0x2                    | STALL | STALL 0-120
after a gap all begins anew        | 0   | 9/1 9/2x5 - - - 9/2x5              | STOP  | STOP 10-80, STALL 90-160
no window reaches over a gap       | 0   | 4/0x6 - - - 9/0x4                  | OK    |
before the step, too               | -60 | 9/0x10                             | STALL | STALL -60-60
it moved before the step           | -60 | 9/1 9/2x6                          | STOP  | STOP -50-30
it is over when the step begins    | -50 | 9/0x5 9/9x3                        | OK    |
it gets on since the step begins   | -50 | 9/0x5 9/1 9/2 9/3                  | OK    |
known before the step only         | -50 | 9/0x3 9/?x6                        | none  |
it is over just then               | -40 | 9/0x5 9/9x3                        | STALL | STALL -40-10
since the interval began           | -80 | 9/0x10                             | STALL | STALL -100-40
"""
SETTINGS = AuditSettings(
    step=200 * SECOND,
    cadence=10 * SECOND,
    max_gap=30 * SECOND,
    thresholds=Thresholds(
        allowed_lag=5, verdict_window_seconds=40, verdict_window_readings=3, persistent_after_seconds=70
    ),
)
WINDOW = SETTINGS.window(START)


class Case(NamedTuple):
    what: str
    samples: dict[int, str]
    worst: str | None
    spans: list[tuple[str, int, int]]


def _cases() -> Iterator[Case]:
    for what, first, history, worst, told in cells(_TABLE):
        runs = (cell.partition("x") for cell in history.split())
        course = [text for text, _, times in runs for _ in range(int(times or 1))]
        samples = {int(first) + 10 * number: text for number, text in enumerate(course)}
        spans = [_span(text) for text in told.split(",") if text]
        yield Case(what, samples, None if worst == "none" else worst, spans)


def _span(text: str) -> tuple[str, int, int]:
    verdict, time = text.split()
    start, end = time.rsplit("-", 1)
    return verdict, int(start), int(end)


CASES = list(_cases())
INTERVAL = replayed(-100, 200, {("b", 0): (0,)})


def read(case: Case) -> OffsetSamples:
    return offsets([("b", 0)], {second: [text] for second, text in case.samples.items()})


def seconds(micros: int) -> float:
    return (micros - START) / SECOND


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_verdicts_and_their_spans(case: Case) -> None:
    (found,) = topic_progress([INTERVAL], read(case), WINDOW, SETTINGS)
    assert found.verdicts == [case.worst]
    assert [(span.verdict, seconds(span.start), seconds(span.end)) for span in found.spans] == case.spans


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_the_oracle_gives_the_same_spans(case: Case) -> None:
    """It says since when, and knows nothing of the time before the first sample."""
    samples = []
    for second, text in case.samples.items():
        end, _, consumed = text.partition("/")
        if text != "-":
            known = None if consumed == "?" else int(consumed)
            samples.append(Sample(second * SECOND, known, None if known is None else int(end) - known))
    found = spans(samples, 0, Limits(5, window=40 * SECOND, window_samples=3, max_gap=30 * SECOND))
    first = min(case.samples)
    assert found.worst == case.worst
    assert sorted({since // SECOND for since, _ in found.stuck}) == [max(start, first) for _, start, _ in case.spans]


@pytest.mark.parametrize(("samples", "worst"), [(5, "STALL"), (6, "OK")])
def test_a_window_has_so_many_samples_whatever_they_span(samples: int, worst: str) -> None:
    """Five samples span 40 s; of six, one had an allowed lag."""
    thresholds = SETTINGS.thresholds.model_copy(update={"verdict_window_readings": samples})
    settings = AuditSettings(SETTINGS.step, SETTINGS.cadence, SETTINGS.max_gap, thresholds)
    read = offsets([("b", 0)], {10 * number: ["5/0" if number < 3 else "9/0"] for number in range(8)})
    (found,) = topic_progress([INTERVAL], read, WINDOW, settings)
    assert found.verdicts == [worst]


def test_another_owner_s_samples_are_in_no_window() -> None:
    """It stood for 60 s under the first owner; the second has not had it for long enough to say."""
    first, second = replayed(-100, 60, {("b", 0): (0,)}), replayed(60, 100, {("b", 0): (1,)})
    read = offsets([("b", 0)], {10 * number: ["9/0" if number < 6 else "9/4"] for number in range(10)})
    found = topic_progress([first, second], read, WINDOW, SETTINGS)
    assert [progress.verdicts for progress in found] == [["STALL"], ["OK"]]
    expected = [[("STALL", 60)], []]
    assert [[(span.verdict, seconds(span.end)) for span in progress.spans] for progress in found] == expected


def test_a_rebalance_that_leaves_a_queue_its_owner_cuts_no_window() -> None:
    """A is listed twice from 60 s to 80 s: it keeps queue 0, and queue 1 is nobody's meanwhile. The lags only grow."""
    steady, twins = {("b", 0): (0,), ("b", 1): (1,)}, {("b", 0): (0, 1), ("b", 1): ()}
    course = [replayed(-100, 60, steady), replayed(60, 80, twins, "A A B"), replayed(80, 200, steady)]
    read = offsets([("b", 0), ("b", 1)], {10 * number: [f"{9 * number + 9}/{number + 1}"] * 2 for number in range(11)})
    found = topic_progress(course, read, WINDOW, SETTINGS)
    told = [[(span.place, seconds(span.start), seconds(span.end)) for span in progress.spans] for progress in found]
    assert told == [[(0, 0, 60), (1, 0, 60)], [(0, 0, 80), (1, 60, 80)], [(0, 0, 130), (1, 80, 130)]]
    assert {span.verdict for progress in found for span in progress.spans} == {"WARN"}


def test_a_change_of_members_cuts_no_window_where_the_broker_hands_out_the_messages() -> None:
    """B joins at 60 s, and at 90 s a queue is new; with an unknown strategy the members own the queues."""
    places: list[tuple[float, float, str, dict[tuple[str, int], tuple[int, ...]]]] = [
        (-100, 60, "A", {("b", 0): (0,)}),
        (60, 90, "A B", {("b", 0): (0,)}),
        (90, 200, "A B", {("b", 0): (0,), ("b", 1): (0,)}),
    ]
    read = offsets([("b", 0), ("b", 1)], {10 * number: ["9/0"] * 2 for number in range(13)})

    def stalled(*reasons: Reason) -> list[list[float]]:
        course = [
            replace(replayed(start, end, owners, ids), allocation=None, reason=reason)
            for (start, end, ids, owners), reason in zip(places, reasons, strict=True)
        ]
        found = topic_progress(course, read, WINDOW, SETTINGS)
        return [[seconds(span.start) for span in progress.spans] for progress in found]

    assert stalled(*[Reason.POP_ALL_QUEUES] * 3) == [[0], [0], [0, 90]]
    assert stalled(Reason.POP_ALL_QUEUES, *[Reason.BROKER_REBALANCE] * 2) == [[0], [60], [60, 90]]
    assert stalled(*[Reason.UNKNOWN_STRATEGY] * 3) == [[0], [60], [90, 90]]


def test_the_same_owner_after_a_gap_or_another_owner_begins_anew() -> None:
    """A has the queue again: B had it for 10 s, and in the other course nobody knows who."""
    first, last = (replayed(start, end, {("b", 0): (0,)}) for start, end in ((-100, 60), (70, 90)))
    read = offsets([("b", 0)], {10 * number: ["9/0"] for number in range(9)})
    for between in ([replayed(60, 70, {("b", 0): (1,)})], []):
        found = topic_progress([first, *between, last], read, WINDOW, SETTINGS)
        assert [seconds(span.start) for progress in (found[0], found[-1]) for span in progress.spans] == [0, 70]


def test_every_queue_has_its_own_spans_and_what_they_cost() -> None:
    """Of the queues of the interval, in its order: one that nobody read, and the columns in another order."""
    interval = replayed(-100, 200, {("a", 0): (0,), ("b", 0): (0,), ("b", 1): (0,)})
    columns = [("b", 1), ("z", 0), ("a", 0)]
    lags = {0: (10, 0), 10: (20, 0), 20: (35, 0), 30: (45, 0), 40: (60, 0), 50: (70, 0), 60: (70, 62), 70: (90, 80)}
    read = offsets(columns, {at: [f"{end}/{done}", "9/0", f"{end}/{end}"] for at, (end, done) in lags.items()})
    (found,) = topic_progress([interval], read, WINDOW, SETTINGS)
    assert found.verdicts == ["OK", None, "STALL"]
    # From 0 s to the last sample that says so, 50 s; it is over at 60 s.
    (span,) = found.spans
    assert (span.place, span.verdict, seconds(span.start), seconds(span.end)) == (2, "STALL", 0, 60)
    # The last message was stored 1 ms after 1970.
    assert (span.lag_first, span.lag_last, span.age_ms) == (10, 70, micros(50) // 1000 - 1)
    assert found.stuck_growth.tolist() == [0, 0, 60]
    assert found.stuck_produced.tolist() == [0, 0, 60]
    assert found.stuck_time.tolist() == [0, 0, 50 * SECOND]


@pytest.mark.parametrize(
    ("course", "growth", "produced", "seconds"),
    [
        # Done at 20 s; 13 messages came by 30 s, none until 100 s. What came by 20 s was consumed.
        (["5/5", "6/6", "7/7", *["20/7"] * 8], 13, 13, 80),
        # The topic was made anew at 30 s: what came until then is not known.
        ([*["9/0"] * 3, *["8/0"] * 3], -1, 0, 50),
    ],
)
def test_a_span_s_cost_is_what_came_after_it_began(course: list[str], growth: int, produced: int, seconds: int) -> None:
    read = offsets([("b", 0)], {10 * number: [cell] for number, cell in enumerate(course)})
    (found,) = topic_progress([INTERVAL], read, WINDOW, SETTINGS)
    assert (found.stuck_growth[0], found.stuck_produced[0]) == (growth, produced)
    assert found.stuck_time.tolist() == [seconds * SECOND]


def test_what_a_span_cost_before_the_step_is_not_the_step_s() -> None:
    read = offsets([("b", 0)], {10 * number: [f"{100 + number}/50"] for number in range(-5, 3)})
    (found,) = topic_progress([INTERVAL], read, WINDOW, SETTINGS)
    # From the sample at 0 s to that at 20 s; what came in since -10 s counts, as it does in `produced`.
    assert (found.stuck_growth[0], found.stuck_produced[0], found.produced[0]) == (2, 3, 3)
    assert found.stuck_time.tolist() == [20 * SECOND]


def test_a_queue_s_age_is_unknown_without_a_time() -> None:
    read = offsets([("b", 0)], {10 * number: ["9/1"] for number in range(6)})
    read.last_timestamp[:] = UNKNOWN
    (found,) = topic_progress([INTERVAL], read, WINDOW, SETTINGS)
    assert [span.age_ms for span in found.spans] == [UNKNOWN]
