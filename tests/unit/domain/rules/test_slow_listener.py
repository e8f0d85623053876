"""SLOW_LISTENER on the hour of `client_groups`, and its measures."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rules.slow_listener import RULE
from tests.support.builders import interval, members, rebalance, span
from tests.support.client_groups import audited, hits_of, measured
from tests.support.client_steps import recorded_step, replayed
from tests.support.findings import rule_hit
from tests.support.samples import offsets
from tests.support.snapshots import client
from tests.support.times import micros

SLOWER = {"consume_rt_ms": 200, "pull_rt_ms": 50, "usual_consume_rt_ms": 20, "usual_pull_rt_ms": 50}
BUSY = {"busy_threads": 1, "consume_threads": 1, "consume_rt_ms": 400, "pull_rt_ms": 1}
ABOUT: dict[str, Any] = {"client_id": "c1", "implicated": "c1", "minimum_seconds": 120.0, "severity": "WARN"}


def test_busy_is_one_hit_per_span_of_the_client() -> None:
    fewer = "It has 1 consume thread, other members have 20 or more."
    expected = rule_hit(200, 320, "ALL_THREADS_BUSY", weight=1.0, measures=BUSY, hint=fewer, **ABOUT)
    assert hits_of(RULE, "busy") == [expected]


@pytest.mark.parametrize(
    ("members", "says"),
    [
        # From 0 s, 130 s, 190 s, and 300 s on; busy from 200 s to 320 s.
        ((6, 4, 2, 2), "4 of 6 members left at {}, and did not come back: those that stay are too few."),
        ((6, 4, 2, 3), "3 of 6 members left at {}, and did not come back"),
        ((6, 4, 2, 6), None),
    ],
)
def test_threads_that_became_busy_once_after_members_left_say_nothing_of_an_autoscaler(
    members: tuple[int, ...], says: str | None
) -> None:
    step, times = audited("busy"), pairwise([0, 130, 190, 300, 3600])
    intervals = [
        replayed("t", *time, {f"c{number}": [number] for number in range(count)}, 6)
        for time, count in zip(times, members, strict=True)
    ]
    left = [rebalance(second, left=("c5",)) for second in (130, 190)]
    (hit,) = RULE.hits(replace(step, intervals=intervals, rebalances=left))
    assert "It began" not in (hit.hint or "")
    hint = (hit.hint or "").replace("2026-03-01T10:03:10Z", "{}")
    assert says in hint if says else "did not come back" not in hint


def test_own_queues_in_which_messages_wait_are_named() -> None:
    """More than the allowed lag, 32, at a sample of that time (200 s to 320 s)."""
    lags = {180: (33, 0, 0, 0), 200: (0, 32, 0, 33), 319: (0, 0, 33, 0), 320: (33, 0, 0, 0)}
    rows = {second: [f"1000/{1000 - lag}" for lag in of_second] for second, of_second in lags.items()}
    read = {topic: offsets([("b", number) for number in range(4)], rows) for topic in ("t", "%RETRY%g")}
    step = audited("busy")
    owned = [replayed(topic, 0, 3600, {"c1": [0, 1, 2], "c2": [3]}, 4) for topic in read]
    hits = RULE.hits(replace(step, intervals=owned, history=replace(step.history, offsets=read)))
    assert [(hit.queue and hit.queue[:3], span(hit)) for hit in hits] == [
        (None, "200-320"),
        (("t", "b", 2), "200-320"),
    ]


@pytest.mark.parametrize(("name", "is_named"), [("busy-shared", True), ("busy-evenly", False), ("busy", False)])
def test_a_topic_that_takes_nearly_all_time_of_threads_that_others_share_is_named(name: str, is_named: bool) -> None:
    """Topic t takes 400 ms a message and 80 % of the thread, or 79 %, or there is no other topic."""
    (hit,) = RULE.hits(audited(name))
    says = "t takes 80 % of the threads' time, 400 ms a message. u must wait for the same threads: give"
    assert (says in (hit.hint or "")) is is_named


@pytest.mark.parametrize(("other_ms", "says"), [(133.0, True), (134.0, False), (None, False)])
@pytest.mark.parametrize("consume_threads", [1, 20])
def test_that_only_one_member_is_slow_is_said_first(consume_threads: int, other_ms: float | None, says: bool) -> None:
    """400 ms from 200 s on, with all threads busy or not: three times what another member takes, who consumes it."""
    rows = [
        client(second, name, consume_threads=consume_threads, consume_status=[measured("t", rt, 2.5, 0.0, 1.0, 2.5)])
        for second in range(-100, 500, 20)
        for name, rt in (("c1", 400.0 if 200 <= second < 480 else 20.0), ("c2", other_ms))
        if rt is not None
    ]
    hits = RULE.hits(recorded_step(rows, replayed("t", 0, 660, {"c1": [0], "c2": [1]}, 2)))
    said = {hit.explanation for hit in hits if hit.client_id == "c1"}
    faster = "A message of t takes 400 ms here, and 133 ms at most at the other members: look at what is different at "
    assert (
        said == {f"{faster}this one (its host, its connections to databases and services), or restart it."}
        if says
        else {None}
    )


def test_slower_is_one_hit_per_snapshot_and_topic() -> None:
    rose = {"hint": "A call for t took 20 ms, and takes up to 200 ms since 2026-03-01T10:03:20Z."}
    assert hits_of(RULE, "slower") == [
        rule_hit(second, second + 20, "RESPONSE_TIME_ROSE", topic="t", weight=200.0, measures=SLOWER, **rose, **ABOUT)
        for second in range(200, 320, 20)
    ]


@pytest.mark.parametrize(
    ("until", "causes"), [(280, {"ALL_THREADS_BUSY", "RESPONSE_TIME_ROSE"}), (300, {"ALL_THREADS_BUSY"})]
)
def test_a_client_whose_threads_are_all_busy_is_not_also_slower(until: int, causes: set[str]) -> None:
    """From 200 s on its thread is busy, until a snapshot 20 s later; too short a time is no finding."""
    rows = [
        client(second, consume_threads=1, consume_status=[measured("t", rt, 2.5, 0.0, 1.0, 2.5)])
        for second in range(-100, 500, 20)
        for rt in [400.0 if 200 <= second <= until else 20.0]
    ]
    assert {hit.cause for hit in RULE.hits(recorded_step(rows, replayed("t", 0, 660, {"c1": [0]}, 1)))} == causes


@pytest.mark.parametrize(
    "busy",
    [
        [(200, 300)],  # it is slower again later, by then with a thread to spare
        [(200, 240), (400, 440), (600, 640)],  # each time for a minute, which is no finding
        [(-200, -60)],  # it was busy before the step
    ],
    ids=str,
)
def test_a_client_is_slower_though_it_was_busy_at_another_time_or_not_for_long(busy: list[tuple[int, int]]) -> None:
    rows = [
        client(second, consume_threads=1, consume_status=[measured("t", rt, tps, 0.0, 1.0, tps)])
        for second in range(-400, 1200, 20)
        for is_busy in [any(start <= second <= end for start, end in busy)]
        for rt, tps in [(400.0, 2.5) if is_busy else (400.0, 1.0) if second >= 1000 else (20.0, 2.5)]
    ]
    hits = RULE.hits(recorded_step(rows, replayed("t", 0, 1260, {"c1": [0]}, 1)))
    assert any(hit.cause == "RESPONSE_TIME_ROSE" and hit.start == micros(1000) for hit in hits)


def test_what_was_so_before_is_measured_too() -> None:
    assert [hit.measures for hit in hits_of(RULE, "slower-since")] == [SLOWER] * 7


@pytest.mark.parametrize(
    ("threads", "others", "says"),
    [
        ((20, 1), (), "Members had 20 consume threads or more until 2026-03-01T10:03Z, and have 1 at most since."),
        ((2, 1), (), "Members had 2 consume threads or more"),
        ((1, 1), (), None),
        ((20, 1), (1, 1), None),  # it has had as few before
        ((20, 1), (20, 20), None),  # it still has more
        ((20, 1), (20, 2), "Members had 20 consume threads or more until 2026-03-01T10:03Z, and have 2 at most since."),
        ((20, 1), (20, None), "Members had 20 consume threads or more"),
    ],
    ids=str,
)
def test_members_had_more_threads_before(
    threads: tuple[int, int], others: tuple[int, int | None], says: str | None
) -> None:
    """Until 180 s, and from 200 s on, when c1 has no more than its one message in the listener."""
    rows = [
        client(second, client_id=name, consume_threads=of[second >= 200], consume_status=statuses)
        for name, of, status in (("c1", threads, 2.5), ("c2", others, 0.01))
        for statuses in [[measured("t", 400.0, status, 0.0, 1.0, status)]]
        for second in range(0, 320, 20)
        if of
    ]
    hits = RULE.hits(recorded_step(rows, replayed("t", 0, 660, {"c1": [0], "c2": [1]}, 2)))
    hint = next(hit.hint or "" for hit in hits if hit.end > micros(200) and hit.client_id == "c1")
    assert says in hint if says else "Members had" not in hint


@pytest.mark.parametrize(
    ("topic", "before", "since", "says"),
    [
        ("t", 10, 24, "Since 2026-03-01T10:02:40Z 24.0 messages/s came, before 10.0."),
        ("t", 10, 15, "Since 2026-03-01T10:02:40Z 15.0 messages/s came, before 10.0."),
        ("t", 10, 14, None),
        ("t", 0, 24, None),
        ("%RETRY%g", 10, 24, None),
    ],
)
def test_threads_that_became_busy_as_more_came_say_so(topic: str, before: int, since: int, says: str | None) -> None:
    """The client is busy from 200 s to 320 s; more comes from 160 s on, to the first of two queues."""
    ends = {second: before * second + max(second - 160, 0) * (since - before) for second in range(-300, 700, 20)}
    read = {topic: offsets([("b", 0), ("b", 1)], {at: [f"{end + 9000}/0", "5/0"] for at, end in ends.items()})}
    step = audited("busy")
    (hit, *_) = RULE.hits(replace(step, history=replace(step.history, offsets=read)))
    assert says in (hit.hint or "") if says else "messages/s came" not in (hit.hint or "")


def with_rates(before: tuple[int, int], since: tuple[int, int]) -> AuditedStep:
    """A busy client; messages a second to the queue of b and to that of c, until 160 s and from then on."""
    step, seconds = audited("busy"), range(-300, 700, 20)

    def end(second: int, place: int) -> int:
        return 90_000 + before[place] * second + max(second - 160, 0) * (since[place] - before[place])

    ends = {second: [f"{end(second, 0)}/0", f"{end(second, 1)}/0"] for second in seconds}
    return replace(step, history=replace(step.history, offsets={"t": offsets([("b", 0), ("c", 0)], ends)}))


@pytest.mark.parametrize(
    ("before", "since", "says"),
    [
        ((10, 10), (15, 5), "72 % of the messages came to b, 50 % before: producers left c, so look at c."),
        ((10, 10), (12, 8), None),
        ((1, 19), (12, 8), None),
    ],
    ids=["15 of 20 at b", "less than 20 % more", "b is new"],
)
def test_producers_that_left_a_broker_for_another_one_are_said(
    before: tuple[int, int], since: tuple[int, int], says: str | None
) -> None:
    """Busy from 200 s to 320 s: from 140 s to the sample at 300 s 20 × 10 + 140 × 15 of 3,200 messages came to b."""
    (hit, *_) = RULE.hits(with_rates(before, since))
    assert says in (hit.hint or "") if says else "Meanwhile" not in (hit.hint or "")


@pytest.mark.parametrize(
    ("before", "since", "is_named"),
    [((10, 10), (190, 10), True), ((10, 10), (40, 10), False), ((100, 2), (240, 4), False)],
    ids=["95 % at b", "80 % at b", "as before"],
)
def test_more_that_came_at_one_broker_names_it(before: tuple[int, int], since: tuple[int, int], is_named: bool) -> None:
    (hit, *_) = RULE.hits(with_rates(before, since))
    assert "messages/s came, before" in (hit.hint or "")
    assert ("Nearly all of them are at b:" in (hit.hint or "")) == is_named


def test_more_that_came_for_a_while_says_until_when() -> None:
    """Threads are busy from 200 s to 320 s; 24 instead of 10 a second came from 160 s to 260 s."""
    ends = {second: 10 * second + min(max(second - 160, 0), 100) * 14 for second in range(-300, 700, 20)}
    read = {"t": offsets([("b", 0)], {at: [f"{end + 9000}/0"] for at, end in ends.items()})}
    step = audited("busy")
    (hit, *_) = RULE.hits(replace(step, history=replace(step.history, offsets=read)))
    said = "From 2026-03-01T10:02:40Z to 2026-03-01T10:04:20Z 24.0 messages/s came, before 10.0."
    assert said in (hit.hint or "")


@pytest.mark.parametrize(
    ("took_ms", "reason", "is_named"),
    [
        (60_001.0, Reason.POP_ALL_QUEUES, True),
        (60_000.0, Reason.POP_ALL_QUEUES, False),
        (60_001.0, Reason.BROADCASTING, False),
    ],
)
def test_a_call_longer_than_the_invisible_time_brings_popped_messages_again(
    took_ms: float, reason: Reason, is_named: bool
) -> None:
    rows = [
        client(second, consume_threads=1, consume_status=[measured("t", took_ms, 0.5, 0.0, 1.0, 0.5)])
        for second in range(0, 320, 20)
    ]
    of_all = interval(0, 660, members("c1"), None, reason=reason)
    (hit,) = RULE.hits(recorded_step(rows, of_all))
    assert (" (60 s by default) comes again" in (hit.hint or "")) == is_named
