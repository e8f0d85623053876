"""Every hand-written case, queue by queue, and client by client."""

import pytest

from spark_jobs.domain.kernel.allocations import Allocation
from spark_jobs.domain.kernel.allocations import Member as Connection
from spark_jobs.domain.kernel.ownership import Inputs, queues_of, replayed
from spark_jobs.domain.model.finding import Counts
from spark_jobs.domain.model.message_queue import MessageQueue, RouteEntry, all_queues, sort_client_ids
from spark_jobs.domain.rocketmq.strategies import AVG, Strategy, StrategySettings, Variant
from tests.conformance.allocation_cases import CASES, Case
from tests.support.oracle.client import allocate


def connection(
    client_id: str, strategy: str = AVG, *, subscribes: bool = True, variant: Variant = Variant.JAVA
) -> Connection:
    return Connection(client_id, None, None, None, strategy, subscribes, True, variant)


def settings(strategy: Strategy) -> StrategySettings:
    rooms, lists = (strategy.rooms, strategy.broker_room, strategy.client_room), strategy.config_queues
    return StrategySettings(strategy.name, strategy.virtual_node_cnt, *rooms, lists)


def allocation(case: Case) -> Allocation:
    members = tuple(
        connection(
            member.client_id, member.strategy.name, subscribes=member.subscribes, variant=member.strategy.variant
        )
        for member in case.members
    )
    return replayed(Inputs(case.topic, members, *queues_of(case.route)), settings(case.strategy))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_queue_has_the_owners_and_the_cause_of_the_table(case: Case) -> None:
    found = allocation(case)
    ids = [tuple(case.client_ids[owner] for owner in owners) for owners in found.owners]
    causes = [
        unassigned or double_owned
        for unassigned, double_owned in zip(found.unassigned_causes, found.double_owned_causes, strict=True)
    ]
    outcome, queues = zip(ids, causes, found.unassigned_client_ids, strict=True), found.queues
    assert dict(zip((MessageQueue(case.topic, *place) for place in queues), outcome, strict=True)) == case.expected


def readable_queues(case: Case) -> list[MessageQueue]:
    return [queue for queue, unreadable in all_queues(case.topic, case.route) if unreadable is None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_counted_is_what_the_table_has(case: Case) -> None:
    found, readable = allocation(case), set(readable_queues(case))
    owners = [expected.owners for queue, expected in case.expected.items() if queue in readable]
    assert found.counts == Counts(owners.count(()), sum(len(of_queue) > 1 for of_queue in owners))
    twins = tuple(dict.fromkeys(client_id for client_id in case.client_ids if case.client_ids.count(client_id) > 1))
    assert found.duplicate_ids == twins
    # Owners are connections: each of k twins is named, and has the queue.
    own = [sum(client_id in of_queue for of_queue in owners) for client_id in case.client_ids]
    assert found.queues_per_member == own


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_client_takes_what_the_table_gives_it(case: Case) -> None:
    queues = readable_queues(case)
    for member in case.members:
        if member.subscribes:
            taken = allocate(member.strategy, member.client_id, queues, case.client_ids) or []
            owned = [queue for queue, expected in case.expected.items() if member.client_id in expected.owners]
            assert sorted(set(taken) & set(queues)) == sorted(owned)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_tables_list_clients_as_clients_sort_them(case: Case) -> None:
    assert case.client_ids == sort_client_ids(case.client_ids)


#: Of 8 queues: what is left unassigned and owned twice, as it is, with every id once, and with ids of their own.
CURES = [
    ("c1 c1", AVG, (4, 4), (0, 8), (0, 0)),
    ("c1 c1 c2", AVG, (3, 3), (0, 4), (0, 0)),
    ("c1 c2 c2", AVG, (2, 3), (0, 4), (0, 0)),
    ("c1 c1 c2", "AVG_BY_CIRCLE", (3, 3), (0, 4), (0, 0)),
    ("c1! c1! c2", AVG, (6, 0), (4, 0), (6, 0)),
    ("c1 c1", "CONSISTENT_HASH", (0, 8), (0, 8), (0, 0)),
]


@pytest.mark.parametrize(("members", "strategy", "counts", "deduplicated", "unique"), CURES)
def test_cures_of_duplicates(members: str, strategy: str, counts: Counts, deduplicated: Counts, unique: Counts) -> None:
    connections = tuple(
        connection(text.rstrip("!"), strategy, subscribes=not text.endswith("!")) for text in members.split()
    )
    queues = tuple(("a", number) for number in range(8))
    found = replayed(Inputs("T", connections, queues, ()), StrategySettings())
    assert (found.counts, found.if_deduplicated, found.if_unique) == (counts, deduplicated, unique)


def test_queues_of_a_member_that_broadcasts_have_no_owner() -> None:
    """By AVG c2 has the second half."""
    members = (connection("c1"), connection("c2", subscribes=False)._replace(broadcasts=True))
    found = replayed(Inputs("T", members, tuple(("a", number) for number in range(4)), ()), StrategySettings())
    assert found.owner_ids == [("c1",), ("c1",), (), ()]
    assert found.unassigned_causes == [None, None, "MEMBER_BROADCASTS", "MEMBER_BROADCASTS"]
    assert found.unassigned_client_ids == [None, None, "c2", "c2"]


def test_without_duplicates_there_is_nothing_to_cure() -> None:
    found = replayed(Inputs("T", (connection("c1"),), (("a", 0),), ()), StrategySettings())
    assert (found.duplicate_ids, found.if_deduplicated, found.if_unique) == ((), None, None)


def test_queues_come_in_allocation_order_and_those_that_nobody_may_read_after_them() -> None:
    route = (RouteEntry("b", 6, 1, 2), RouteEntry("a", 6, 11, 11), RouteEntry("0", 2, 1, 1))
    found = replayed(Inputs("T", (connection("c"),), *queues_of(route)), StrategySettings())
    assert found.queues == (*(("a", number) for number in range(11)), ("b", 0), ("0", 0), ("b", 1))
    assert found.readable_count == 12
    assert found.unassigned_causes[12:] == ["BROKER_NOT_READABLE", "BEYOND_READ_QUEUES"]
