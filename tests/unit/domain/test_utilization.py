"""Utilization of a group: its traffic against the capacity of its members, on paper."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.status.utilization import Utilization, utilization
from tests.support.builders import audited_step, replayed
from tests.support.kernel import group_histories
from tests.support.samples import measured
from tests.support.tables import described
from tests.support.what_if import client_row, status

#: What a client of the tables sets: its pulls of a queue take 200 ms together, which is 160 messages a second.
SETTINGS = {"pull_interval_ms": 199}
UNKNOWN = Utilization()


def clients(*lines: str, seconds: tuple[int, ...] = (600, 1200)) -> dict[str, ClientHistory]:
    """Each `id threads response-ms`, and what it sets beside that, as `orderly` or `batch=10`; it says so each time."""
    rows = []
    for line in lines:
        client_id, threads, response_ms, *more = line.split()
        settings: dict[str, Any] = SETTINGS | {"consume_threads": int(threads)}
        for setting in more:
            settings |= {"consume_orderly": True} if setting == "orderly" else {"consume_batch_size": int(setting[6:])}
        rows += [client_row(at, client_id, [status(f"{response_ms}/9/1/9")], **settings) for at in seconds]
    (history,) = group_histories({CLIENT_SNAPSHOTS: rows})
    return dict(history.clients)


def row(line: str, topic: str = "t", **more: Any) -> IntervalProgress:
    """`start-end owners messages …`: per queue the client ids that own it, as `A` or `A+B` (`-`: nobody), and messages
    that came, `?`: unknown; `unread`: nobody read its offsets.
    """
    time, *cells = line.split()
    start, end = map(int, time.split("-"))
    ids = sorted({client_id for owners in cells[::2] for client_id in owners.split("+") if client_id != "-"})
    owners: dict[Place, tuple[int, ...]] = {
        ("b", number): tuple(ids.index(client_id) for client_id in text.split("+") if client_id != "-")
        for number, text in enumerate(cells[::2])
    }
    produced = [None if text in ("?", "unread") else int(text) for text in cells[1::2]]
    samples = [int(text != "unread") for text in cells[1::2]]
    return measured(replayed(start, end, owners, " ".join(ids), topic, **more), produced=produced, readings=samples)


def step(told: dict[str, ClientHistory], *rows: IntervalProgress) -> AuditedStep:
    found = audited_step(*(row_of_step.interval for row_of_step in rows), progress=rows)
    return replace(found, history=replace(found.history, clients=told))


#: what | clients | intervals | messages a second that came | utilization, of the busiest, who, by what, headroom
_TABLE = """
one thread that takes 400 ms: 2.5 a second; 4,500 in an hour are 1.25 | A 1 400 | 0-3600 A 4500 | 1.25 | 0.5 0.5 A LISTENER 1.25
four threads                                       | A 4 400 | 0-3600 A 4500 | 1.25 | 0.125 0.125 A LISTENER 8.75
more than it can do                                | A 1 400 | 0-3600 A 18000 | 5 | 2 2 A LISTENER 0
B does 50 a second: 4 of 52.5 come, and 5 make A fall behind | A 1 400, B 1 20 | 0-3600 A 7200 B 7200 | 4 | 0.07619 0.8 A LISTENER 1
of equals the first                                | B 1 400, A 1 400 | 0-3600 B 4500 A 4500 | 2.5 | 0.5 0.5 A LISTENER 2.5
ten messages in a call of 400 ms: 25 a second      | A 1 400 batch=10 | 0-3600 A 4500 | 1.25 | 0.05 0.05 A LISTENER 23.75
a listener that takes no time: 160 a second of each queue | A 1 0 | 0-3600 A 288000 A 288000 | 160 | 0.5 0.5 A PULLS 160
144 a second into one queue, 24 on average         | A 1 0 | 0-3600 A 518400 A 0 A 0 | 144 | 0.3 0.9 A HOT_QUEUE 16
… at half of it it is no hot one                   | A 1 0 | 0-3600 A 518400 A 0 | 144 | 0.45 0.9 A PULLS 16
orderly: 20 threads do 1,000 a second, one thread 50 of each queue | A 20 20 orderly | 0-3600 A 144000 A 144000 | 80 | 0.8 0.8 A ORDERED_QUEUE 20
… a fast listener waits for the pulls              | A 20 1 orderly | 0-3600 A 288000 A 288000 | 160 | 0.5 0.5 A PULLS 160
one of several threads takes as much as the pulls bring | A 20 6.25 | 0-3600 A 288000 | 80 | 0.5 0.5 A PULLS 80
both owners of a queue get all of it               | A 1 400, B 1 400 | 0-3600 A+B 4500 | 1.25 | 0.5 0.5 A LISTENER 1.25
a member counts while it owns queues: 4,500 in half an hour are 2.5 | A 1 400, B 1 400 | 0-1800 A 4500, 1800-3600 B 2250 | 2.5 | 0.75 1 A LISTENER 0
the next sample shows what came before: 250 in 200 s | A 1 400 | 0-100 A 125, 100-110 A unread, 110-200 A 125 | 1.25 | 0.5 0.5 A LISTENER 1.25
… from the beginning                               | A 1 400 | 0-100 A unread, 100-200 A 125 | 1.25 | 0.5 0.5 A LISTENER 1.25
the first sample of a queue does not               | A 1 0 | 0-100 A ? A 8000, 100-200 A 8000 A 8000 | 120 | 0.5 0.5 A PULLS 120
the pace of B is unknown, and it received as much as A | A 1 400 | 0-3600 A 4500 B 4500 | 2.5 | 0.5 0.5 A LISTENER 2.5
… it received more: all is unknown                 | A 1 400 | 0-3600 A 4500 B 4501 | 2.5 |
a queue without an owner received more             | A 1 400 | 0-3600 A 4500 - 4501 | 2.5 |
a message that comes twice counts twice            | A 1 400 | 0-3600 A 4500 B+C 2251 | 2.5 |
no client reports                                  |         | 0-3600 A 4500 | 1.25 |
nothing came                                       | A 1 400 | 0-3600 A 0 | 1.25 |
what came is unknown                               | A 1 400 | 0-3600 A ? | 1.25 |
no offsets were read                               | A 1 400 | 0-3600 A unread | 1.25 |
nothing was replayed                               | A 1 400 |  | 1.25 |
the rate is unknown                                | A 1 400 | 0-3600 A 4500 |  |
the rate is 0                                      | A 1 400 | 0-3600 A 4500 | 0 |
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("told", "lines", "rate", "expected"), described(_TABLE))
def test_what_came_in_is_a_part_of_what_can_be_consumed(told: str, lines: str, rate: str, expected: str) -> None:
    reported = clients(*told.split(",")) if told else {}
    found = utilization(
        step(reported, *(row(line) for line in lines.split(",") if line)), float(rate) if rate else None
    )
    numbers = [word if word.isupper() else float(word) for word in expected.split()]
    assert found == (pytest.approx(numbers) if expected else UNKNOWN)


