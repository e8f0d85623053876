"""Every message of a growth is given to exactly one part."""

import random

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import IntervalProgress
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.attribution import TopicGrowth, attribution, growth_parts, pace
from spark_jobs.domain.status.backlog import queue_intervals
from tests.support.builders import replayed
from tests.support.kernel import settings
from tests.support.samples import measured, offsets
from tests.support.times import START

WINDOW = settings(30).window(START)

#: growth | of which stuck | owners | moved | produced | seconds | rate before | part(s) and messages, by hand
_TABLE = """
    100 | 0   | 0 | no  | 100 | 10 | 10 | unassigned 100
    100 | 100 | 0 | yes | 100 | 10 | 1  | unassigned 100
    100 | 100 | 1 | yes | 100 | 10 | 1  | stuck_owner 100
    100 | 60  | 1 | yes | 100 | 10 | 1  | stuck_owner 60, hand_over 40
    100 | 100 | 2 | no  | 100 | 10 | 1  | stuck_owner 100
    100 | 60  | 1 | no  | 100 | 10 | 7  | stuck_owner 60, producer_surge 30, residual 10
    20  | 60  | 1 | no  | 100 | 10 | 1  | stuck_owner 60, residual -40
    100 | 0   | 1 | yes | 100 | 10 | 1  | hand_over 100
    -50 | 0   | 1 | yes | 100 | 10 | 1  | hand_over -50
    100 | 0   | 1 | no  | 200 | 10 | 15 | producer_surge 50, residual 50
    100 | 0   | 1 | no  | 200 | 10 | 0  | producer_surge 100
    100 | 0   | 1 | no  | 100 | 10 | 10 | residual 100
    100 | 0   | 1 | no  | 100 | 10 | 20 | residual 100
    100 | 0   | 1 | no  | 200 | 10 | -  | residual 100
    100 | 0   | 1 | no  | -   | 10 | 0  | residual 100
    100 | 0   | 1 | no  | 10  | 1  | 8.5 | producer_surge 2, residual 98
    100 | 0   | 1 | no  | 10  | 1  | 7.5 | producer_surge 2, residual 98
    -50 | 0   | 1 | no  | 200 | 10 | 0  | residual -50
    0   | 0   | 1 | no  | 200 | 10 | 0  |
"""


def parts(
    growth: int, stuck: int, owners: int, produced: int | None, seconds: float, rate: float | None, *, moved: bool
) -> list[int]:
    """Those of one queue."""
    known = (UNKNOWN if produced is None else produced, seconds, np.nan if rate is None else rate)
    columns = (np.array([value]) for value in (growth, stuck, owners > 0, moved, *known))
    return [int(part[0]) for part in growth_parts(*columns)]


@pytest.mark.parametrize("line", _TABLE.strip("\n").splitlines())
def test_each_part_has_what_applies_to_it_first(line: str) -> None:
    growth, stuck, owners, moved, produced, seconds, rate, expected = (cell.strip() for cell in line.split("|"))
    came, pace = None if produced == "-" else int(produced), None if rate == "-" else float(rate)
    named = (text.split() for text in expected.split(",") if text)
    by_name = dict.fromkeys(TopicGrowth._fields[2:], 0) | {part: int(messages) for part, messages in named}
    counts = int(growth), int(stuck), int(owners)
    assert parts(*counts, came, float(seconds), pace, moved=moved == "yes") == [*by_name.values()]


def test_the_parts_add_up_to_the_growth() -> None:
    chance = random.Random(4)
    for _ in range(300):
        growth = chance.randint(-300, 300)
        stuck, owners = chance.choice([0, chance.randint(-300, 300)]), chance.randint(0, 2)
        produced, rate = chance.choice([None, chance.randint(0, 500)]), chance.choice([None, chance.uniform(0, 20)])
        queue = growth, stuck, owners, produced, chance.uniform(1, 60), rate
        assert sum(parts(*queue, moved=chance.random() < 0.3)) == growth, queue


PLACES = [("b", 0), ("b", 1)]


def test_the_pace_before_is_that_of_the_first_and_last_sample_of_the_look_back() -> None:
    # The look-back begins 480 s before the step: the 300 s of a verdict's window, and twice the longest gap.
    rows = {-481: ["0/0", "0/0"], -480: ["100/0", "7/0"], -90: ["0/0", "-"], -10: ["335/0", "-"], 0: ["999/0", "999/0"]}
    assert pace(offsets(PLACES, rows), WINDOW.read_from, WINDOW.start) == {("b", 0): 0.5}


