from __future__ import annotations

import pytest

from spark_jobs.domain.allocation import KeepsWhatItHad
from spark_jobs.domain.message_queue import MessageQueue
from spark_jobs.domain.pop import pop_assignment
from spark_jobs.domain.strategies import AVG, Strategy

QUEUES = [MessageQueue("T", broker, queue_id) for broker in "ab" for queue_id in (0, 1)]
FOUR = ["c1", "c2", "c3", "c4"]


def popped(share: int, client_id: str, client_ids: list[str], queues: list[MessageQueue] = QUEUES) -> list[str]:
    assigned = pop_assignment(Strategy(AVG), share, client_id, queues, client_ids)
    return [f"{queue.broker_name}{queue.queue_id}" for queue in assigned]


@pytest.mark.parametrize("share", [-1, 0, 3, 4])
def test_no_share_or_all_others_means_every_queue_of_every_broker(share: int) -> None:
    assert popped(share, "c2", FOUR) == ["a-1", "b-1"]
    assert popped(share, "stranger", FOUR) == ["a-1", "b-1"]


def test_a_client_helps_the_next_positions_around_the_end() -> None:
    assert popped(1, "c1", FOUR) == ["a0", "a1"]
    assert popped(2, "c2", FOUR) == ["a1", "b0", "b1"]
    assert popped(2, "c4", FOUR) == ["a0", "a1", "b1"]


def test_helping_a_twin_is_helping_its_first_position() -> None:
    # AVG: c1 has a0, its twin's a1 nobody. c3 helps b1's owner c4 only; c4 helps c1; c1 helps itself.
    assert popped(1, "c1", ["c1", "c1", "c3", "c4"]) == ["a0"]
    assert popped(1, "c4", ["c1", "c1", "c3", "c4"]) == ["a0", "b1"]


def test_with_more_clients_than_queues_everybody_gets_one() -> None:
    assert [popped(1, client_id, FOUR, QUEUES[:3]) for client_id in FOUR] == [["a0"], ["a1"], ["b0"], ["a0"]]


def test_who_is_not_listed_gets_nothing() -> None:
    assert popped(1, "stranger", FOUR) == []
    assert popped(1, "stranger", FOUR, QUEUES[:2]) == []


def test_without_queues_the_client_keeps_what_it_had() -> None:
    with pytest.raises(KeepsWhatItHad, match="mqAll"):
        popped(1, "c1", FOUR, [])
