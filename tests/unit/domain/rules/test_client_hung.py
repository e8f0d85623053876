"""CLIENT_HUNG on the hour of `client_groups`, and on hand-written intervals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from spark_jobs.domain.model.history import Connection, Membership
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.rules.client_hung import CLIENT_HUNG as RULE
from tests.support.builders import interval, members, span
from tests.support.client_groups import audited, held
from tests.support.client_steps import recorded_step, replayed, step_with
from tests.support.findings import rule_hit
from tests.support.kernel import settings
from tests.support.snapshots import client, offsets
from tests.support.times import micros, second_of


def test_a_hit_is_an_interval_and_a_queue() -> None:
    """Of each view, where the client owns anything."""
    intervals = [
        replayed("silent", 0, 100, {"c1": [0]}, 1),
        replayed("silent", 60, 200, {"c1": [0]}, 2),
        replayed("silent", 200, 250, {"c2": [0]}, 1),
        replayed("silent", 250, 300, {"c1": [], "c2": [0, 1]}, 2),
        replayed("silent", 300, 660, {"c1": [1]}, 2, view="b1"),
        replayed("silent", 310, 320, {"c1": [0]}, 2, view="b2"),
        replayed("silent", 320, 660, {"c1": [0]}, 1),
    ]
    about = {"client_id": "c1", "implicated": "c1", "minimum_seconds": 60.0}
    at = format_utc(from_micros(micros(200)))
    left = (
        f"It left the group by {at}: its connection was closed, or a broker removed it 120 s after its last heartbeat."
    )
    assert list(RULE.hits(step_with(audited("silent").history, intervals))) == [
        rule_hit(start, end, "NO_ANSWER", f"silent b:{queue_id} HUNG", **about, hint=hint)
        for start, end, queue_id, hint in ((100, 200, 0, left), (300, 320, 1, None), (310, 320, 0, None))
    ]


@pytest.mark.parametrize(("stale", "found"), [((0,), {0}), ((0, 2), {0}), ((2,), set()), ((0, 1, 2), {0, 1})])
def test_who_does_not_pull_hangs_on_those_queues_that_it_owns(stale: tuple[int, ...], found: set[int]) -> None:
    owned = [held("t", queue_id, 60 if queue_id in stale else 200, {}) for queue_id in range(3)]
    shares = replayed("t", 0, 660, {"c1": [0, 1], "c2": [2]}, 3)
    hits = list(RULE.hits(recorded_step([client(200, owned_queues=owned)], shares)))
    assert {hit.queue.queue_id for hit in hits if hit.queue} == found
    assert {(second_of(hit.start), second_of(hit.end), hit.cause, hit.minimum_seconds) for hit in hits} <= {
        (200, 260, "NO_PULL", 0.0)
    }


#: It last pulled at 50 s.
HANGS = [client(200, owned_queues=[held("t", 0, 60, {})])]
ALONE = replayed("t", 0, 660, {"c1": [0]}, 1)


def test_offsets_that_move_again_before_the_next_answer_end_the_time_in_which_it_does_not_pull() -> None:
    """It is asked at 200 s, which holds until 260 s, and its offset moves from 240 s on."""
    reads = [offsets(second, (1000, 100 + max(second - 220, 0), 1)) for second in range(0, 300, 20)]
    step = recorded_step(HANGS, ALONE, read=reads, settings=settings(pull_idle_seconds=30))
    assert [span(hit) for hit in RULE.hits(step)] == ["200-240"]


@pytest.mark.parametrize(("end", "found"), [(100, []), (101, ["200-260"]), (None, ["200-260"])])
def test_who_has_nothing_to_pull_does_not_hang(end: int | None, found: list[str]) -> None:
    """The group has consumed 100 messages of so many (None: it is not known how many), and the end comes at 240 s."""
    reads = [
        offsets(second, (100 if second < 240 and end else end, 100, 1))  # type: ignore[arg-type]
        for second in range(0, 300, 20)
    ]
    assert [span(hit) for hit in RULE.hits(recorded_step(HANGS, ALONE, read=reads))] == found


@pytest.mark.parametrize(
    ("by_hand", "found"),
    [
        ([], ["200-260"]),
        ([("b", 0, 660)], []),
        # Reading for a while only, by brokers in turn.
        ([("b", 0, 210), ("b2", 210, 220), ("b", 240, 250)], ["220-240", "250-260"]),
    ],
)
def test_who_pulls_as_it_likes_does_not_hang(by_hand: list[tuple[str, int, int]], found: list[str]) -> None:
    pulls = Membership((Connection("c1"),), frozenset(), frozenset(), "CLUSTERING", "CONSUME_ACTIVELY")
    memberships: dict[str, list[Span[Membership]]] = {}
    for broker, start, end in by_hand:
        memberships.setdefault(broker, []).append(Span(micros(start), micros(end), micros(end), pulls))
    step = replace(recorded_step(HANGS, ALONE), memberships=memberships)
    assert [span(hit) for hit in RULE.hits(step)] == found


@pytest.mark.parametrize(
    ("advances", "owners", "found"),
    [
        ((), {"c1": [0]}, ["100-260"]),
        (range(0, 300, 20), {"c1": [0]}, []),
        ((160, 180), {"c1": [0]}, []),
        ((180,), {"c1": [0]}, ["100-260"]),  # a reset
        # In a collection interval at either end it may answer.
        ((120, 180, 260), {"c1": [0]}, ["100-260"]),
        (range(0, 300, 20), {"c1": [0], "c2": [0]}, ["100-260"]),
        (range(0, 300, 20), {"c1": [1], "c2": [0]}, ["100-260"]),
    ],
    ids=["stands", "advances", "twice", "once", "at the ends", "another has it, too", "of another"],
)
def test_who_does_not_answer_but_commits_does_not_hang(
    advances: Iterable[int], owners: dict[str, list[int]], found: list[str]
) -> None:
    """It is asked at 100 s to 200 s; the offset of the first queue advances at these samples, every 20 s."""
    asked = [client(second, answered=False) for second in range(100, 201, 20)]
    reads = [
        offsets(second, (1000, 100 + sum(at <= second for at in advances), 1), (100, 0, 0))
        for second in range(0, 300, 20)
    ]
    hits = RULE.hits(recorded_step(asked, replayed("t", 0, 660, owners, 2), read=reads))
    assert sorted({span(hit) for hit in hits}) == found


@pytest.mark.parametrize(
    ("listed", "model", "answers_at", "found"),
    [
        ("c1", "BROADCASTING", None, []),
        ("c1", "CLUSTERING", None, ["100-260"]),
        ("c2", "BROADCASTING", None, ["100-260"]),
        ("c1", "BROADCASTING", 60, ["100-260"]),
    ],
)
def test_who_may_broadcast_and_never_answered_does_not_hang(
    listed: str, model: str, answers_at: int | None, found: list[str]
) -> None:
    asked = [client(second, answered=False) for second in range(100, 201, 20)]
    asked += [] if answers_at is None else [client(answers_at)]
    said = Membership((Connection(listed),), frozenset(), frozenset(), model)
    memberships = {"b": [Span(micros(180), micros(660), micros(660), said)]}
    step = replace(recorded_step(asked, ALONE), memberships=memberships)
    assert [span(hit) for hit in RULE.hits(step)] == found


def broadcasting(
    consumed: Mapping[str, Sequence[float | None]], reason: Reason = Reason.BROADCASTING
) -> list[tuple[float, float, str | None]]:
    """Client ids and seconds of what is found, if clients consume so many messages a second, every 20 s from 200 s."""
    status = {"topic": "t", "consume_rt_ms": None, "consume_failed_tps": 0.0, "pull_rt_ms": None, "pull_tps": None}
    reports = [
        client(200 + 20 * place, client_id, consume_status=[{**status, "consume_ok_tps": rate}])
        for client_id, rates in consumed.items()
        for place, rate in enumerate(rates)
    ]
    step = recorded_step(reports, interval(200, 660, members(" ".join(consumed)), reason=reason))
    return [(second_of(hit.start), second_of(hit.end), hit.client_id) for hit in RULE.hits(step)]


@pytest.mark.parametrize(
    ("c2", "found"),
    [
        ([5.0, 0.0, 0.0, 5.0], [(220, 240, "c2"), (240, 260, "c2")]),
        ([5.0, None, None, 5.0], []),
        ([5.0, 0.1, 5.0, 5.0], []),
    ],
)
def test_a_member_that_broadcasts_hangs_while_it_consumes_nothing_and_another_member_does(
    c2: Sequence[float | None], found: object
) -> None:
    assert broadcasting({"c1": [5.0, 5.0, 5.0, 5.0], "c2": c2}) == found


@pytest.mark.parametrize(
    ("consumed", "reason"),
    [
        ({"c1": [0.0, 0.0, 0.0], "c2": [0.0, 0.0, 0.0]}, Reason.BROADCASTING),
        ({"c1": [5.0, 0.0, 0.0, 0.0], "c2": [5.0, 5.0, 0.0, 0.0]}, Reason.BROKER_REBALANCE),
        ({"c1": [0.0, 0.0, 0.0]}, Reason.BROADCASTING),
    ],
)
def test_where_no_other_member_gets_anything_nobody_hangs(
    consumed: Mapping[str, Sequence[float | None]], reason: Reason
) -> None:
    assert broadcasting(consumed, reason) == []


def test_it_must_last_as_long_as_a_stop() -> None:
    step = recorded_step(
        [
            client(200, client_id, consume_status=[{"topic": "t", "consume_ok_tps": rate, "consume_failed_tps": 0.0}])
            for client_id, rate in (("c1", 5.0), ("c2", 0.0))
        ],
        interval(200, 660, members("c1 c2"), reason=Reason.BROADCASTING),
    )
    assert [hit.minimum_seconds for hit in RULE.hits(step)] == [step.settings.thresholds.stalled_after_seconds]
