"""Costs of a condition, from the samples of each queue's own time."""

from collections.abc import Mapping

import pytest

from spark_jobs.domain.model.finding import FindingQueue, Measured, QueueEvidence
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.window import StepWindow
from spark_jobs.domain.rules.evidence import QueueSpan, queue_evidence
from tests.support.samples import offsets, oldest
from tests.support.tables import described
from tests.support.times import micros

PLACES = [("b", 0), ("b", 1)]
ROWS = {
    -30: ["100/100", "50/50"],
    0: ["110/100", "60/58"],
    30: ["130/100", "70/70"],
    60: ["160/120", "80/79"],
    90: ["170/170", "90/90"],
}


#: what | spans of queues 0 and 1, and their roles | samples every 30 s from 0 s on (nothing: `ROWS`) | backlog at the
#: start, at the end and at most, produced and consumed in each span, and in all together
_TABLE = """
samples count from a span's start to before its end    | 0 0-90           |                                       | 10 40 40 50 20 | 10 40 40 50 20
the total is of one moment, not of each queue's maximum | 0 0-90, 1 0-90   | 10/0 10/10, 10/8 20/13, 10/10 20/11   | 10 0 10 0 10, 0 9 9 10 1 | 10 9 10 10 11
a queue counts in its own time only                    | 0 0-60, 1 60-120 |                                       | 10 30 30 20 0, 1 0 1 10 11 | 10 0 30 30 11
one sample shows no growth                             | 0 15-45          |                                       | 30 30 30 - - | 30 30 30 - -
growth is unknown where an offset went back            | 0 0-60, 1 0-60   | 10/8 9/0, 20/3 5/1                    | 2 17 17 10 -, 9 4 9 - 1 | 11 21 21 10 1
who never committed has an unknown backlog             | 0 0-60, 1 0-60   | 9/? 5/1, 12/? 12/?                    | - - - 3 -, 4 - 4 7 - | - - 4 10 -
unknown at first, it did not grow from the others'     | 0 0-90, 1 0-90   | 9/? 5/1, 9/2 5/1, 10/2 6/1            | - 8 8 1 -, 4 5 5 1 0 | - 13 13 2 0
… nothing is unknown of the other queue alone          | 1 0-90           | 9/? 5/1, 9/2 5/1, 10/2 6/1            | 4 5 5 1 0 | 4 5 5 1 0
… unknown in the end, too, it is in neither sum        | 0 0-90, 1 0-90   | 9/? 5/1, 9/2 5/1, 10/? 6/1            | - - 7 1 -, 4 5 5 1 0 | 4 5 11 2 0
a snapshot without the queue is no sample of it        | 0 0-120, 1 0-120 | - 5/1, 20/5 -, 30/7 -, - -            | 15 23 23 10 2, 4 4 4 - - | 4 23 23 10 2
nothing was read in its time                           | 0 5-25           |                                       | - - - - - | - - - - -
nothing was read of the queue                          | 7 0-60           |                                       | - - - - - | - - - - -
the only snapshot has not the queue                    | 0 0-60           | - 5/1                                 | - - - - - | - - - - -
no queue at all                                        |                  |                                       | | - - - - -
a queue in two roles counts once, its growths add up   | 0 0-60 DOUBLE_OWNED, 0 30-90 |                           | 10 30 30 20 0, 30 40 40 30 20 | 10 40 40 50 20
"""  # noqa: E501 - a table


def span(queue_id: int, begin: float, end: float, role: str = "UNASSIGNED", topic: str = "t") -> QueueSpan:
    return QueueSpan(FindingQueue(topic, "b", queue_id, role), micros(begin), micros(end))


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part]


def spanned(text: str) -> QueueSpan:
    queue, time, *role = text.split()
    begin, end = map(int, time.split("-"))
    return span(int(queue), begin, end, *role)


def numbers(text: str) -> Measured:
    return Measured(*(None if word == "-" else int(word) for word in text.split()))


@pytest.mark.parametrize(("spans", "samples", "of_each", "together"), described(_TABLE))
def test_what_a_condition_cost(spans: str, samples: str, of_each: str, together: str) -> None:
    rows = {30 * place: cells.split() for place, cells in enumerate(listed(samples))} or ROWS
    history = GroupHistory("c", "g", offsets={"t": offsets(PLACES, rows)})
    queues, total = queue_evidence(history, None, map(spanned, listed(spans)))
    assert [Measured(*queue[6:]) for queue in queues] == [*map(numbers, listed(of_each))]
    assert total == numbers(together)


def test_without_a_snapshot_nothing_is_known() -> None:
    (queue,), total = queue_evidence(GroupHistory("c", "g"), None, [span(0, 0, 60)])
    assert Measured(*queue[6:]) == total == Measured()


def test_what_came_to_a_queue_without_an_offset_that_nobody_consumes_waits() -> None:
    """1,000 messages at least; its backlog at the end is unknown all the same. With an offset later in the step, the
    messages from before may be none of the group's.
    """
    never = {0: ["100/?", "5/1"], 30: ["600/?", "9/1"], 60: ["1100/?", "9/1"]}
    step = StepWindow(micros(-60), micros(-60), micros(0), micros(120))

    def highest(role: str, rows: Mapping[int, list[str]], cause: str | None = None) -> tuple[Measured, int | None]:
        history = GroupHistory("c", "g", offsets={"t": offsets(PLACES, {**rows})})
        queues, total = queue_evidence(history, cause, [span(0, 0, 90, role), span(1, 0, 90)], window=step)
        return Measured(*queues[0][6:]), total.backlog_max

    assert highest("UNASSIGNED", never) == (Measured(None, None, 1000, produced=1000, consumed=None), 1008)
    assert highest("UNASSIGNED", {0: ["9/?", "9/1"], 60: ["9/?", "9/1"]})[0] == Measured(produced=0)
    assert highest("BEHIND", never) == (Measured(None, None, None, produced=1000, consumed=None), 8)
    for role, cause in (("BEHIND", "NOTHING_PULLED"), ("BEHIND", "NOT_TAKEN"), ("HOLDS_LESS", "HOLDS_LESS")):
        assert highest(role, never, cause) == highest("UNASSIGNED", never)
    assert highest("UNASSIGNED", {**never, 100: ["1200/1190", "9/1"]})[1] == 8


def test_what_lies_in_queues_that_nobody_may_read_is_what_the_topic_holds() -> None:
    read = oldest(PLACES, {0: ["10/30", "9/5"], 30: ["15/70", "?/8"]})
    history = GroupHistory("c", "g", offsets={"t": offsets(PLACES, ROWS)}, topics={"t": read})
    queues, total = queue_evidence(history, "BEYOND_READ_QUEUES", [span(0, 0, 60), span(1, 0, 60)])
    assert [queue[6:] for queue in queues] == [(20, 55, 55, 40, None), (0, None, 0, 3, None)]
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
