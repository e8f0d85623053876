"""The backlog of a topic and a group, sample by sample, from offsets written by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.kernel.backlog import Peak, TopicBacklog, peak, topic_backlogs
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import Time
from tests.support.builders import audited_step, replayed
from tests.support.samples import Rows, measured, offsets
from tests.support.tables import described
from tests.support.times import micros

QUEUES = [("b", 0), ("b", 1)]
OWNED = {("b", 0): (0,), ("b", 1): (0,)}
Unconsumed = Mapping[MessageQueue, Sequence[Time]]


def backlogs(
    samples: OffsetSamples, *intervals: RebalanceInterval, unconsumed: Unconsumed | None = None
) -> list[TopicBacklog]:
    """Of one topic, measured in these intervals; a snapshot holds for 60 s."""
    rows = [measured(each) for each in intervals or (replayed(0, 3600, OWNED),)]
    step = audited_step(progress=rows, offsets={"t": samples})
    return topic_backlogs(step, unconsumed or {})


def numbers(values: NDArray[np.int64]) -> list[int | None]:
    return [None if value == UNKNOWN else value for value in values.tolist()]


#: what | per sample, 30 s apart: end/committed of both queues | messages, and queues that are not in them
_SAMPLES = """
both offsets are known: the end less the committed one           | 9/4 8/8, 10/4 8/8  | 5 0, 6 0
a committed offset beyond the end, by the race of two reads      | 9/9 9/70           | 0 0
beyond the end by more                                           | 9/4 9/100          | 5 1
… than came and was consumed between the two reads: 100 of 100   | 9/4 9/9, 9/4 109/209 | 5 0, 5 0
… 100 of 99 that came                                            | 9/4 9/9, 9/4 108/208 | 5 0, 5 1
… 100 of 99 that were consumed                                   | 9/4 19/110, 9/4 109/209 | 5 1, 5 1
no offset was committed: unknown                                 | 9/4 9/?            | 5 1
nothing came: there is nothing to commit                         | 9/4 0/?            | 5 0
of no queue anything is known                                    | 9/? 9/?            | ? 2
an empty queue makes no sum known                                | 0/0 9/?            | ? 1
the end is unknown, as in logs                                   | 9/4 ?/5            | 5 1
a queue that is not in the snapshot has its last backlog         | 9/4 9/2, 9/5 -     | 12 0, 11 0
for longer than a snapshot holds: it is unknown, too             | 9/4 9/2, 9/5 -, 9/5 -, 9/5 - | 12 0, 11 0, 11 0, 11 1
the topic was created again                                      | 9/4 9/9, 2/0 1/0   | 5 0, 3 0
"""


@pytest.mark.parametrize(("samples", "expected"), described(_SAMPLES))
def test_the_backlog_of_a_topic(samples: str, expected: str) -> None:
    rows: Rows = {30 * number: cells.split() for number, cells in enumerate(samples.split(","))}
    (backlog,) = backlogs(offsets(QUEUES, rows))
    found = zip(numbers(backlog.messages), backlog.unknown_queues.tolist(), strict=True)
    assert [f"{'?' if messages is None else messages} {unknown}" for messages, unknown in found] == [
        pair.strip() for pair in expected.split(",")
    ]


def test_a_queue_that_leaves_the_route_keeps_its_messages_and_a_new_one_counts_from_its_first_interval() -> None:
    samples = offsets(
        [*QUEUES, ("c", 0)], {0: ["9/4", "9/2", "9/9"], 30: ["9/4", "-", "9/8"], 300: ["9/4", "-", "9/7"]}
    )
    later = replayed(30, 3600, {("b", 0): (0,), ("c", 0): (0,)})
    (backlog,) = backlogs(samples, replayed(0, 30, OWNED), later)
    assert backlog.messages.tolist() == [12, 5 + 7 + 1, 5 + 7 + 2]
    assert backlog.unknown_queues.tolist() == [0, 0, 0]


def test_of_a_queue_that_no_member_consumes_what_is_produced_since_is_waiting() -> None:
    rows: Rows = {0: ["9/4", "100/?"], 30: ["9/4", "107/?"], 60: ["9/4", "119/?"], 90: ["9/4", "130/?"]}
    queue = MessageQueue("t", "b", 1)
    (backlog,) = backlogs(offsets(QUEUES, rows), unconsumed={queue: [(micros(30), micros(90))]})
    assert backlog.messages.tolist() == [5, 5, 5 + 12, 5]
    # It is a bound: how much waited before is not known.
    assert backlog.unknown_queues.tolist() == [1, 1, 1, 1]
    assert backlog.without_offset == {}
    (backlog,) = backlogs(offsets(QUEUES, rows), unconsumed={queue: [(micros(30), micros(120))]})
    assert backlog.without_offset == {("b", 1): 23}


def test_samples_outside_of_the_step_and_of_measured_intervals_do_not_count() -> None:
    rows: Rows = {-30: ["9/1", "9/9"], 0: ["9/2", "9/9"], 60: ["9/3", "9/9"], 3600: ["9/4", "9/9"]}
    assert [each.messages.tolist() for each in backlogs(offsets(QUEUES, rows))] == [[7, 6]]
    assert [each.messages.tolist() for each in backlogs(offsets(QUEUES, rows), replayed(0, 60, OWNED))] == [[7]]
    assert backlogs(offsets(QUEUES, {-30: ["9/1", "9/9"]})) == []


def test_a_queue_that_only_samples_of_another_step_show_does_not_count() -> None:
    rows: Rows = {0: ["9/4", "-"], 30: ["9/4", "-"], 3600: ["9/4", "9/4"]}
    (backlog,) = backlogs(offsets(QUEUES, rows))
    assert (backlog.messages.tolist(), backlog.unknown_queues.tolist()) == ([5, 5], [0, 0])
    assert backlogs(offsets(QUEUES, {0: ["-", "-"], 3600: ["9/4", "9/4"]})) == []


def test_a_minute_has_its_last_and_its_highest_backlog_and_what_it_produced_and_consumed() -> None:
    rows: Rows = {0: ["9/4", "5/5"], 20: ["19/4", "5/5"], 40: ["19/17", "8/5"], 200: ["21/17", "8/8"]}
    (backlog,) = backlogs(offsets(QUEUES, rows))
    minutes = backlog.by_minute()
    assert minutes["at"].tolist() == [micros(0), micros(180)]
    assert minutes["messages"].tolist() == [5, 4]
    assert minutes["messages_max"].tolist() == [15, 4]
    assert minutes["unknown_queues"].tolist() == [0, 0]
    # Between the first sample and nothing before it nothing is known.
    assert minutes["produced"].tolist() == [10 + 3, 2]
    assert minutes["consumed"].tolist() == [13, 3]
    assert backlog.quality == LagQuality.MEASURED


def test_the_age_is_that_of_the_last_consumed_message_where_messages_wait() -> None:
    stored = micros(-60) // 1000
    samples = offsets([("b", 0)], {0: [(9, 4, 4, stored)], 20: [(9, 9, 9, stored)], 70: [(9, 4, 4, 0)]})
    (backlog,) = backlogs(samples, replayed(0, 3600, {("b", 0): (0,)}))
    assert numbers(backlog.age_ms) == [60_000, None, None]
    assert numbers(backlog.by_minute()["oldest_message_ms"]) == [60_000, None]


def test_a_message_is_younger_than_the_last_sample_that_ended_before_it() -> None:
    """After ten quiet minutes one comes between 60 s and 90 s; by 120 s another one counts again, as the offset went
    back, and no sample ended before that.
    """
    stored = micros(-600) // 1000
    ends = {0: (9, 9), 60: (9, 9), 90: (10, 9), 120: (10, 8)}
    samples = offsets([("b", 0)], {at: [(end, to, to, stored)] for at, (end, to) in ends.items()})
    (backlog,) = backlogs(samples, replayed(0, 3600, {("b", 0): (0,)}))
    assert numbers(backlog.age_ms) == [None, None, 30_000, 720_000]


def test_without_any_known_backlog_there_is_no_quality() -> None:
    (backlog,) = backlogs(offsets(QUEUES, {0: ["9/?", "9/?"]}))
    assert backlog.quality is None


def topic(name: str, messages: Mapping[float, int | None]) -> TopicBacklog:
    times = np.array([micros(at) for at in messages], np.int64)
    values = np.array([UNKNOWN if each is None else each for each in messages.values()], np.int64)
    none = np.zeros_like(values)
    more = {"unknown_queues": none, "age_ms": none, "produced": none, "consumed": none}
    return TopicBacklog(name, times, values, **more, is_filtered=False, is_empty=False, without_offset={})


def test_the_peak_of_a_group_is_at_one_moment_each_topic_by_its_last_sample() -> None:
    first, second = topic("t", {0: 10, 20: 3, 40: 9}), topic("u", {5: 1, 25: 8, 45: None})
    # 10, 11, 4, 11, 17, and 9 with an unknown topic.
    assert peak([first, second]) == Peak(17, micros(40))
    assert peak([first]) == Peak(10, micros(0))
    assert peak([topic("t", {0: None, 20: None})]) is None
    assert peak([]) is None


def test_an_empty_topic_makes_no_peak_known_unless_all_are_empty() -> None:
    empty, unknown = replace(topic("%RETRY%g", {0: 0, 20: 0}), is_empty=True), topic("t", {0: None, 20: None})
    assert peak([empty, unknown]) is None
    assert peak([empty]) == Peak(0, micros(0))
    assert [each.is_empty for each in backlogs(offsets(QUEUES, {0: ["0/0", "0/?"], 30: ["0/0", "0/0"]}))] == [True]
    assert [each.is_empty for each in backlogs(offsets(QUEUES, {0: ["0/0", "0/0"], 30: ["0/0", "1/1"]}))] == [False]
