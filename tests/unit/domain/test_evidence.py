"""Costs of a condition, from the samples of each queue's own time."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.domain.model.finding import FindingQueue, Measured, QueueEvidence
from spark_jobs.domain.model.history import GroupHistory, OffsetReadings, TopicReadings
from spark_jobs.domain.model.window import StepWindow
from spark_jobs.domain.rules.evidence import QueueSpan, queue_evidence
from tests.support.samples import offsets, oldest
from tests.support.times import micros

PLACES = [("b", 0), ("b", 1)]
ROWS = {
    -30: ["100/100", "50/50"],
    0: ["110/100", "60/58"],
    30: ["130/100", "70/70"],
    60: ["160/120", "80/79"],
    90: ["170/170", "90/90"],
}


def span(queue_id: int, begin: float, end: float, role: str = "UNASSIGNED", topic: str = "t") -> QueueSpan:
    return QueueSpan(FindingQueue(topic, "b", queue_id, role), micros(begin), micros(end))


def measure(
    *spans: QueueSpan,
    cause: str | None = None,
    of_group: OffsetReadings | None = None,
    of_topic: TopicReadings | None = None,
) -> tuple[list[Measured], Measured]:
    read, held = {"t": of_group} if of_group else {}, {"t": of_topic} if of_topic else {}
    queues, total = queue_evidence(GroupHistory("c", "g", offsets=read, topics=held), cause, spans)
    return [Measured(*queue[6:]) for queue in queues], total


def test_readings_count_from_the_start_of_the_span_to_before_its_end() -> None:
    queues, total = measure(span(0, 0, 90), of_group=offsets(PLACES, ROWS))
    assert queues == [Measured(10, 40, 40, produced=50, consumed=20)]
    assert total == queues[0]


def test_the_total_is_of_one_moment_not_of_the_highest_of_each_queue() -> None:
    rows = {0: ["10/0", "10/10"], 30: ["10/8", "20/13"], 60: ["10/10", "20/11"]}
    queues, total = measure(span(0, 0, 90), span(1, 0, 90), of_group=offsets(PLACES, rows))
    assert [queue.backlog_max for queue in queues] == [10, 9]
    assert total == Measured(backlog_start=10, backlog_end=9, backlog_max=10, produced=0 + 10, consumed=10 + 1)


def test_a_queue_counts_in_its_own_time_only() -> None:
    queues, total = measure(span(0, 0, 60), span(1, 60, 120), of_group=offsets(PLACES, ROWS))
    assert queues == [Measured(10, 30, 30, 20, 0), Measured(1, 0, 1, 10, 11)]
    assert total == Measured(10, 0, 30, 30, 11)


def test_one_reading_shows_no_growth() -> None:
    queues, _ = measure(span(0, 15, 45), of_group=offsets(PLACES, ROWS))
    assert queues == [Measured(30, 30, 30, None, None)]


def test_an_offset_that_went_back_leaves_its_growth_unknown() -> None:
    back = {0: ["10/8", "9/0"], 30: ["20/3", "5/1"]}
    queues, total = measure(span(0, 0, 60), span(1, 0, 60), of_group=offsets(PLACES, back))
    assert queues == [Measured(2, 17, 17, produced=10, consumed=None), Measured(9, 4, 9, produced=None, consumed=1)]
    assert (total.produced, total.consumed) == (10, 1)


def test_who_never_committed_has_an_unknown_backlog() -> None:
    rows = {0: ["9/?", "5/1"], 30: ["12/?"] * 2}
    queues, total = measure(span(0, 0, 60), span(1, 0, 60), of_group=offsets(PLACES, rows))
    assert queues == [Measured(None, None, None, 3, None), Measured(4, None, 4, 7, None)]
    # The queue that was known at first is not in the end: two sums over different queues would be no shrinking.
    assert total == Measured(backlog_start=None, backlog_end=None, backlog_max=4, produced=10, consumed=None)


def test_what_came_to_a_queue_without_an_offset_that_nobody_consumes_waits() -> None:
    """1,000 messages at least; its backlog at the end is unknown all the same. With an offset later in the step, the
    messages from before may be none of the group's.
    """
    never = {0: ["100/?", "5/1"], 30: ["600/?", "9/1"], 60: ["1100/?", "9/1"]}
    step = StepWindow(micros(-60), micros(-60), micros(0), micros(120))

    def highest(role: str, rows: Mapping[int, list[str]]) -> tuple[Measured, int | None]:
        history = GroupHistory("c", "g", offsets={"t": offsets(PLACES, {**rows})})
        queues, total = queue_evidence(history, None, [span(0, 0, 90, role), span(1, 0, 90)], window=step)
        return Measured(*queues[0][6:]), total.backlog_max

    assert highest("UNASSIGNED", never) == (Measured(None, None, 1000, produced=1000, consumed=None), 1008)
    assert highest("BEHIND", never) == (Measured(None, None, None, produced=1000, consumed=None), 8)
    assert highest("UNASSIGNED", {**never, 100: ["1200/1190", "9/1"]})[1] == 8


def test_a_backlog_that_is_unknown_at_first_did_not_grow_from_that_of_the_other_queues() -> None:
    rows = {0: ["9/?", "5/1"], 30: ["9/2", "5/1"], 60: ["10/2", "6/1"]}
    queues, total = measure(span(0, 0, 90), span(1, 0, 90), of_group=offsets(PLACES, rows))
    assert queues == [Measured(None, 8, 8, 1, None), Measured(4, 5, 5, 1, 0)]
    assert total == Measured(backlog_start=None, backlog_end=13, backlog_max=13, produced=2, consumed=0)
    # Where only the queue is asked for that was known all the time, nothing is unknown.
    assert measure(span(1, 0, 90), of_group=offsets(PLACES, rows))[1].backlog_start == 4
    # What is not known in the end is in neither sum.
    rows[60] = ["10/?", "6/1"]
    assert measure(span(0, 0, 90), span(1, 0, 90), of_group=offsets(PLACES, rows))[1] == Measured(4, 5, 11, 2, 0)


def test_a_snapshot_without_the_queue_is_no_reading_of_it() -> None:
    rows = {0: ["-", "5/1"], 30: ["20/5", "-"], 60: ["30/7", "-"], 90: ["-", "-"]}
    queues, total = measure(span(0, 0, 120), span(1, 0, 120), of_group=offsets(PLACES, rows))
    assert queues == [Measured(15, 23, 23, 10, 2), Measured(4, 4, 4, None, None)]
    assert total == Measured(4, 23, 23, 10, 2)


def test_nothing_was_read() -> None:
    unknown = [Measured()], Measured()
    assert measure(span(0, 0, 60)) == unknown
    assert measure(span(0, 5, 25), of_group=offsets(PLACES, ROWS)) == unknown
    assert measure(span(7, 0, 60), of_group=offsets(PLACES, ROWS)) == unknown
    assert measure(span(0, 0, 60), of_group=offsets(PLACES, {0: ["-", "5/1"]})) == unknown
    assert measure() == ([], Measured())


def test_a_queue_in_two_roles_counts_once() -> None:
    spans = span(0, 0, 60, "DOUBLE_OWNED"), span(0, 30, 90, "UNASSIGNED")
    queues, total = measure(*spans, of_group=offsets(PLACES, ROWS))
    assert queues == [Measured(10, 30, 30, 20, 0), Measured(30, 40, 40, 30, 20)]
    # Growths are those of its roles, one after the other.
    assert total == Measured(10, 40, 40, 50, 20)


def test_what_lies_in_queues_that_nobody_may_read_is_what_the_topic_holds() -> None:
    read = oldest(PLACES, {0: ["10/30", "9/5"], 30: ["15/70", "?/8"]})
    spans, of_group = (span(0, 0, 60), span(1, 0, 60)), offsets(PLACES, ROWS)
    queues, total = measure(*spans, cause="BEYOND_READ_QUEUES", of_group=of_group, of_topic=read)
    assert queues == [Measured(20, 55, 55, produced=40, consumed=None), Measured(0, None, 0, 3, None)]
    assert total == Measured(20, 55, 55, 43, None)


def test_what_the_group_consumed_before_a_queue_became_unreadable_does_not_wait_in_it() -> None:
    """Offset 100 at -30 s is the last one before: of 160 messages 60 wait."""
    read = oldest(PLACES, {0: ["10/130", "9/50"], 60: ["10/160", "9/60"]})
    history = GroupHistory("c", "g", offsets={"t": offsets(PLACES, ROWS)}, topics={"t": read})
    window = StepWindow(micros(-60), micros(-60), micros(0), micros(120))
    (queue,), _ = queue_evidence(history, "BEYOND_READ_QUEUES", [span(0, 0, 90)], window=window)
    assert Measured(*queue[6:]) == Measured(30, 60, 60, produced=30, consumed=None)


def test_topics_are_added_up_and_queues_are_in_order() -> None:
    history = GroupHistory(
        "c",
        "g",
        offsets={
            "t": offsets([("b", 0)], {0: ["10/4"], 30: ["11/4"]}),
            "u": offsets([("b", 0)], {5: ["100/1"], 35: ["100/2"]}),
        },
    )
    queues, total = queue_evidence(history, None, [span(0, 0, 60, topic="u"), span(0, 0, 60)])
    assert queues == [
        QueueEvidence("t", "b", 0, "UNASSIGNED", micros(0), micros(60), 6, 7, 7, 1, 0),
        QueueEvidence("u", "b", 0, "UNASSIGNED", micros(0), micros(60), 99, 98, 99, 0, 1),
    ]
    assert total == Measured(6 + 99, 7 + 98, 7 + 99, 1, 1)


def test_an_empty_topic_does_not_make_a_backlog_known() -> None:
    retry = offsets([("b", 0)], {0: ["0/0"], 30: ["0/0"]})
    unknown = offsets([("b", 0)], {0: ["9/?"], 30: ["12/?"]})
    history = GroupHistory("c", "g", offsets={"%RETRY%g": retry, "t": unknown})
    both = span(0, 0, 60, topic="%RETRY%g"), span(0, 0, 60)
    queues, total = queue_evidence(history, None, both)
    assert [queue[6:] for queue in queues] == [(0, 0, 0, 0, 0), (None, None, None, 3, None)]
    assert total == Measured(None, None, None, produced=3, consumed=None)
    assert queue_evidence(history, None, both[:1])[1] == Measured(0, 0, 0, 0, 0)
