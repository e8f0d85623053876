"""Clients whose clock is behind, and clients that are set to pull seldom: neither hangs."""

import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rules import client_hung
from tests.support.client_groups import held
from tests.support.client_steps import recorded_step, replayed
from tests.support.snapshots import client, offsets
from tests.support.times import second_of

TIMES = range(0, 640, 20)


def step_of(pulled: dict[int, int], pull_interval_ms: int | None = None, moves: tuple[int, ...] = ()) -> AuditedStep:
    """The client's last pull of queue 0 at each second; its offset moves at `moves`, and a message a second arrives."""
    rows = [
        client(
            second,
            pull_interval_ms=pull_interval_ms,
            owned_queues=[held("t", 0, second, {"last_pull": held("t", 0, pulled[second] + 10, {})["last_pull"]})],
        )
        for second in TIMES
    ]
    read = [offsets(second, (1000 + second, 100 + sum(at <= second for at in moves), 1)) for second in TIMES]
    return recorded_step(rows, replayed("t", 0, 660, {"c1": [0]}, 1), read=read)


def hung(step: AuditedStep) -> list[tuple[int, int]]:
    return [(second_of(hit.start), second_of(hit.end)) for hit in client_hung.CLIENT_HUNG.hits(step)]


def clocks(step: AuditedStep) -> list[float | None]:
    return [hit.measures["clock_behind_seconds"] for hit in client_hung.CLOCK_DIFFERS.hits(step) if hit.measures]


#: Ten minutes behind, and pulled between 1 and 11 s before each snapshot.
BEHIND = {second: second - 601 - second % 3 * 5 for second in TIMES}


def test_a_client_whose_clock_is_behind_does_not_hang() -> None:
    step = step_of(BEHIND)
    assert hung(step) == []
    # The shortest time from a pull to the snapshot of the next is 20 s too long.
    assert clocks(step) == [591.0]


def test_a_client_whose_clock_is_behind_and_that_hangs_does() -> None:
    """The last pull is that of 200 s, at 189 s; the snapshot of 320 s is the first 120 s after it."""
    step = step_of({second: BEHIND[min(second, 200)] for second in TIMES})
    assert hung(step) == [(320, 660)]
    assert clocks(step) == [591.0]


def test_without_a_pull_that_advances_the_clocks_agree() -> None:
    step = step_of(dict.fromkeys(TIMES, -100))
    assert (hung(step), clocks(step)) == ([(40, 660)], [])


#: Pulled every 140 s: in the last snapshot before each pull the one before is too old.
SELDOM = {second: second - second % 140 - 5 for second in TIMES}
PAUSES = [(120, 140), (260, 280), (400, 420), (540, 560)]


@pytest.mark.parametrize(
    ("pull_interval_ms", "moves", "expected", "noted"),
    [
        (600_000, (), [], 1),
        (120_001, (), [], 1),
        (120_000, (), PAUSES, 0),
        # The client does not report the interval, but each pull moves the offset.
        (None, tuple(range(140, 640, 140)), [], 0),
    ],
)
def test_a_client_that_is_set_to_pull_seldom_does_not_hang(
    pull_interval_ms: int | None, moves: tuple[int, ...], expected: list[tuple[int, int]], noted: int
) -> None:
    step = step_of(SELDOM, pull_interval_ms, moves)
    assert len(list(client_hung.LONG_PULL_INTERVAL.hits(step))) == noted
    assert hung(step) == expected


def test_a_queue_whose_offset_moves_is_consumed() -> None:
    """It hangs after the last message that it had."""
    assert hung(step_of(dict.fromkeys(TIMES, 0), moves=(100, 200, 300))) == [(300, 660)]
