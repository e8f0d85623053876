"""Who was connected, the routes, and the clients' reports → lines of a recording."""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import STRATEGY_OF_CLASS
from spark_jobs.ingest.logs.clients import KnownOfClient, clients_of
from spark_jobs.ingest.logs.events import Booted, GroupState, QueueCounts, Subscription
from spark_jobs.ingest.logs.members import Changed
from spark_jobs.ingest.logs.read import CADENCE
from spark_jobs.ingest.logs.routes import addresses_of, presence_of, topics_of
from spark_jobs.ingest.logs.sources import Process

_NOT_ONLINE: Final = "MQBrokerException CODE: 206  DESC: no consumer of the group is in the log"
_CLASS_OF_STRATEGY: Final = {
    name: f"org.apache.rocketmq.client.consumer.rebalance.{java}" for java, name in STRATEGY_OF_CLASS.items()
}


def membership_rows(
    read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]]
) -> Iterator[dict[str, Any]]:
    """Each group's state at each broker and proxy, at each change and `CADENCE`; unnamed groups have no consumer."""
    at_all = sorted({group for of_broker in groups.values() for group in of_broker})
    for process in (process for process in read if process.name):
        name = str(process.name)
        boot = next((at for at, event in process.logged if isinstance(event, Booted)), None)
        empty = [Changed(boot, GroupState())] if boot is not None else []
        for group in at_all:
            changes = groups[name].get(group) or empty
            for at, state in _at_times(process.alive, [(change.at, change.state) for change in changes]):
                if state is not None and (state.message_model or not state.members):
                    yield {"kind": "connection", "at": at, "group": group, "broker": name} | _connection(state)


def _connection(state: GroupState) -> dict[str, Any]:
    if not state.members:
        return {"error": _NOT_ONLINE}
    body = {
        "connectionSet": [
            {
                "clientAddr": member.address,
                "clientId": member.client_id,
                "language": member.language,
                "version": member.version,
            }
            for member in sorted(state.members)
        ],
        "consumeFromWhere": state.consume_from_where,
        "consumeType": state.consume_type,
        "messageModel": state.message_model,
        "subscriptionTable": {subscription.topic: _subscription(subscription) for subscription in state.subscriptions},
    }
    return {"body": _text(body)}


def route_rows(read: Sequence[Process]) -> Iterator[dict[str, Any]]:
    """The route of each topic at each change and every `CADENCE`; no row while the queues of a broker are unknown."""
    addresses, topics, presence = addresses_of(read), topics_of(read), presence_of(read)
    for topic, brokers in topics.items():
        times = {at for broker, changes in brokers.items() for at, _ in _at_times(presence[broker].up, changes)}
        for at in sorted(times):
            states = [(broker, presence[broker].state_at(at, changes)) for broker, changes in brokers.items()]
            known = {broker: state.queues for broker, state in states if state is not None}
            if len(known) == len(states):
                queues = {broker: of_broker for broker, of_broker in sorted(known.items()) if of_broker is not None}
                yield {"kind": "route", "at": at, "topic": topic} | _route(queues, addresses)


def _route(queues: Mapping[str, QueueCounts], addresses: Mapping[str, str]) -> dict[str, Any]:
    if not queues:
        return {"error": "MQClientException CODE: 17  DESC: no broker of the logs has the topic"}
    queue_data = [
        {"brokerName": broker, "readQueueNums": counts.read, "writeQueueNums": counts.write, "perm": counts.perm}
        for broker, counts in queues.items()
    ]
    broker_data = ",".join(
        f'{{"brokerName":{_text(broker)},"brokerAddrs":{{0:{_text(addresses[broker])}}}}}'
        for broker in queues
        if broker in addresses
    )
    return {"body": f'{{"queueDatas":{_text(queue_data)},"brokerDatas":[{broker_data}]}}'}


def client_rows(read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]]) -> Iterator[dict[str, Any]]:
    """Rows of each client's reports, to a broker or in its own log."""
    for client in clients_of(read, groups):
        for at, state in _at_times(client.alive, client.changes):
            row = {"kind": "running", "at": at, "group": client.group, "client": client.client_id}
            yield row | {"body": _running(state)}


def _running(state: KnownOfClient) -> str:
    """Only what is known, in fastjson's form, whose keys may be objects."""
    parts: list[str] = []
    properties: dict[str, str] = {}
    if state.subscriptions is not None:
        parts.append(f'"subscriptionSet":{_text(list(map(_subscription, state.subscriptions)))}')
    if state.rebalanced:
        java = {_CLASS_OF_STRATEGY.get(result.strategy.partition("-")[0]) for result in state.rebalanced.values()}
        strategy = java.pop() if len(java) == 1 else None
        properties |= {"allocateMessageQueueStrategy": strategy} if strategy else {}
        queues = (_text(_queue(queue)) + ":{}" for result in state.rebalanced.values() for queue in result.queues)
        parts.append(f'"mqTable":{{{",".join(queues)}}}')
    if state.waits_for is not None:
        properties["PROP_CONSUMEORDERLY"] = "true"  # no other consumer asks for locks
        parts.append(f'"lockRefused":{_text(list(map(_queue, sorted(state.waits_for))))}')
    if state.message_model is not None:
        properties["messageModel"] = state.message_model
    parts.append(f'"properties":{_text(properties)}')
    return f"{{{','.join(parts)}}}"


def _queue(queue: MessageQueue) -> dict[str, Any]:
    return {"topic": queue.topic, "brokerName": queue.broker_name, "queueId": queue.queue_id}


def _subscription(subscription: Subscription) -> dict[str, Any]:
    return {
        "topic": subscription.topic,
        "expressionType": subscription.expression_type,
        "subString": subscription.sub_string,
        "subVersion": subscription.sub_version,
    }


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


State = TypeVar("State")


def _at_times(alive: Sequence[tuple[int, int]], changes: Sequence[tuple[int, State]]) -> Iterator[tuple[int, State]]:
    """The state at each change and each full `CADENCE` within these spans; of changes at one time the last."""
    starts = [at for at, _ in changes]
    for first, last in alive:
        ticks = range(-(-first // CADENCE) * CADENCE, last + 1, CADENCE)
        for at in sorted({first, last, *ticks, *(at for at in starts if first <= at <= last)}):
            place = bisect_right(starts, at)
            if place:
                yield at, changes[place - 1][1]
