"""Other numbers of members that consumed the same while messages waited."""

import pytest

from spark_jobs.domain.diagnosis.scaling import who_left, without_effect
from tests.support.builders import allocation, audited_step, interval, members, rebalance
from tests.support.samples import progress
from tests.support.tables import described
from tests.support.times import micros

#: Of four queues: from-to, their owners, messages that were consumed, and that waited at the end | found: since when,
#: and the messages a second before and since
_TABLE = """
twice the members consume no more        | 0-1200 0011 120000 90000, 1200-3600 0123 240000 90000 | 1200: 100 by 2, 100 by 4
… or even less                           | 0-1200 0011 120000 90000, 1200-3600 0123 220000 90000 | 1200: 100 by 2, 92 by 4
… nor does a quarter of what they add    | 0-1200 0011 120000 90000, 1200-3600 0123 299000 90000 | 1200: 100 by 2, 125 by 4
… but a quarter is some                  | 0-1200 0011 120000 90000, 1200-3600 0123 300000 90000 | -
half the members consume as much         | 0-1200 0123 120000 90000, 1200-3600 0011 240000 90000 | 1200: 100 by 4, 100 by 2
nothing is left to do before             | 0-1200 0011 120000 5999, 1200-3600 0123 240000 90000  | -
… or afterwards                          | 0-1200 0011 120000 90000, 1200-3600 0123 240000 5999  | -
a minute's work is enough                | 0-1200 0011 120000 6000, 1200-3600 0123 240000 6000   | 1200: 100 by 2, 100 by 4
not for long enough                      | 0-1200 0011 120000 90000, 1200-1499 0123 29900 90000   | -
… for five minutes                       | 0-1200 0011 120000 90000, 1200-1500 0123 30000 90000   | 1200: 100 by 2, 100 by 4
they come one by one                     | 0-1200 0011 120000 90000, 1200-1260 0012 6000 90000, 1260-3600 0123 234000 90000 | 1260: 100 by 2, 100 by 4
owners change, and are as many           | 0-1200 0011 120000 90000, 1200-3600 0101 240000 90000 | -
one is away for a moment                 | 0-1200 0123 120000 90000, 1200-1230 0012 3000 90000, 1230-3600 0123 200000 90000 | -
members that own nothing                 | 0-1200 0000 120000 90000, 1200-3600 0000 240000 90000 | -
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("times", "expected"), described(_TABLE))
def test_members_that_consume_no_more(times: str, expected: str) -> None:
    rows = []
    for time in times.split(","):
        span, owners, consumed, waiting = time.split()
        start, end = map(int, span.split("-"))
        listed = members("c0 c1 c2 c3")
        of = interval(start, end, listed, allocation(listed, " ".join(owners)))
        rows.append(progress(of, start, end, consumed=(int(consumed), 0, 0, None), lag_last=(int(waiting), 0, 0, None)))
    step = audited_step(*(row.interval for row in rows), progress=rows)
    found = without_effect(step, "t")
    paces = ", ".join(f"{pace.rate:.0f} by {pace.members}" for pace in found or ())
    assert (f"{(found[1].start - step.window.start) // 10**6}: {paces}" if found else "-") == expected


#: Members from each second on, until the next one | when some left | a time that begins and ends | what is said; rounds
#: are 20 s apart
_LEFT = """
most leave at once                     | 0 6, 100 2                | 100     | 120-600 | 4 of 6 members left at 10:01:40
… in two rounds                        | 0 6, 100 4, 120 2         | 100 120 | 130-600 | 4 of 6 members left at 10:02Z
… a minute and a round before          | 0 6, 100 2                | 100     | 180-600 | 4 of 6 members left at 10:01:40
… longer before                        | 0 6, 100 2                | 100     | 181-600 | -
… at the next round                    | 0 6, 100 2                | 100     | 80-600  | 4 of 6 members left at 10:01:40
… later                                | 0 6, 100 2                | 100     | 79-600  | -
one comes back                         | 0 6, 100 2, 300 3         | 100     | 120-600 | 3 of 6 members left at 10:01:40
… afterwards                           | 0 6, 100 2, 600 3         | 100     | 120-600 | 4 of 6 members left at 10:01:40
others take their place                | 0 6, 100 2, 300 6         | 100     | 120-600 | -
members change, and are as many        | 0 6, 100 6                | 100     | 120-600 | -
who was there before is not known      | 100 2                     | 100     | 120-600 | -
"""


@pytest.mark.parametrize(("counts", "left", "time", "expected"), described(_LEFT))
def test_members_that_left_and_did_not_come_back(counts: str, left: str, time: str, expected: str) -> None:
    since = [(int(second), int(number)) for second, number in (part.split() for part in counts.split(","))]
    ends = [*(second for second, _ in since[1:]), 3600]
    intervals = []
    for (start, number), end in zip(since, ends, strict=True):
        listed = members(" ".join(f"c{each}" for each in range(number)))
        intervals.append(interval(start, end, listed, allocation(listed, "0")))
    moved = [rebalance(int(second), left=("c9",)) for second in left.split()]
    said = who_left(audited_step(*intervals, rebalances=moved), *(micros(int(part)) for part in time.split("-")))
    assert (said or "-").replace("2026-03-01T", "").startswith(expected)


def test_who_stays_is_not_known() -> None:
    listed = members("c0 c1")
    step = audited_step(interval(0, 100, listed, allocation(listed, "0 1")), rebalances=[rebalance(100, left=("c1",))])
    assert who_left(step, micros(120), micros(600)) is None
