"""Verdicts on histories of offsets, worked out by hand from the rules; the oracle says the same. Samples every 10 s."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.progress import lag_qualities, topic_progress
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from tests.support.builders import replayed
from tests.support.kernel import settings
from tests.support.oracle.verdicts import Limits, Sample, Spans, spans
from tests.support.samples import offsets
from tests.support.tables import cells, described
from tests.support.times import START, micros

SETTINGS = settings(30)
#: A window spans 40 s and has three samples, what is further apart than 30 s is a gap; a lag of 5 messages is allowed.
SLIDING = AuditSettings(
    step=200 * SECOND,
    cadence=10 * SECOND,
    max_gap=30 * SECOND,
    thresholds=Thresholds(
        allowed_lag=5, verdict_window_seconds=40, verdict_window_readings=3, persistent_after_seconds=70
    ),
)
#: From 100 s before the step to 200 s after its beginning.
INTERVAL = replayed(-100, 200, {("b", 0): (0,)})
#: An interval that is evaluated as a whole, because it has too few samples for a window.
SHORT = replayed(0, 3600, {("b", 0): (0,)})


def course(text: str, first: int = 0) -> dict[int, str]:
    """By second `next to write/next to consume` (`?`: never committed, `-`: no sample, `xN`: the sample N times)."""
    runs = (cell.partition("x") for cell in text.split())
    samples = [sample for sample, _, times in runs for _ in range(int(times or 1))]
    return {first + 10 * number: sample for number, sample in enumerate(samples)}


def of_queue(samples: Mapping[int, str]) -> OffsetSamples:
    return offsets([("b", 0)], {second: [sample] for second, sample in samples.items()})


def progress(
    read: OffsetSamples, *intervals: RebalanceInterval, settings: AuditSettings = SETTINGS
) -> list[IntervalProgress]:
    return topic_progress(intervals or [SHORT], read, settings.window(START), settings)


def sliding(read: OffsetSamples, *intervals: RebalanceInterval) -> list[IntervalProgress]:
    return progress(read, *(intervals or [INTERVAL]), settings=SLIDING)


def by_oracle(samples: Mapping[int, str], limits: Limits) -> Spans:
    known = []
    for second, sample in samples.items():
        end, _, consumed = sample.partition("/")
        if consumed == "?":
            known.append(Sample(second * SECOND, None, None))
        elif consumed:
            known.append(Sample(second * SECOND, int(consumed), max(int(end) - int(consumed), 0)))
    return spans(known, 0, limits)


def seconds(micros: int) -> float:
    return (micros - START) / SECOND


#: samples | allowed lag | verdict
_SHORT = """
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


@pytest.mark.parametrize(("samples", "allowed_lag", "verdict"), cells(_SHORT))
def test_a_short_interval_gets_one_verdict(samples: str, allowed_lag: str, verdict: str) -> None:
    expected = None if verdict == "unknown" else verdict
    of_lag = settings(30, allowed_lag=int(allowed_lag))
    (found,) = progress(of_queue(course(samples)), settings=of_lag)
    assert found.verdicts == [expected]
    limits = Limits(int(allowed_lag), window=300 * SECOND, window_samples=5, max_gap=90 * SECOND)
    assert by_oracle(course(samples), limits).worst == expected


