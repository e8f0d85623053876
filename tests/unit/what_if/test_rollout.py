"""A rollout in other orders: 4 queues, `AVG`, a snapshot every 20 s; what is expected is counted by hand."""

from collections.abc import Sequence

import pytest

from schemas import OFFSET_SNAPSHOTS
from spark_jobs.cli.options import OPTIONS
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import AVG, StrategySettings
from spark_jobs.errors import CaseError
from spark_jobs.what_if.rollout import ORDERS, RolloutOutcome, other_orders
from tests.support.kernel import SETTINGS, audited_steps, group_histories
from tests.support.tables import described
from tests.support.times import HOUR
from tests.support.what_if import Messages, rate, snapshots

CONFIGURED, STEADY = StrategySettings(strategy=AVG), rate(1)
#: What happened | since which second who is a member | rebalances and queues moved as it was, in one wave, one by one,
#: and if others join first.
_ORDERS = """
    host by host     | 0 a@1 b@1; 100 b@1; 140 a@2 b@1; 200 a@2; 240 a@2 b@2 | 4 8, 2 8, 4 8, 2 4
    all at once      | 0 a@1 b@1; 100 a@2 b@2                                | 1 4, 2 8, 4 8, 2 4
    new hosts first  | 0 a@1 b@1; 100 a@1 b@1 c@1 d@1; 160 c@1 d@1           | 2 6, 2 8, 4 8, 2 6
    one stays        | 0 a@1 b@1 z@1; 100 a@2 b@2 z@1                        | 1 3, 2 6, 4 8, 2 5
    twins among them | 0 a@1 b@1 b@1; 100 a@2 b@2 b@2                        | 1 3, 2 6, 4 10, 2 3
"""
HOST_BY_HOST = "0 a@1 b@1; 100 b@1; 140 a@2 b@1; 200 a@2; 240 a@2 b@2"
NEW_FIRST = "0 a@1 b@1; 100 a@1 b@1 c@1 d@1; 160 c@1 d@1"


def step_of(members: str, consumed: Messages = STEADY, in_flight: int = 0) -> AuditedStep:
    """Each of the queues gets a message a second, and has so many in flight."""
    since = {int(words[0]): words[1:] for words in map(str.split, members.split(";"))}

    def listed(second: int) -> Sequence[str]:
        return next(ids for start, ids in reversed(since.items()) if start <= second)

    rows = snapshots(listed, [STEADY] * 4, [consumed] * 4)
    for queue in (queue for row in rows[OFFSET_SNAPSHOTS] for queue in row["offsets"]):
        queue["pull_offset"] += in_flight
    (history,) = group_histories(rows)
    (step,) = audited_steps(history, SETTINGS, HOUR, CONFIGURED)
    return step


def orders_of(step: AuditedStep) -> Sequence[RolloutOutcome]:
    """As it was, in one wave, one by one, and if others join first."""
    compared = other_orders([step], [*ORDERS], CONFIGURED)
    assert compared is not None
    return compared.outcomes


@pytest.mark.parametrize(("members", "expected"), described(_ORDERS))
def test_each_order_moves_what_its_members_own_after_each_change(members: str, expected: str) -> None:
    found = orders_of(step_of(members))
    assert ", ".join(f"{each.rebalances} {each.queues_moved}" for each in found) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param(HOST_BY_HOST, [40, 80, 40, 40], id="without an owner also for as long as a restart takes"),
        pytest.param(NEW_FIRST, [40, None, 40, 40], id="nothing shows how long a restart takes"),
        pytest.param("0 a@1 b@1; 100; 140 a@2 b@2", [40, 40, None, None], id="no queue went from owner to owner"),
    ],
)
def test_pauses_are_those_of_the_recording(members: str, expected: Sequence[float | None]) -> None:
    def consumed(second: int) -> int:
        return 100 if 100 <= second < 160 else second

    assert [each.longest_pause_seconds for each in orders_of(step_of(members, consumed))] == expected


def test_as_many_messages_of_each_queue_that_is_handed_over_are_in_flight() -> None:
    assert [each.in_flight for each in orders_of(step_of(HOST_BY_HOST, in_flight=10))] == [80, 40, 80, 40]
    never = step_of(HOST_BY_HOST, lambda _: -1000)
    assert [each.in_flight for each in orders_of(never)] == [None] * 4


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # A queue that is handed over takes 20 messages with it; 40 come to each of four while nobody is a member.
        pytest.param(HOST_BY_HOST, [160, 320, 160, 120], id="queues of members that join together count once"),
        # Two that join may take all four queues, and three go to them when the others leave: 7 hand-overs.
        pytest.param(NEW_FIRST, [140, None, 160, 140], id="nothing shows how long a restart takes"),
    ],
)
def test_messages_that_may_be_consumed_again(members: str, expected: Sequence[int | None]) -> None:
    assert [each.consumed_again_max for each in orders_of(step_of(members))] == expected


def test_the_last_rollout_counts_and_there_may_be_none() -> None:
    first, calm = step_of(HOST_BY_HOST), step_of("0 a@1 b@1")
    compared = other_orders([first, step_of(NEW_FIRST), calm], ["one-wave"], CONFIGURED)
    assert compared is not None
    outcomes = [(each.order, each.queues_moved) for each in compared.outcomes]
    assert (compared.rollout.replaced, outcomes) == (2, [("as it was", 6), ("one-wave", 8)])
    assert other_orders([calm], [*ORDERS], CONFIGURED) is None


def test_orders_have_the_names_that_the_option_takes() -> None:
    assert [*ORDERS, "all"] == [*OPTIONS["--rollout"]["choices"]]
    with pytest.raises(CaseError, match="there is no order 'none': write one-wave, one-by-one, new-first"):
        other_orders([], ["one-wave", "none"], CONFIGURED)
