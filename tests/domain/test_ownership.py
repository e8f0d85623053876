"""Every hand-written case, queue by queue, and client by client."""

from __future__ import annotations

import pytest

from spark_jobs.domain.allocation import KeepsWhatItHad, allocate
from spark_jobs.domain.message_queue import MessageQueue, RouteEntry, readable_queues, sort_client_ids
from spark_jobs.domain.ownership import Member, ownership
from spark_jobs.domain.strategies import AVG, Strategy
from tests.cases import CASES, Case, Expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_queue_has_the_owners_and_the_cause_of_the_table(case: Case) -> None:
    outcome = {
        one.queue: Expected(
            tuple(case.client_ids[owner] for owner in one.owners),
            one.unassigned_cause or one.double_owned_cause,
            one.unassigned_client_id,
        )
        for one in ownership(case.topic, case.members, case.route)
    }
    assert outcome == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_client_takes_what_the_table_gives_it(case: Case) -> None:
    queues = readable_queues(case.topic, case.route)
    for member in case.members:
        if member.subscribes:
            taken = allocate(member.strategy, member.client_id, queues, case.client_ids) or []
            owned = [queue for queue, expected in case.expected.items() if member.client_id in expected.owners]
            assert sorted(set(taken) & set(queues)) == sorted(owned)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_tables_list_clients_as_clients_sort_them(case: Case) -> None:
    assert case.client_ids == sort_client_ids(case.client_ids)


def test_queues_come_in_allocation_order() -> None:
    route = (RouteEntry("b", 6, 1, 1), RouteEntry("a", 6, 11, 11))
    rows = ownership("T", [Member("c", None, Strategy(AVG), True)], route)
    assert [row.queue for row in rows] == [
        *(MessageQueue("T", "a", i) for i in range(11)),
        MessageQueue("T", "b", 0),
    ]


def test_readable_tells_queues_that_clients_list() -> None:
    route = (RouteEntry("a", 6, 1, 2), RouteEntry("b", 2, 1, 1))
    rows = ownership("T", [], route)
    assert [(row.queue.broker_name, row.queue.queue_id, row.readable) for row in rows] == [
        ("a", 0, True),
        ("a", 1, False),
        ("b", 0, False),
    ]


def test_an_unresolvable_room_leaves_all_as_it_was() -> None:
    nearby = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="^(r[0-9])-", client_room="^(r[0-9])-")
    with pytest.raises(KeepsWhatItHad, match="Machine room is null for consumer id somewhere"):
        ownership("T", [Member("somewhere", None, nearby, True)], [RouteEntry("r1-a", 6, 1, 1)])
