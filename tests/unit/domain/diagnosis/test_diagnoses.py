"""What is measured of a queue that stands from 100 s on, on rows written by hand, and the cause that it leads to."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.domain.diagnosis.diagnoses import diagnoses
from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from tests.support.builders import broker_said
from tests.support.client_groups import held, measured
from tests.support.client_steps import recorded_step, replayed
from tests.support.samples import oldest, progress
from tests.support.snapshots import client, offsets
from tests.support.times import micros

TIMES = range(0, 660, 20)
SUBSCRIBED = frozenset({("t", "*")})

BY_HAND = Membership((Connection("c1"),), frozenset(), frozenset(), "CLUSTERING", "CONSUME_ACTIVELY")

#: What a client says that consumes in order; and of queue 0, what its owner has in hand.
CONCURRENT = {"consume_orderly": False}
ORDERLY = {"consume_orderly": True, "message_model": "CLUSTERING"}
HOLDS = {"cached_count": 5, "cached_min_offset": 100, "cached_max_offset": 104}


def causes(
    queue: dict[str, Any] | None = None,
    *,
    said: dict[str, Any] | None = None,
    consumes_until: int = 100,
    failed: float = 0.0,
    consume_rt_ms: float = 5.0,
    owned: tuple[int, ...] = (0, 1),
    recorded: bool = True,
    is_filtered: bool = False,
    language: str = "JAVA",
    stands: tuple[int, ...] = (0,),
) -> list[str]:
    """Time and cause of each queue that stands. `queue`: the process queue of queue 0 from 100 s on; `said`: what its
    client says then; `consumes_until`: when it last finished a message of queue 0. A message a second in each queue.
    """
    rows = []
    for second in TIMES:
        stood = second > 100
        status = measured("t", consume_rt_ms, 1.0, failed if stood else 0.0, 1.0, 1.0)
        own = [held("t", number, second, dict(queue or {}) if number == 0 and stood else {}) for number in owned]
        for each in own:
            if each["queue_id"] == 0:
                each["last_consume"] = held("t", 0, min(second, consumes_until), {})["last_consume"]
        rows.append(client(second, owned_queues=own, consume_status=[status], **((said or {}) if stood else {})))
    read = [
        offsets(second, *((second + 1, min(second, 100) if number in stands else second + 1, 1) for number in (0, 1)))
        for second in TIMES
    ]
    interval = replayed("t", 0, 660, {"c1": [0, 1]}, 2)
    interval = replace(interval, members=tuple(each._replace(language=language) for each in interval.members or ()))
    step = recorded_step(rows if recorded else [], interval, read=read)
    step = replace(step, progress=[replace(progress(interval, 0, 660), is_filtered=is_filtered)])
    return [f"{each.standing.queue.queue_id} {each.cause}" for each in diagnoses(step)]


@pytest.mark.parametrize(
    ("cause", "given"),
    [
        ("NOT_REPORTED", {"recorded": False}),
        ("LISTENER_HANGS", {"queue": HOLDS}),
        ("SLOW_CALLS", {"queue": HOLDS, "consume_rt_ms": 300_000.0}),
        ("HELD_BACK", {"queue": HOLDS, "consumes_until": 640, "said": {"consume_orderly": False}}),
        ("RETRIED_IN_PLACE", {"queue": HOLDS, "consumes_until": 640, "said": ORDERLY}),
        ("RETRIED_IN_PLACE", {"queue": HOLDS, "failed": 0.1, "said": ORDERLY}),
        ("NO_LOCK", {"queue": HOLDS | {"locked": False}, "said": ORDERLY}),
        ("NOTHING_PULLED", {"queue": {"cached_count": 0}}),
        (
            "NOT_COMMITTED",
            {"queue": {"cached_count": 0}, "consumes_until": 640, "said": CONCURRENT, "language": "JAVA"},
        ),
        (
            "NOTHING_PULLED",
            {"queue": {"cached_count": 0}, "consumes_until": 120, "said": CONCURRENT, "language": "JAVA"},
        ),
        ("NOTHING_PULLED", {"queue": {"cached_count": 0}, "consumes_until": 640, "said": CONCURRENT, "language": "GO"}),
        ("MISCOUNTED", {"queue": {"cached_count": 0, "cached_mib": 101}}),
        ("NOTHING_PULLED", {"queue": {"cached_count": 0, "cached_mib": 100}}),
        ("LISTENER_HANGS", {"queue": HOLDS | {"cached_mib": 101}}),
        ("NO_PULL", {"queue": {"cached_count": 0, "last_pull": 1}}),
        ("NOT_TAKEN", {"queue": {"dropped": True}}),
        ("NOT_TAKEN", {"owned": (1,)}),
        ("NO_ANSWER", {"said": {"answered": False}}),
        ("NOT_IN_GROUP", {"said": {"in_group": False}}),
        ("FILTERED", {"queue": {"cached_count": 0}, "is_filtered": True, "language": "GO"}),
        ("NOTHING_PULLED", {"queue": {"cached_count": 0}, "is_filtered": True, "language": "JAVA"}),
        ("LISTENER_HANGS", {"queue": HOLDS, "is_filtered": True}),
        ("FILTERED", {"recorded": False, "is_filtered": True, "language": "GO"}),
        ("NOT_REPORTED", {"recorded": False, "is_filtered": True}),
    ],
    ids=str,
)
def test_the_cause_of_what_the_owner_reports(cause: str, given: dict[str, Any]) -> None:
    assert causes(**given) == [f"0 {cause}"]


def test_nothing_in_hand_of_all_queues_is_another_matter_than_of_one() -> None:
    nothing = {"cached_count": 0}
    assert causes(nothing, stands=(0, 1)) == ["0 SUSPENDED", "1 SUSPENDED"]
    assert causes(nothing) == ["0 NOTHING_PULLED"]


@pytest.mark.parametrize(
    ("stored", "minimum", "produced", "cause"),
    [(0, 3, 0, "EXPIRED"), (1, 3, 0, "SUSPENDED"), (0, 7, 0, "SUSPENDED"), (0, 3, 1, "SUSPENDED")],
    ids=["no store time", "a store time", "the oldest message waits", "a message came"],
)
def test_what_the_broker_deleted_is_not_pulled(stored: int, minimum: int, produced: int, cause: str) -> None:
    read = [offsets(second, *[(99 + produced * second, 7, stored)] * 2) for second in TIMES]
    own = ([held("t", number, second, {"cached_count": 0}) for number in (0, 1)] for second in TIMES)
    asked = [client(second, owned_queues=queues) for second, queues in zip(TIMES, own, strict=True)]
    step = recorded_step(asked, replayed("t", 0, 660, {"c1": [0, 1]}, 2), read=read)
    minimums = oldest([("b", 0), ("b", 1)], {0: [f"{minimum}/99"] * 2})
    step = replace(step, history=replace(step.history, topics={"t": minimums}))
    assert {each.cause for each in diagnoses(step)} == {cause}


@pytest.mark.parametrize(
    ("pulled", "other", "cause"),
    [
        ({0: 0}, 1000, "NOT_PULLED"),
        ({0: 0, 340: 1}, 1000, "NOT_PULLED"),  # 16 of 33 samples
        ({0: 0, 320: 1}, 1000, "NOT_COMMITTED"),
        ({0: None}, 1000, "NEVER_COMMITTED"),
        ({0: 0}, 0, "NEVER_COMMITTED"),  # no pull offset of the broker: it may be an old one
    ],
    ids=str,
)
def test_of_an_application_that_pulls_by_hand_a_broker_knows_what_it_did_not_pull(
    pulled: dict[int, int | None], other: int, cause: str
) -> None:
    """It pulls queue 0 from a second on, further with every sample, and has no offset of it."""
    read = []
    for second in TIMES:
        first = pulled[max(since for since in pulled if since <= second)]
        rows = offsets(second, (1000 + 2 * second, 0, 0), (other, other, 1))
        rows["offsets"][0]["pull_offset"] = first and first + second
        read.append(rows)
    step = recorded_step([], replayed("t", 0, 660, {"c1": [0, 1]}, 2), read=read)
    step = replace(step, memberships={"b": [Span(micros(0), micros(660), micros(660), BY_HAND)]})
    assert [f"{each.standing.queue.queue_id} {each.cause}" for each in diagnoses(step)] == [f"0 {cause}"]


def test_a_queue_that_moves_has_no_diagnosis() -> None:
    assert causes(stands=()) == []


def test_the_extent_is_the_widest_set_that_stands_together() -> None:
    of = replayed("t", 0, 660, {"c1": [0, 1], "c2": [2, 3], "c3": [4]}, 5)
    for standing, extent in (
        *(((0, 1), "ALL_OF_OWNER"), ((0,), "SOME"), ((4,), "ONLY_OF_OWNER")),
        ((0, 1, 2, 3, 4), "ALL_OF_TOPIC"),
    ):
        read = [
            offsets(second, *((second + 1, 1 if number in standing else second + 1, 1) for number in range(5)))
            for second in TIMES
        ]
        found = diagnoses(recorded_step([], of, read=read))
        assert {each.facts.extent for each in found} == {extent}
        assert [each.standing.queue.queue_id for each in found] == list(standing)


@pytest.mark.parametrize(
    ("topic_type", "other_broker", "moves", "blocked"),
    [("FIFO", "b", 1, True), ("FIFO", "b", 0, False), ("FIFO", "c", 1, False), ("NORMAL", "b", 1, False)],
)
def test_a_queue_is_blocked_if_another_one_of_its_broker_moves_and_the_topic_is_ordered(
    topic_type: str, other_broker: str, moves: int, blocked: bool
) -> None:
    read = [offsets(second, (second + 1, 1, 1), (second + 1, second * moves + 1, 1)) for second in TIMES]
    for row in read:
        row["offsets"][1]["broker_name"] = other_broker
    step = recorded_step([], replayed("t", 0, 660, {"c1": [0, 1]}, 2), read=read)
    route: tuple[RouteEntry, ...] = (RouteEntry("b", 6, 2, 2, topic_type=topic_type),)
    found = diagnoses(replace(step, routes={"t": [Span(0, 1, 1, route)]}))
    assert {each.facts.blocked for each in found} == {blocked}


@pytest.mark.parametrize(
    ("at_a", "at_b", "listed"),
    [
        (660, 660, True),
        # The last heartbeat came to b two minutes before: it had some for 180 s of 540, or for 380.
        (660, 400, False),
        (660, 600, True),
        # The client left, or nothing is known of other brokers.
        (400, 400, True),
        (380, 400, True),
        # One round shows it at a, asked before it left.
        (410, 400, True),
        (660, 300, False),
    ],
)
def test_a_broker_that_alone_drops_a_client_has_had_no_heartbeat_for_two_minutes(
    at_a: int, at_b: int, listed: bool
) -> None:
    """Queue 0 of broker b stands from 100 s to 640 s; the brokers list its owner until these seconds."""
    interval = replayed("t", 0, 660, {"c1": [0]}, 1)
    step = recorded_step([], interval, read=[offsets(second, (second + 1, min(second, 100), 1)) for second in TIMES])
    lists = {
        name: [
            broker_said(0, until, "c1", SUBSCRIBED),
            *([broker_said(until, 660, "", SUBSCRIBED)] if until < 660 else []),
        ]
        for name, until in (("a", at_a), ("b", at_b))
    }
    (found,) = diagnoses(replace(step, memberships=lists))
    assert (found.standing.end - found.standing.start, found.facts.listed) == (micros(660) - micros(100), listed)
