import pytest

from spark_jobs.domain.model.history import RequestMode
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation
from spark_jobs.domain.rocketmq.pop import request_mode
from spark_jobs.domain.rocketmq.strategies import AVG, Strategy
from tests.support.oracle.client import pop_assignment

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


def test_a_broker_of_5_4_0_assigned_so() -> None:
    """Seen on a live cluster (`mqPopTable` of the clients' running info): 8 queues, 4 members, a share count of 1."""
    queues = [MessageQueue("pops", "broker-a", queue_id) for queue_id in range(8)]
    told = {client_id: [int(queue[-1]) for queue in popped(1, client_id, FOUR, queues)] for client_id in FOUR}
    assert told == {"c1": [0, 1, 2, 3], "c2": [2, 3, 4, 5], "c3": [4, 5, 6, 7], "c4": [0, 1, 6, 7]}


@pytest.mark.parametrize(
    ("given", "topic", "mode"),
    [
        ([(RequestMode("t", "POP", 1),)], "t", RequestMode("t", "POP", 1)),
        ([(RequestMode("t", "POP", 1),)] * 2, "t", RequestMode("t", "POP", 1)),
        ([(RequestMode("t", "POP", 1),), (RequestMode("t", "POP", 2),)], "t", None),
        ([(RequestMode("t", "POP", 1),), ()], "t", None),
        ([(RequestMode("t", "POP", 1),), None], "t", None),
        ([None], "%RETRY%g", None),
        ([()], "t", RequestMode("t", "PULL")),
        ([(RequestMode("u", "POP", 1),)], "t", RequestMode("t", "PULL")),
        ([(RequestMode("%RETRY%g", "POP", 1),)], "%RETRY%g", RequestMode("%RETRY%g", "PULL")),
    ],
)
def test_the_mode_of_a_topic_is_what_all_its_brokers_were_given(
    given: list[tuple[RequestMode, ...] | None], topic: str, mode: RequestMode | None
) -> None:
    assert request_mode(given, topic) == mode


def test_with_more_clients_than_queues_everybody_gets_one() -> None:
    assert [popped(1, client_id, FOUR, QUEUES[:3]) for client_id in FOUR] == [["a0"], ["a1"], ["b0"], ["a0"]]


def test_who_is_not_listed_gets_nothing() -> None:
    assert popped(1, "stranger", FOUR) == []
    assert popped(1, "stranger", FOUR, QUEUES[:2]) == []


def test_without_queues_the_client_keeps_what_it_had() -> None:
    with pytest.raises(KeepsAllocation, match="mqAll"):
        popped(1, "c1", FOUR, [])
