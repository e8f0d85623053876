"""Which strategy each member runs, and how that is known."""

import pytest

from spark_jobs.domain.kernel.members import group_source, in_allocation_order, members_of, resolve_strategies
from spark_jobs.domain.model.history import ClientState, Connection
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONSISTENT_HASH,
    MACHINE_ROOM_NEARBY,
    Resolved,
    StrategySettings,
    StrategySource,
)
from tests.support.histories import CLASS, calm, client, listed, rows

AVERAGELY, CIRCLE = CLASS + "AllocateMessageQueueAveragely", CLASS + "AllocateMessageQueueAveragelyByCircle"
HASH, NEARBY = CLASS + "AllocateMessageQueueConsistentHash", CLASS + "AllocateMachineRoomNearby"
OWN = "com.example.Mine"
CLIENT, CONFIGURATION, OBSERVED, DEFAULT = StrategySource
NEARBY_AVG = "MACHINE_ROOM_NEARBY-AVG"


@pytest.mark.parametrize(
    ("classes", "configured", "names"),
    [
        ([AVERAGELY, CIRCLE], None, [(AVG, CLIENT), (AVG_BY_CIRCLE, CLIENT)]),
        ([AVERAGELY, None], AVG_BY_CIRCLE, [(AVG, CLIENT), (AVG_BY_CIRCLE, CONFIGURATION)]),
        ([None, None], None, [(AVG, DEFAULT), (AVG, DEFAULT)]),
        (
            [None, CIRCLE, HASH, HASH],
            None,
            [(CONSISTENT_HASH, CLIENT), (AVG_BY_CIRCLE, CLIENT), *[(CONSISTENT_HASH, CLIENT)] * 2],
        ),
        ([HASH, CIRCLE, None], None, [(CONSISTENT_HASH, CLIENT), *[(AVG_BY_CIRCLE, CLIENT)] * 2]),
        ([OWN, None, CIRCLE], None, [("UNKNOWN", CONFIGURATION), (AVG_BY_CIRCLE, CLIENT), (AVG_BY_CIRCLE, CLIENT)]),
        ([OWN], AVG_BY_CIRCLE, [(AVG_BY_CIRCLE, CONFIGURATION)]),
        ([NEARBY], NEARBY_AVG, [(NEARBY_AVG, CONFIGURATION)]),
        ([NEARBY], AVG_BY_CIRCLE, [(MACHINE_ROOM_NEARBY, CLIENT)]),
        ([NEARBY], None, [(MACHINE_ROOM_NEARBY, CLIENT)]),
        ([], None, []),
    ],
)
def test_own_class_then_configuration_then_what_others_run_then_avg(
    classes: list[str | None], configured: str | None, names: list[tuple[str, StrategySource]]
) -> None:
    assert resolve_strategies(classes, configured) == [Resolved(*each) for each in names]


def test_what_is_observed_comes_before_what_others_run_and_a_class_that_nobody_knows() -> None:
    seen = Resolved(AVG_BY_CIRCLE, OBSERVED)
    said = resolve_strategies([HASH, None, OWN, None], None, [seen, seen, seen, None])
    assert said == [Resolved(CONSISTENT_HASH, CLIENT), seen, seen, Resolved(CONSISTENT_HASH, CLIENT)]
    assert resolve_strategies([None], AVG, [seen]) == [Resolved(AVG, CONFIGURATION)]
    assert resolve_strategies([None], None, (), [OWN, HASH]) == [Resolved(CONSISTENT_HASH, CLIENT)]


def test_what_a_client_reported_is_known_of_its_group_after_it_has_left() -> None:
    history = calm(memberships=listed("a", {-210: "c1 c2", 100: "c1"}), clients=(client("c2", 0, HASH),))
    expected = ["0-100 * CLIENT c1/CONSISTENT_HASH c2/CONSISTENT_HASH", "100-300 * CLIENT c1/CONSISTENT_HASH"]
    assert rows(history) == expected


def test_the_configuration_supplies_the_settings_of_whatever_a_client_runs() -> None:
    nowhere = StrategySettings(AVG_BY_CIRCLE, virtual_node_cnt=0)
    assert nowhere.named(CONSISTENT_HASH).virtual_node_cnt == 0
    history = calm(clients=(client("c1", 0, HASH), client("c2", 0, HASH)), configured=nowhere)
    assert rows(history) == ["0-300 * CLIENT c1/CONSISTENT_HASH c2/CONSISTENT_HASH"]


@pytest.mark.parametrize(
    ("sources", "configured", "expected"),
    [
        ([CLIENT, CONFIGURATION, DEFAULT], AVG, DEFAULT),
        ([CLIENT, CONFIGURATION], AVG, CONFIGURATION),
        ([CLIENT, OBSERVED], None, OBSERVED),
        ([OBSERVED, DEFAULT], None, DEFAULT),
        ([CLIENT, CLIENT], AVG, CLIENT),
        ([], AVG, CONFIGURATION),
        ([], None, DEFAULT),
    ],
)
def test_a_group_is_known_as_well_as_its_least_known_member(
    sources: list[StrategySource], configured: str | None, expected: StrategySource
) -> None:
    assert group_source([Resolved(AVG, source) for source in sources], configured) is expected


def test_a_client_is_what_it_reported_last_or_else_first() -> None:
    said = (client("c1", 10, AVERAGELY), client("c1", 20, CIRCLE), client("c1", 30)._replace(answered=False))
    expected = ["0-20 * CONFIGURATION c1 c2", "20-300 * CONFIGURATION c1/AVG_BY_CIRCLE c2"]
    assert rows(calm(clients=said, configured=StrategySettings(AVG))) == expected
    assert rows(calm(clients=said[2:])) == ["0-300 * DEFAULT c1 c2"]


def test_members_come_as_clients_sort_ids_and_twins_by_their_address() -> None:
    connections = [
        Connection("a\uffff"),
        Connection("a\U0001f600"),
        Connection("a@9"),
        Connection("a@10", "2:1"),
        Connection("a@10", "1:1"),
        Connection("a@10"),
    ]
    in_order = [(connection.client_id, connection.client_addr) for connection in in_allocation_order(connections)]
    assert in_order == [
        *(("a@10", None), ("a@10", "1:1"), ("a@10", "2:1")),
        *(("a@9", None), ("a\U0001f600", None), ("a\uffff", None)),
    ]


def test_a_member_subscribes_as_far_as_is_known() -> None:
    said = {
        "c2": ClientState(answered=True),
        "c3": ClientState(answered=True, topics=frozenset({"S"})),
        "c4": ClientState(answered=True, topics=frozenset({"S", "T"})),
    }
    connections = [Connection(f"c{number}") for number in range(1, 5)]
    members = members_of(connections, said, [Resolved(AVG, DEFAULT)] * 4, "T")
    assert [(member.subscribes, member.known) for member in members] == [
        *((True, False), (True, True), (False, True), (True, True))
    ]
