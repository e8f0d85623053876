"""In which queues messages piled up, how many, for how long, and in which intervals."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import IntervalProgress
from spark_jobs.domain.kernel.backlog import Unconsumed
from spark_jobs.domain.model.history import OffsetSamples
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.status.backlog import queue_intervals
from spark_jobs.domain.status.lagging_queues import (
    LaggingQueue,
    greatest_rise,
    highest_together,
    lagging_queues,
)
from tests.support.builders import replayed
from tests.support.kernel import settings
from tests.support.samples import measured, offsets
from tests.support.tables import described
from tests.support.times import START, micros

SETTINGS = settings(30)
WINDOW = SETTINGS.window(START)
QUEUE = ("b", 0)
OWNED = {QUEUE: (0,)}


def found_in(
    rows: Sequence[IntervalProgress], read: OffsetSamples, unconsumed: Unconsumed = MappingProxyType({})
) -> list[LaggingQueue]:
    return list(lagging_queues(queue_intervals(rows), {"t": read}, WINDOW, SETTINGS, unconsumed))


def one_queue(read: Mapping[int, str], *cuts: int, **numbers: int | None) -> list[LaggingQueue]:
    """A queue of which this was read, in intervals cut at these seconds."""
    rows = [
        measured(replayed(begin, end, OWNED), verdicts=None, **{name: [number] for name, number in numbers.items()})
        for begin, end in zip((0, *cuts), (*cuts, 3600), strict=True)
    ]
    return found_in(rows, offsets([QUEUE], {second: [cell] for second, cell in read.items()}))


def grown(found: Sequence[LaggingQueue]) -> list[tuple[int, int]]:
    """Second at which each interval begins, and messages."""
    (queue,) = found
    return [((growth.progress.start - micros(0)) // 10**6, growth.messages) for growth in queue.growths]


@pytest.mark.parametrize(
    ("messages", "rise"),
    [([5], (0, 0)), ([5, 3, 1], (0, 0)), ([0, 4, 1, 5], (0, 3)), ([2, 0, 0, 7, 0, 7], (2, 3)), ([9, 1, 3], (1, 2))],
)
def test_the_greatest_rise(messages: list[int], rise: tuple[int, int]) -> None:
    assert greatest_rise(np.array(messages)) == rise


#: what | samples of the queue, each behind its second | cuts of its intervals | what was measured in each | messages,
#: then the begin and the growth of each interval that had a part in it (`-`: no backlog)
_TABLE = """
growth is shared by the intervals in which it came | 0 10/10, 50 110/10, 100 410/10, 200 910/10 | 100 150 | lag_max 900 | 900: 0+100 100+300 150+500
32 messages are no backlog                         | 0 10/10, 100 42/10, 200 100/100  |  | lag_max 32, consumed 0     | -
33 messages are one                                | 0 10/10, 100 43/10, 200 100/100  |  | lag_max 33, consumed 0     | 33: 0+33
nor is a minute's work: 60, of 3,600 in a step     | 0 10/10, 100 70/10, 200 100/100  |  | lag_max 60, consumed 3600  | -
61 are more than that                              | 0 10/10, 100 71/10, 200 100/100  |  | lag_max 61, consumed 3600  | 61: 0+61
33 are one, too, if nobody knows the pace          | 0 10/10, 100 43/10, 200 100/100  |  | lag_max 33                 | 33: 0+33
not worked off at all, the last interval counts    | 0 900/0, 200 900/0 | 150              | lag_max 900                | 900: 150+0
it was there before, and is more at the end        | 0 900/0, 200 901/0 | 150              | lag_max 900                | 901: 150+0
a reset is worked off but for what is allowed      | 0 900/900, 100 900/0, 200 932/900 | 150 | lag_max 900               | -
… but for one message more                         | 0 900/900, 100 900/0, 200 933/900 | 150 | lag_max 900               | 33: 150+0
what an offset adds that goes back is no growth    | 0 10/10, 50 110/10, 100 120/120, 200 620/620, 210 630/120, 220 640/640 | 100 | lag_max 510 | 100: 0+100
an offset that goes back does not stand            | 0 900/900, 180 900/20, 200 900/900 |  | lag_max 880              | -
committed before the step only, it is unknown      | -30 100/90, 0 120/?, 60 200/? |     | produced 100               | 100: 0+100
the last sample before the step counts             | -60 0/0, -30 10/10, 0 100/10  |     | lag_max 90                 | 90: 0+90
… if it is no older than what holds                | -91 10/10, 0 100/10           |     | lag_max 90                 | 90: 0+0
"""  # noqa: E501 - a table


def pairs(text: str) -> list[list[str]]:
    return [part.split() for part in text.split(",")]


@pytest.mark.parametrize(("samples", "cuts", "columns", "expected"), described(_TABLE))
def test_how_many_piled_up_and_in_which_intervals(samples: str, cuts: str, columns: str, expected: str) -> None:
    read = {int(second): cell for second, cell in pairs(samples)}
    found = one_queue(read, *map(int, cuts.split()), **{name: int(number) for name, number in pairs(columns)})
    shown = [f"{queue.messages}: " + " ".join(f"{begin}+{more}" for begin, more in grown([queue])) for queue in found]
    assert (shown or ["-"]) == [expected]


def test_what_was_worked_off_before_the_end_counts() -> None:
    found = one_queue({20: "10/10", 100: "910/10", 200: "950/50", 300: "960/960"}, 100, 250, lag_max=900)
    # The sample at 100 s is the first of the second interval: what came since 20 s belongs to it.
    assert grown(found) == [(100, 900)]
    (queue,) = found
    # 900 messages waited for 200 s: 180,000 message-seconds.
    assert (queue.queue, queue.messages, queue.waited) == (("t", *QUEUE), 900, 180_000_000)
    (growth,) = queue.growths
    assert (growth.start, growth.end) == (micros(100), micros(100))


def test_what_came_while_nobody_could_read_the_queue_grew_in_that_time() -> None:
    """It is no longer readable after 20 s, and is again at 600 s: what was wrong meanwhile is about its growth."""
    (queue,) = one_queue({20: "10/10", 610: "910/10", 700: "960/960"}, 600, lag_max=900)
    (growth,) = queue.growths
    assert (growth.start, growth.end, growth.messages) == (micros(20), micros(610), 900)


def test_without_an_offset_it_counts_since_nobody_consumes_it() -> None:
    """As in the series of the topic: the 40 that came before 30 s may have been consumed."""
    rows = [measured(replayed(0, 3600, OWNED), produced=[900], consumer_offset=[None])]
    read = offsets([QUEUE], {0: ["10/?"], 30: ["50/?"], 60: ["90/?"], 90: ["910/?"]})
    assert [queue.messages for queue in found_in(rows, read)] == [900]
    (queue,) = found_in(rows, read, {MessageQueue("t", *QUEUE): [(micros(30), micros(3600))]})
    assert queue.messages == 860
    # 40 for 30 s, then nothing is read any more.
    assert queue.waited == 40 * 30 * 1000


def test_the_pace_is_that_of_the_time_in_which_it_is_known() -> None:
    """600 in 600 s are 60 a minute; of the rest of the step it is not known what was consumed."""

    def behind(most: int) -> list[LaggingQueue]:
        rows = [
            measured(replayed(0, 600, OWNED), lag_max=[0], consumed=[600]),
            measured(replayed(600, 3600, OWNED), lag_max=[most], consumed=[None]),
        ]
        return found_in(rows, offsets([QUEUE], {0: ["10/10"], 700: [f"{10 + most}/10"]}))

    assert not behind(60)
    assert behind(61)


@pytest.mark.parametrize(
    ("read", "messages", "left"),
    [
        # With a wave on the way; two million behind; no more than is allowed at the beginning.
        ({0: "900/0", 100: "900/500", 200: "900/899"}, 900, 1),
        ({0: "900/0", 100: "900/500", 150: "910/500", 200: "910/899"}, 900, 11),
        ({0: "2000000/0", 200: "2000100/110"}, 2_000_000, 1_999_990),
        ({0: "32/0", 200: "40/39"}, None, None),
    ],
)
def test_a_backlog_that_only_falls_is_worked_off(read: dict[int, str], messages: int | None, left: int | None) -> None:
    found = one_queue(read, 150, lag_max=2_000_000)
    assert [queue.messages for queue in found] == ([] if messages is None else [messages])
    for queue in found:
        assert [(growth.is_worked_off, growth.progress.start) for growth in queue.growths] == [(True, micros(150))]
        assert queue.backlog[-1] == left


def test_a_queue_that_stood_counts_with_what_waited_although_its_backlog_only_fell() -> None:
    """500 wait from 100 s to 220 s, and 30 from 300 s on, which is no more than is allowed."""
    read = {0: "900/0", 100: "900/400", 200: "900/400", 220: "900/400", 300: "900/870", 500: "900/870"}
    (queue,) = one_queue(read, 210, 230, lag_max=900)
    assert (queue.messages, queue.waited, queue.backlog.tolist()) == (500, 60_000_000, [0, 500, 500, 500, 0, 0])
    assert grown([queue]) == [(210, 500)]
    (growth,) = queue.growths
    assert (growth.start, growth.end) == (micros(100), micros(220))


def test_a_queue_that_stood_for_less_than_two_minutes_is_worked_off() -> None:
    (queue,) = one_queue({0: "900/0", 100: "900/400", 219: "900/400", 300: "900/900"}, lag_max=900)
    assert [growth.is_worked_off for growth in queue.growths] == [True]


def test_who_never_committed_has_what_came_in_waiting() -> None:
    found = one_queue({-30: "100/?", 0: "120/?", 60: "?/?", 100: "200/?", 200: "50/?", 300: "60/?"}, produced=110)
    # 100 until 100 s; the topic was made anew before 200 s, of which nothing is known; 10 more.
    assert [queue.messages for queue in found] == [110]
    # 20 wait for 100 s, and 100 for 200 s.
    assert [queue.waited for queue in found] == [(20 * 100 + 100 * 200) * 1000]


def test_growth_in_a_time_that_was_not_replayed_goes_to_the_last_interval() -> None:
    read = offsets([QUEUE], {0: ["10/10"], 100: ["910/10"], 200: ["920/20"]})
    assert grown(found_in([measured(replayed(150, 300, OWNED), lag_max=[900])], read)) == [(150, 0)]


def test_nothing_was_replayed() -> None:
    assert found_in([], offsets([QUEUE], {0: ["10/10"]})) == []


def test_queues_without_a_known_backlog() -> None:
    def unknown(topic: str, **numbers: int | None) -> list[tuple[str, str, int]]:
        columns: dict[str, Any] = {name: [number] for name, number in numbers.items()}
        row = measured(replayed(0, 60, OWNED, topic=topic), **columns)
        return [tuple(queue) for queue in queue_intervals([row]).unknown()]  # type: ignore[misc]

    assert unknown("t") == unknown("t", produced=0) == [("t", "b", 0)]
    assert unknown("t", lag_last=0) == []
    # Nothing comes into a retry topic as long as no message fails.
    assert unknown("%RETRY%g") == unknown("%RETRY%g", produced=0) == []
    assert unknown("%RETRY%g", produced=1) == [("%RETRY%g", "b", 0)]


def test_the_most_together_is_what_waited_at_one_moment() -> None:
    """Queue 0 has 900 messages until 200 s and 10 later, queue 1 grows to 1000 at 300 s, when it is read alone."""
    first_queue = {0: "10/10", 100: "910/10", 200: "910/10", 250: "910/900", 300: "-", 400: "910/910"}
    second_queue = {0: "10/10", 100: "10/10", 200: "710/10", 250: "910/10", 300: "1010/10", 400: "1010/1010"}
    read = {second: [cell, second_queue[second]] for second, cell in first_queue.items()}
    places = [QUEUE, ("b", 1)]
    row = measured(replayed(0, 3600, dict.fromkeys(places, (0,))), lag_max=[900, 1000])
    first, second = found_in([row], offsets(places, read))
    assert (first.messages, second.messages) == (900, 1000)
    assert highest_together([first]) == (900, 1)
    assert highest_together([first, second]) == (900 + 700, 2)
    # What is left in queue 0 at 250 s is no backlog.
    late = second._replace(backlog=np.where(second.times == micros(200), 0, second.backlog))
    assert highest_together([first, late]) == (1000, 1)


def test_what_was_there_before_a_rise_is_not_of_it_and_a_rewind_makes_it_no_greater() -> None:
    read = {0: "100/10", 50: "100/100", 100: "1000/100", 200: "1000/1000", 300: "1000/50", 350: "1000/1000"}
    (found,) = one_queue(read, lag_max=950)
    assert (found.messages, found.backlog.tolist()) == (900, [0, 0, 900, 0, 900, 0])
    # A backlog that only stays has no rise: all of it counts, from the first sample on.
    (found,) = one_queue({0: "110/10", 100: "110/20", 200: "120/20"}, lag_max=100)
    assert (found.messages, found.backlog.tolist()) == (100, [100, 90, 100])