@pytest.mark.parametrize(("rewound", "utilization_then"), [(4500, 0.5), (4501, None)])
def test_who_receives_messages_again_is_unknown(rewound: int, utilization_then: float | None) -> None:
    of_step = replace(row("0-3600 A 4500"), rewound=np.array([rewound]))
    assert utilization(step(clients("A 1 400"), of_step), 1.25).utilization == utilization_then


def test_if_brokers_disagree_or_several_members_pop_it_is_unknown_who_received() -> None:
    told = clients("A 1 400")
    assert utilization(step(told, row("0-3600 A 4500", view="broker-a")), 1.25) == UNKNOWN
    popped = row("0-3600 A 4500")
    members = tuple(member.under("POP-AVG+2") for member in popped.interval.members or ())
    assert utilization(step(told, replace(popped, interval=replace(popped.interval, members=members))), 1.25) == UNKNOWN


def test_topics_share_the_threads_and_the_time() -> None:
    # 1.25 a second of each topic, and a half of the hour of the second one only.
    rows = row("0-3600 A 4500", "t"), row("0-1800 A 2250", "u")
    assert utilization(step(clients("A 2 400"), *rows), 1.875) == pytest.approx((0.375, 0.375, "A", "LISTENER", 3.125))


def test_a_queue_is_hot_among_those_of_its_topic() -> None:
    rows = row("0-3600 A 288000", "t"), row("0-3600 A 0 A 0 A 0", "u")
    assert utilization(step(clients("A 1 0"), *rows), 80.0).busiest_bottleneck == "PULLS"


def test_who_owns_queues_of_which_no_message_is_counted_is_unknown() -> None:
    told = clients("A 1 400", "B 1 400")
    rows = row("0-3600 A 4500 B 4500", "t"), row("0-3600 B unread", "u")
    assert utilization(step(told, *rows), 2.5) == pytest.approx((0.5, 0.5, "A", "LISTENER", 2.5))
    both = row("0-3600 A 4500 B 4500", "t"), row("0-3600 A unread B unread", "u")
    assert utilization(step(told, *both), 2.5) == UNKNOWN
    # Offsets of a retry topic are there once anything was sent to it.
    retry = row("0-3600 A 4500", "t"), row("0-3600 A unread", "%RETRY%g")
    assert utilization(step(told, *retry), 1.25).utilization == 0.5


def test_only_reports_of_the_step_count() -> None:
    before, inside, after = (clients(f"A {threads} 400", seconds=(at,)) for threads, at in ((1, -1), (2, 0), (4, 3600)))
    of_step = row("0-3600 A 4500")
    assert utilization(step(before, of_step), 1.25) == UNKNOWN
    assert utilization(step(inside, of_step), 1.25).utilization == 0.25
    assert utilization(step(after, of_step), 1.25) == UNKNOWN


def test_the_response_time_is_that_of_the_average_message() -> None:
    # 90 messages a second that take 10 ms, and 10 that take 110: 20 ms, so 50 a second.
    rows = [
        client_row(at, "A", [status(minute)], **SETTINGS)
        for at, minute in ((600, "10/90/1/90"), (660, "110/10/1/10"), (720, "900/0/1/0"))
    ]
    (history,) = group_histories({CLIENT_SNAPSHOTS: rows})
    found = utilization(step(dict(history.clients), row("0-3600 A 90000")), 25.0)
    assert found == pytest.approx((0.5, 0.5, "A", "LISTENER", 25.0))


def test_the_settings_are_those_that_were_reported_last() -> None:
    first, last = (
        client_row(at, "A", [status("400/9/1/9")], **SETTINGS | {"consume_threads": threads})
        for at, threads in ((600, 1), (1200, 2))
    )
    (history,) = group_histories({CLIENT_SNAPSHOTS: [first, last]})
    assert utilization(step(dict(history.clients), row("0-3600 A 4500")), 1.25).utilization == 0.25