#: what | the first sample's second | samples | worst verdict | spans: verdict, its first and last second
_SLIDING = """
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
it went back before it was evaluated | 0   | 30/20 30/10 30/14 30/19 30/21x2    | OK    |
unknown now and then               | 0   | 9/0x2 9/? 9/0 9/? 9/0              | STALL | STALL 0-80
not committed at first             | 0   | 9/? 9/? 9/1x5                      | STALL | STALL 20-90
nothing is known                   | 0   | 9/?x6                              | none  |
one sample                         | 0   | 9/0                                | none  |
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


@pytest.mark.parametrize(("first", "samples", "worst", "told"), described(_SLIDING))
def test_verdicts_and_their_spans(first: str, samples: str, worst: str, told: str) -> None:
    """The oracle only knows since when, and nothing of the time before the first sample."""
    of_time = course(samples, int(first))
    (found,) = sliding(of_queue(of_time))
    expected = None if worst == "none" else worst
    assert found.verdicts == [expected]
    shown = [f"{span.verdict} {seconds(span.start):g}-{seconds(span.end):g}" for span in found.spans]
    assert ", ".join(shown) == told
    oracle = by_oracle(of_time, Limits(5, window=40 * SECOND, window_samples=3, max_gap=30 * SECOND))
    assert oracle.worst == expected
    since = [max(seconds(span.start), int(first)) for span in found.spans]
    assert sorted({since // SECOND for since, _ in oracle.stuck}) == since


@pytest.mark.parametrize(
    ("samples", "filtered", "whole"),
    [
        ("9/1 19/2 29/15 39/16 49/17 59/18 69/19 79/32 89/33", "WARN 0-110", "WARN 20-70"),  # it falls by 3 at times
        ("21/1 32/2 42/34 53/35 64/36 75/37 86/70 97/71 108/72", "", ""),  # it falls by 22, and grows by 8
        ("9/1 19/2 29/15 69/16 69/17 69/18 69/19", "", ""),  # it grows between one pair of samples
    ],
)
def test_a_filtered_lag_that_falls_at_times_grows_if_it_does_so_mostly_and_by_more(
    samples: str, filtered: str, whole: str
) -> None:
    """A broker skips so many messages at a time."""
    read = of_queue(course(samples))
    for is_filtered, told in ((True, filtered), (False, whole)):
        (found,) = topic_progress([INTERVAL], read, SLIDING.window(START), SLIDING, is_filtered=is_filtered)
        spans = (f"{span.verdict} {seconds(span.start):g}-{seconds(span.end):g}" for span in found.spans)
        assert ", ".join(spans) == told


def test_every_queue_has_its_own_verdict_and_its_own_samples() -> None:
    """Of the queues of the interval, in its order: one that nobody read, and the columns in another order."""
    interval = replayed(0, 3600, {("a", 0): (0,), ("b", 0): (0,), ("b", 1): (0,)})
    columns = [("z", 0), ("b", 1), ("a", 0)]
    samples = offsets(columns, {0: ["-", "100/0", "10/10"], 10: ["-", "200/0", "20/20"], 20: ["9/9", "-", "30/30"]})
    (found,) = progress(samples, interval)
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
    (found,) = progress(offsets([("b", 0), ("b", 1), ("b", 2)], rows), interval)
    assert found.consumed.tolist() == [7, 0, UNKNOWN]
    assert (found.rewinds.tolist(), found.rewound.tolist()) == ([1, 0, UNKNOWN], [3, UNKNOWN, UNKNOWN])
    for unknown in (found.produced, found.lag_first, found.lag_last, found.age_ms):
        assert unknown.tolist() == [UNKNOWN] * 3
    assert found.verdicts == [None] * 3
    assert lag_qualities([found]).tolist() == ["END_UNKNOWN"] * 3


def test_what_came_in_before_the_interval_s_first_sample_is_its_own_and_its_verdict_is_not() -> None:
    """The sample before belongs to another interval: it moves no offset here."""
    first, second = replayed(0, 100, {("b", 0): (0,)}), replayed(100, 200, {("b", 0): (1,)})
    before, found = progress(of_queue({90: "100/0", 100: "300/150", 110: "350/150"}), first, second)
    assert (before.produced.tolist(), before.verdicts) == ([UNKNOWN], [None])
    assert (found.produced.tolist(), found.consumed.tolist()) == ([250], [150])
    assert (found.moved_at.tolist(), found.verdicts) == ([UNKNOWN], ["STALL"])


def test_a_sample_before_the_step_counts_for_a_gap_and_no_longer() -> None:
    assert SETTINGS.max_gap == 90 * SECOND
    for second, produced in ((-90, 50), (-91, UNKNOWN)):
        (found,) = progress(of_queue({second: "100/100", 5: "150/150"}), replayed(-500, 3600, {("b", 0): (0,)}))
        assert (found.start, found.produced.tolist()) == (START, [produced])


#: Samples every 10 s | produced, consumed | rewinds, all of them, the greatest, when.
_OFFSETS = [
    ("100/100 150/120 200/180", (100, 80), (0, UNKNOWN, UNKNOWN, UNKNOWN)),
    ("100/100 150/90 200/180 200/150", (100, 90), (2, 40, 30, 30)),
    ("100/90 100/60 100/80 100/50", (0, 20), (2, 60, 30, 30)),  # equal ones: the last
    ("100/90 20/10 30/20", (10, 10), (0, UNKNOWN, UNKNOWN, UNKNOWN)),  # the topic was made anew
    ("100/90", (UNKNOWN, UNKNOWN), (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)),
    ("100/? 150/90 150/95", (50, 5), (0, UNKNOWN, UNKNOWN, UNKNOWN)),
    ("?/90 150/95 150/99", (0, 4), (0, UNKNOWN, UNKNOWN, UNKNOWN)),
    ("100/90 - 150/80", (50, UNKNOWN), (1, 10, 10, 20)),
]


@pytest.mark.parametrize(("history", "went", "back"), _OFFSETS, ids=str)
def test_what_went_in_and_out(history: str, went: tuple[int, int], back: tuple[int, int, int, int]) -> None:
    samples = of_queue(course(history))
    stored_now = np.where(samples.last_timestamp == UNKNOWN, UNKNOWN, samples.times[:, None] // 1000)
    (found,) = progress(replace(samples, last_timestamp=stored_now))
    assert (found.produced[0], found.consumed[0]) == went
    rewinds, rewound, greatest, seconds = back
    when = UNKNOWN if seconds == UNKNOWN else micros(seconds)
    expected = (rewinds, rewound, greatest, when)
    assert (found.rewinds[0], found.rewound[0], found.rewound_max[0], found.rewound_at[0]) == expected


@pytest.mark.parametrize(("samples", "worst"), [(5, "STALL"), (6, "OK")])
def test_a_window_has_so_many_samples_whatever_they_span(samples: int, worst: str) -> None:
    """Five samples span 40 s; of six, one had an allowed lag."""
    thresholds = SLIDING.thresholds.model_copy(update={"verdict_window_readings": samples})
    (found,) = progress(of_queue(course("5/0x3 9/0x5")), INTERVAL, settings=replace(SLIDING, thresholds=thresholds))
    assert found.verdicts == [worst]


def test_another_owner_s_samples_are_in_no_window() -> None:
    """It stood for 60 s under the first owner; the second has not had it for a whole window."""
    first, second = replayed(-100, 60, {("b", 0): (0,)}), replayed(60, 100, {("b", 0): (1,)})
    read = of_queue(course("9/0x6 9/4x4"))
    found = sliding(read, first, second)
    assert [of.verdicts for of in found] == [["STALL"], ["OK"]]
    expected = [[("STALL", 60)], []]
    assert [[(span.verdict, seconds(span.end)) for span in of.spans] for of in found] == expected


def test_a_rebalance_that_leaves_a_queue_its_owner_cuts_no_window() -> None:
    """A is listed twice from 60 s to 80 s: it keeps queue 0, and queue 1 is unassigned. The lags only grow."""
    steady, twins = {("b", 0): (0,), ("b", 1): (1,)}, {("b", 0): (0, 1), ("b", 1): ()}
    intervals = replayed(-100, 60, steady), replayed(60, 80, twins, "A A B"), replayed(80, 200, steady)
    read = offsets([("b", 0), ("b", 1)], {10 * number: [f"{9 * number + 9}/{number + 1}"] * 2 for number in range(11)})
    found = sliding(read, *intervals)
    told = [[(span.place, seconds(span.start), seconds(span.end)) for span in of.spans] for of in found]
    assert told == [[(0, 0, 60), (1, 0, 60)], [(0, 0, 80), (1, 60, 80)], [(0, 0, 130), (1, 80, 130)]]
    assert {span.verdict for of in found for span in of.spans} == {"WARN"}


def test_a_change_of_members_cuts_no_window_where_the_broker_hands_out_the_messages() -> None:
    """B joins at 60 s, and at 90 s a queue is new; with an unknown strategy the members own the queues."""
    one, two = {("b", 0): (0,)}, {("b", 0): (0,), ("b", 1): (0,)}
    places = (-100, 60, "A", one), (60, 90, "A B", one), (90, 200, "A B", two)
    read = offsets([("b", 0), ("b", 1)], {10 * number: ["9/0"] * 2 for number in range(13)})

    def stalled(*reasons: Reason) -> list[list[float]]:
        intervals = [
            replace(replayed(start, end, owners, ids), allocation=None, reason=reason)
            for (start, end, ids, owners), reason in zip(places, reasons, strict=True)
        ]
        return [[seconds(span.start) for span in found.spans] for found in sliding(read, *intervals)]

    assert stalled(*[Reason.POP_ALL_QUEUES] * 3) == [[0], [0], [0, 90]]
    assert stalled(Reason.POP_ALL_QUEUES, *[Reason.BROKER_REBALANCE] * 2) == [[0], [60], [60, 90]]
    assert stalled(*[Reason.UNKNOWN_STRATEGY] * 3) == [[0], [60], [90, 90]]


def test_the_same_owner_after_a_gap_or_another_owner_begins_anew() -> None:
    """A has the queue again: B had it for 10 s, or its owner was unknown."""
    first, last = (replayed(start, end, {("b", 0): (0,)}) for start, end in ((-100, 60), (70, 90)))
    read = of_queue(course("9/0x9"))
    for between in ([replayed(60, 70, {("b", 0): (1,)})], []):
        found = sliding(read, first, *between, last)
        assert [seconds(span.start) for of in (found[0], found[-1]) for span in of.spans] == [0, 70]


def test_every_queue_has_its_own_spans_and_what_they_cost() -> None:
    """Of the queues of the interval, in its order: one that nobody read, and the columns in another order."""
    interval = replayed(-100, 200, {("a", 0): (0,), ("b", 0): (0,), ("b", 1): (0,)})
    columns = [("b", 1), ("z", 0), ("a", 0)]
    lags = {0: (10, 0), 10: (20, 0), 20: (35, 0), 30: (45, 0), 40: (60, 0), 50: (70, 0), 60: (70, 62), 70: (90, 80)}
    read = offsets(columns, {at: [f"{end}/{done}", "9/0", f"{end}/{end}"] for at, (end, done) in lags.items()})
    (found,) = sliding(read, interval)
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
    ("samples", "growth", "produced", "seconds"),
    [
        # Done at 20 s; 13 messages came by 30 s, none until 100 s. What came by 20 s was consumed.
        ("5/5 6/6 7/7 20/7x8", 13, 13, 80),
        # The topic was created again at 30 s: what came until then is not known.
        ("9/0x3 8/0x3", -1, 0, 50),
    ],
)
def test_a_span_s_cost_is_what_came_after_it_began(samples: str, growth: int, produced: int, seconds: int) -> None:
    (found,) = sliding(of_queue(course(samples)))
    assert (found.stuck_growth[0], found.stuck_produced[0]) == (growth, produced)
    assert found.stuck_time.tolist() == [seconds * SECOND]


def test_what_a_span_cost_before_the_step_is_not_the_step_s() -> None:
    (found,) = sliding(of_queue(course("95/50 96/50 97/50 98/50 99/50 100/50 101/50 102/50", -50)))
    # From the sample at 0 s to that at 20 s; what came in since -10 s counts, as it does in `produced`.
    assert (found.stuck_growth[0], found.stuck_produced[0], found.produced[0]) == (2, 3, 3)
    assert found.stuck_time.tolist() == [20 * SECOND]


def test_a_queue_s_age_is_unknown_without_a_time() -> None:
    read = of_queue(course("9/1x6"))
    read.last_timestamp[:] = UNKNOWN
    (found,) = sliding(read)
    assert [span.age_ms for span in found.spans] == [UNKNOWN]
