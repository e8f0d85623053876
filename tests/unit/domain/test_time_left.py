"""Time until a group has caught up, and until messages are deleted, on paper."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.progress import topic_progress
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.status.time_left import TimeLeft, time_left
from tests.support.builders import audited_step, replayed
from tests.support.kernel import SETTINGS, WINDOW
from tests.support.samples import measured, offsets, oldest

UNKNOWN = TimeLeft()
A_DAY = 86_400


def step(samples: dict[int, list[str]], begins: int = 0, topic: str = "t") -> AuditedStep:
    """One interval with a column of offsets per queue, `next to write/next to consume`."""
    queues: list[Place] = [("b", number) for number in range(len(next(iter(samples.values()))))]
    interval = replayed(begins, 3600, dict.fromkeys(queues, (0,)), topic=topic)
    of_topic = offsets(queues, samples)
    of_interval = topic_progress([interval], of_topic, WINDOW, SETTINGS)
    return audited_step(interval, progress=of_interval, offsets={topic: of_topic})


def caught_up_in(samples: dict[int, list[str]], begins: int = 0) -> tuple[bool | None, float | None]:
    return time_left(step(samples, begins))[:2]


#: Samples of one queue by their seconds; whether it catches up, in how many seconds.
@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        # 2 a second come in and 3 go out: 1,000 are left after 300 s.
        ({0: "2000/700", 300: "2600/1600"}, (True, 1000.0)),
        # A third of the time is left.
        ({0: "1000/400", 300: "1000/800"}, (True, 150.0)),
        ({0: "1000/0", 300: "1100/0"}, (False, None)),
        ({0: "1000/0", 300: "1000/0"}, (False, None)),
        ({0: "1000/0", 300: "1300/300"}, (False, None)),
        # 32 are allowed, and 33 not, where nothing is consumed.
        ({0: "32/0", 300: "32/0"}, (True, 0.0)),
        ({0: "33/0", 300: "33/0"}, (False, None)),
        # 10 a second are consumed: 32, and what comes in 5 s, look as if they waited until the next commit.
        ({0: "0/0", 300: "3082/3000"}, (True, 0.0)),
        ({0: "0/0", 300: "3083/3000"}, (False, None)),
        # An offset that went back consumes nothing.
        ({0: "1000/1000", 300: "1000/968"}, (True, 0.0)),
        ({0: "1000/967", 300: "1000/900"}, (False, None)),
        # The last 300 s count: the 600 messages at 100 s were 300 at 400 s.
        ({0: "900/900", 100: "1500/900", 400: "1500/1200"}, (True, 300.0)),
        ({0: "900/900", 99: "1500/900", 400: "1500/1200"}, (None, None)),
        # One sample shows no pace, and without a known lag nothing is known.
        ({0: "1000/0"}, (None, None)),
        ({0: "32/0"}, (True, 0.0)),
        ({0: "1000/?", 300: "1000/?"}, (None, None)),
        ({0: "1000/?", 100: "1000/400", 200: "1000/600", 300: "1000/?"}, (True, 200.0)),
    ],
)
def test_a_queue_has_caught_up(samples: dict[int, str], expected: tuple[bool | None, float | None]) -> None:
    assert caught_up_in({at: [text] for at, text in samples.items()}) == expected


def test_a_group_has_caught_up_when_its_last_queue_has() -> None:
    """One needs 100 s, one 200 s, and one has no lag."""
    fast, slow, done = ("900/0", "900/675"), ("900/0", "900/540"), ("900/900", "900/900")
    assert caught_up_in({0: [fast[0], slow[0], done[0]], 300: [fast[1], slow[1], done[1]]}) == (True, 200.0)
    stands, new = ("900/0", "900/0"), ("-", "900/0")
    assert caught_up_in({0: [fast[0], stands[0]], 300: [fast[1], stands[1]]}) == (False, None)
    assert caught_up_in({0: [fast[0], new[0]], 300: [fast[1], new[1]]}) == (None, None)
    assert caught_up_in({0: [stands[0], new[0]], 300: [stands[1], new[1]]}) == (False, None)
    assert caught_up_in({0: [fast[0], "9/?"], 300: [fast[1], "9/?"]}) == (True, 100.0)
    # Messages came to the other queue, and nobody knows whether they wait.
    assert caught_up_in({0: [fast[0], "9/?"], 300: [fast[1], "10/?"]}) == (None, None)
    assert caught_up_in({0: [stands[0], "9/?"], 300: [stands[1], "10/?"]}) == (False, None)


def test_the_pace_is_that_of_the_last_interval() -> None:
    """Nobody consumed until 200 s, when it began; since then 2 a second."""
    samples = {0: ["1000/0"], 200: ["1000/0"], 300: ["1000/200"]}
    assert caught_up_in(samples) == (True, 1200.0)
    assert caught_up_in(samples, begins=200) == (True, 400.0)


def test_every_topic_counts_with_its_last_interval_that_was_read() -> None:
    first, second = step({0: ["900/0"], 300: ["900/675"]}), step({0: ["900/0"], 300: ["900/540"]}, topic="u")
    unread = measured(replayed(300, 3600, {("b", 0): (0,)}))
    read = {**first.history.offsets, **second.history.offsets}
    both = audited_step(progress=[*first.progress, unread, *second.progress], offsets=read)
    assert time_left(both)[:2] == (True, 200.0)
    assert time_left(audited_step()) == UNKNOWN


#: Of one queue with a lag of 100 at 1,000 s, that consumes half a message a second: its age (seconds) and its lag at
#: first; the consumer's offset; the oldest offsets at 0 s and at 1,000 s. Seconds until messages are deleted.
@pytest.mark.parametrize(
    ("age", "lag_first", "lag_last", "offset", "kept", "expected"),
    [
        # Brokers keep messages for three days.
        (A_DAY, 100, 100, None, None, 2.0 * A_DAY),
        (A_DAY, 100, 32, None, None, None),
        (A_DAY, None, 100, None, None, None),
        # 32 are allowed: those that wait came since the interval began, 1,000 s before.
        (4 * A_DAY, 32, 100, None, None, 3 * A_DAY - 1000.0),
        (999, 32, 100, None, None, 3 * A_DAY - 999.0),
        (2000, 33, 100, None, None, 3 * A_DAY - 2000.0),
        (3 * A_DAY + 60, 100, 100, None, None, 0.0),
        (4 * A_DAY, 100, 100, None, None, None),
        (None, 100, 100, None, None, None),
        # 1 message a second is deleted: 6,000 are gained upon by half a message a second.
        (None, 100, 100, 12_000, (5000, 6000), 12_000.0),
        (A_DAY, 100, 100, 12_000, (5000, 6000), 12_000.0),
        (3 * A_DAY - 60, 100, 100, 12_000, (5000, 6000), 60.0),
        (None, 100, 100, 5999, (5000, 6000), 0.0),
        (None, 100, 100, 12_000, (5500, 6000), None),
        (None, 100, 32, 12_000, (5000, 6000), None),
        (None, 100, 100, None, (5000, 6000), None),
    ],
)
def test_messages_are_deleted(
    age: int | None,
    lag_first: int | None,
    lag_last: int,
    offset: int | None,
    kept: tuple[int, int] | None,
    expected: float | None,
) -> None:
    numbers: dict[str, int | None] = {"lag_first": lag_first, "lag_last": lag_last, "consumer_offset": offset}
    numbers |= {"age_ms": None if age is None else 1000 * age, "consumed": 500, "last_reading_at": 1000}
    columns: dict[str, Any] = {name: [number] for name, number in numbers.items()}
    row = measured(replayed(0, 3600, {("b", 0): (0,)}), **columns)
    looks = oldest([("b", 0)], {0: [f"{kept[0]}/9"], 1000: [f"{kept[1]}/9"]}) if kept else None
    found = audited_step(progress=[row], topics={"t": looks} if looks else {})
    assert time_left(found).retention_left_seconds == expected


def test_the_first_message_of_all_queues_counts() -> None:
    ages = [2 * A_DAY * 1000, A_DAY * 1000, None]
    interval = replayed(0, 3600, {("b", number): (0,) for number in range(3)})
    row = measured(interval, lag_first=[100] * 3, lag_last=[100] * 3, age_ms=ages)
    later = replace(row, interval=replace(row.interval, topic="u"), age_ms=row.age_ms - 3_600_000)
    assert time_left(audited_step(progress=[row, later])).retention_left_seconds == A_DAY
    assert time_left(audited_step(progress=[later])).retention_left_seconds == A_DAY + 3600
