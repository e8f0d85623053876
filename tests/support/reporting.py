"""Groups whose clients report the queues that they hold, by rules of their own: histories and audited steps."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.evaluate import EvaluatedStep, evaluate
from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.history import GroupHistory, Place
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.support.kernel import group_histories, settings
from tests.support.snapshots import client, membership, route
from tests.support.times import START, second_of

EVERY = 10
SETTINGS = settings(EVERY)
#: Of a client with these members and queues, both sorted.
Rule = Callable[[str, Sequence[str], Sequence[Place]], Collection[Place]]
#: From this second on: the members, and the queues of each broker.
Course = Sequence[tuple[int, str, dict[str, int]]]


def history(
    course: Course,
    holds: Callable[[str, int], Collection[Place] | None],
    *,
    until: int = 600,
    language: str | None = "GO",
    strategy_class: str | None = None,
    orderly: bool = False,
    subscribed: Callable[[int], Collection[str]] = lambda _: ("t",),
    consume_type: str | None = None,
) -> GroupHistory:
    """The group `g` on topic `t`, recorded every 10 s; `holds`: what a client lists at a second, None: no answer;
    `subscribed`: the topics that brokers list.
    """
    rows: dict[Table, list[dict[str, Any]]] = {MEMBERSHIP_SNAPSHOTS: [], ROUTE_SNAPSHOTS: [], CLIENT_SNAPSHOTS: []}
    says: dict[str, Any] = {"strategy_class": strategy_class, "message_model": "CLUSTERING", "consume_orderly": orderly}
    says["subscriptions"] = [{"topic": "t", "sub_string": "*"}]
    for at in range(course[0][0], until, EVERY):
        _, ids, queues = [one for one in course if one[0] <= at][-1]
        for broker in queues:
            listed = membership(at, *ids.split(), broker=broker, topics=subscribed(at))
            listed["connections"] = [one | {"language": language} for one in listed["connections"]]
            rows[MEMBERSHIP_SNAPSHOTS].append(listed | {"consume_type": consume_type})
        entries = [route(at, count, broker=broker)["queues"][0] for broker, count in queues.items()]
        rows[ROUTE_SNAPSHOTS].append(route(at, 0) | {"queues": entries})
        for client_id in set(ids.split()):
            held = holds(client_id, at)
            owned = [_owned(*place, locked=orderly or None) for place in sorted(held or ())]
            answer = {"answered": False} if held is None else says | {"owned_queues": owned}
            rows[CLIENT_SNAPSHOTS].append(client(at, client_id) | answer)
    (found,) = group_histories(rows)
    return found


def _owned(broker: str, number: int, *, locked: bool | None) -> dict[str, Any]:
    return {"topic": "t", "broker_name": broker, "queue_id": number, "locked": locked, "dropped": False}


def places(queues: dict[str, int]) -> list[Place]:
    return [(broker, number) for broker, count in sorted(queues.items()) for number in range(count)]


def by_rule(course: Course, rule: Rule) -> Callable[[str, int], Collection[Place]]:
    """Queues that a client holds that follows every change at once."""

    def holds(client_id: str, second: int) -> Collection[Place]:
        _, ids, queues = [one for one in course if one[0] <= second][-1]
        return rule(client_id, sorted(ids.split()), places(queues))

    return holds


def step_of(made: GroupHistory, configured: StrategySettings | None = None) -> EvaluatedStep:
    """Its only step."""
    (step,) = evaluate(made, configured or StrategySettings(), SETTINGS, START, START + 3600 * SECOND)
    return step


def owned(interval: RebalanceInterval) -> dict[str, set[Place]]:
    """By client id, what it owns; also those that own nothing."""
    assert interval.allocation is not None
    none: dict[str, set[Place]] = {member.client_id: set() for member in interval.members or ()}
    return none | {client_id: {*of} for client_id, of in interval.allocation.queues_of_client.items()}


def piece(of: RebalanceInterval) -> str:
    """The owners of its queues, as `0-60 c1 c1+c2 - -`."""
    assert of.allocation is not None
    owners = " ".join("+".join(ids) or "-" for ids in of.allocation.owner_ids)
    return f"{second_of(of.start)}-{second_of(of.end)} {owners}"
