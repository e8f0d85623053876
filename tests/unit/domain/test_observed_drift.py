"""Made groups of every strategy that nobody reports: their owners are right, and a member that is stuck is found."""

from collections.abc import Collection, Sequence

import pytest

from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import Strategy
from tests.support.oracle.client import allocate
from tests.support.reporting import Course, by_rule, history, owned, places, step_of
from tests.unit.domain.test_observed import STRATEGIES

#: Members, and queues of each broker; the last member joins after 300 s.
SIZES: Sequence[tuple[int, tuple[int, ...]]] = (
    *((2, (4,)), (3, (2, 2)), (4, (4, 4)), (5, (8, 8, 1))),
    *((6, (16,)), (7, (5, 5, 5, 5)), (8, (16, 15)), (9, (16, 16, 16, 16))),
)


def _course(members: int, counts: Sequence[int]) -> Course:
    ids = [f"10.0.0.{number}@{number}-r{number % 3}" for number in range(members)]
    queues = {f"room{number}@b": count for number, count in enumerate(counts)}
    return ((0, " ".join(ids[:-1]), queues), (300, " ".join(ids), queues))


def _share(strategy: Strategy, client_id: str, ids: Sequence[str], queues: Sequence[Place]) -> Collection[Place]:
    taken = allocate(strategy, client_id, [MessageQueue("t", *place) for place in queues], ids)
    return {(queue.broker_name, queue.queue_id) for queue in taken or ()}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", STRATEGIES)
def test_a_stuck_member_is_detected_in_a_group_of_any_strategy(kind: str, size: tuple[int, tuple[int, ...]]) -> None:
    """The first member keeps what it had before the last one joined; the others have what the oracle gives them."""
    strategy, language, configured = STRATEGIES[kind]
    course = _course(*size)
    (_, before, queues), (_, after, _) = course
    stuck, listed = before.split()[0], places(queues)
    plain = by_rule(course, lambda client_id, ids, of: _share(strategy, client_id, ids, of))

    def holds(client_id: str, second: int) -> Collection[Place]:
        return plain(client_id, 0 if client_id == stuck else second)

    if len({frozenset(holds(client_id, 400)) for client_id in after.split()}) == 1:
        return  # either of two members that hold the same may be the stuck one
    step = step_of(history(course, holds, language=language), configured)
    last = step.step.replayed[-1]
    expected = {client_id: {*_share(strategy, client_id, after.split(), listed)} for client_id in after.split()}
    assert owned(last) == expected
    held = {client_id: {*holds(client_id, 400)} for client_id in after.split()}
    nobodys = expected[stuck] - set().union(*held.values())
    several = held[stuck] & set().union(*(of for client_id, of in held.items() if client_id != stuck))
    drifts = [finding for finding in step.findings if finding.rule == "ALLOCATION_DRIFT"]
    assert bool(drifts) == bool(nobodys or several)
    for drift in drifts:
        assert stuck in drift.evidence.client_ids
        assert {(queue.broker_name, queue.queue_id) for queue in drift.evidence.queues} == nobodys | several