@pytest.mark.parametrize("cells", [("10/0", "9/0"), ("?/0", "9/0"), ("10/0", "?/0"), ("-", "10/0"), ("-", "-")])
def test_the_pace_before_is_unknown(cells: tuple[str, str]) -> None:
    rows = {seconds: [cell] for seconds, cell in zip((-60, -30), cells, strict=True)}
    assert pace(offsets(PLACES[:1], rows), WINDOW.read_from, WINDOW.start) == {}


def test_without_a_look_back_there_is_no_pace() -> None:
    assert pace(offsets(PLACES, {0: ["1/1", "1/1"], 30: ["2/1", "2/1"]}), WINDOW.read_from, WINDOW.start) == {}


def _attributed(*rows: IntervalProgress, **read: OffsetSamples) -> list[TopicGrowth]:
    return attribution(queue_intervals(rows), read, WINDOW)


OWNED = {("b", 0): (0,), ("b", 1): (1,)}


def test_a_queue_grows_from_its_first_sample_and_then_from_interval_to_interval() -> None:
    first = measured(replayed(0, 60, OWNED), lag_first=[5, None], lag_last=[35, None])
    gap = measured(replayed(60, 90, OWNED), lag_first=[None, 4], lag_last=[None, 6])
    # From 35 to 40, whatever its own first sample says.
    last = measured(replayed(90, 120, OWNED), lag_first=[38, 6], lag_last=[40, 5])
    # Each in the order of time, however they come.
    assert _attributed(last, first, gap) == [TopicGrowth("t", 35 + 1, 0, 0, 0, 0, 36)]


def test_each_part_of_the_growth_is_attributed() -> None:
    places = [("b", number) for number in range(5)]
    owners = dict.fromkeys(places, (0,)) | {("b", 0): ()}
    row = measured(
        replayed(-60, 100, owners, handed_over=[("b", 2), ("b", 1)]),
        lag_first=[0] * 5,
        lag_last=[1, 10, 100, 1000, 10000],
        produced=[0, 0, 0, 1300, 5],
        # Queue 3 was stuck for a quarter of the time: 300 messages came in, of which 200 stayed.
        stuck_growth=[1, 10, 0, 200, 0],
        stuck_produced=[0, 10, 0, 300, 0],
        stuck_time=[0, 0, 0, 25 * SECOND, 0],
    )
    # 4 messages a second before: 300 of the 1000 that came in the other 75 s. Of queue 4 no pace is known.
    read = offsets(places[:4], {-60: ["0/0"] * 4, -10: ["200/0"] * 4})
    assert _attributed(row, t=read) == [TopicGrowth("t", 11111, 1, 210, 100, 700, 100 + 10000)]
    assert _attributed(row) == [TopicGrowth("t", 11111, 1, 210, 100, 0, 10800)]


def test_what_grew_while_stuck_counts_also_if_the_owner_consumed_it_later() -> None:
    # Queue 0: 35 34 35 35 messages; queue 1: 40 48 45 messages, and 40 in its next interval.
    first = measured(replayed(0, 60, OWNED), lag_first=[35, 40], lag_last=[35, 45], stuck_growth=[1, 8])
    second = measured(replayed(60, 90, OWNED), lag_first=[35, 44], lag_last=[35, 40], stuck_growth=[0, 0])
    assert _attributed(first, second) == [TopicGrowth("t", 0, 0, 1 + 8, 0, 0, -1 - 3 - 5)]


def test_topics_are_in_order_those_without_a_known_lag_are_left_out() -> None:
    def of(topic: str, *lag: int | None) -> IntervalProgress:
        return measured(replayed(0, 60, OWNED, topic=topic), lag_first=[0, 0], lag_last=lag)

    found = _attributed(of("u", 0, 0), of("s", None, None), of("t", -3, 1))
    assert found == [TopicGrowth("t", -2, 0, 0, 0, 0, -2), TopicGrowth("u", 0, 0, 0, 0, 0, 0)]


def test_a_name_that_ends_in_nul_is_itself() -> None:
    row = measured(replayed(0, 60, OWNED, topic="t\0"), lag_first=[0, 0], lag_last=[5, 2])
    assert _attributed(row) == [TopicGrowth("t\0", 7, 0, 0, 0, 0, 7)]


def test_a_queue_whose_first_lag_is_unknown_grows_from_its_last() -> None:
    first = measured(replayed(0, 60, OWNED), lag_first=[None, None], lag_last=[5, None])
    second = measured(replayed(60, 90, OWNED), lag_first=[6, None], lag_last=[9, None])
    assert _attributed(first, second) == [TopicGrowth("t", 4, 0, 0, 0, 0, 4)]
