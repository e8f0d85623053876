"""Logs → the lines of a recording, as if a recorder had asked all the time."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rocketmq.strategies import STRATEGY_OF_CLASS
from spark_jobs.ingest.logs.clients import KnownOfClient, clients_of
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.events import Booted, QueueCounts, Subscription
from spark_jobs.ingest.logs.members import Changed, GroupState, groups_of
from spark_jobs.ingest.logs.offsets import CADENCE, offset_rows, together
from spark_jobs.ingest.logs.read import spans_of
from spark_jobs.ingest.logs.report import LogReport
from spark_jobs.ingest.logs.routes import QueuesChanged, addresses_of, topics_of
from spark_jobs.ingest.logs.sources import LogFolder, Process, processes, with_snapshots

_NOT_ONLINE: Final = "MQBrokerException CODE: 206  DESC: no consumer of the group is in the log"
_CLASS_OF_STRATEGY: Final = {
    name: f"org.apache.rocketmq.client.consumer.rebalance.{java}" for java, name in STRATEGY_OF_CLASS.items()
}


class LogRecording(NamedTuple):
    """A recording from logs. `rows`: its lines as dicts, to be read once; `processes`: those that wrote the logs;
    `unknown`: the groups whose members are not known for some of the time, with the brokers; `report`: what was read.
    """

    rows: Iterator[dict[str, Any]]
    processes: Sequence[Process]
    unknown: Mapping[str, Sequence[str]]
    report: LogReport

    def __str__(self) -> str:
        """Per process when it was alive, then what is not known, in lines."""
        named = [process for process in self.processes if process.name]
        rest = sum(not process.name for process in self.processes)
        text = [
            str(self.report),
            *(f"{process.name}: {' and '.join(map(_span, process.alive))}" for process in named),
            *([f"and {count(rest, 'folder')} without consumers' connections"] if rest else []),
        ]
        for group, brokers in self.unknown.items():
            text.append(f"{group}: its members are unknown for some of the time at {', '.join(brokers)}")
        return "\n".join(text)


def recording_of_logs(
    folders: Sequence[LogFolder], cluster: str, zone: str | None = None, recordings: Sequence[Path] = ()
) -> LogRecording:
    """The recording that these logs make of the cluster, written as it is read. Members that were connected before a
    log begins are known from any snapshot in `recordings` of the time of the logs.

    Raises `InputFileError` or `UsageError` where the logs cannot be read as they are.
    """
    report = LogReport()
    read = processes(folders, LogZone(zone), report)
    with_snapshots(read, recordings)
    groups = {str(process.name): groups_of(process) for process in read if process.name}
    at_all = sorted({group for of_broker in groups.values() for group in of_broker})
    unknown = {
        group: [
            name
            for name, of_broker in groups.items()
            if any(change.state is None for change in of_broker.get(group, ()))
        ]
        for group in at_all
    }
    meta = {"kind": "meta", "cluster": cluster, "source": "logs"}
    offsets = offset_rows(together([process.commits for process in read]))
    rows = chain([meta], _memberships(read, groups, at_all), _routes(read), _clients(read, groups), offsets)
    return LogRecording(rows, read, {group: brokers for group, brokers in unknown.items() if brokers}, report)


def write_recording(recording: LogRecording, path: Path, recorded: Sequence[tuple[int, int]] = ()) -> Path:
    """The path, with the lines as gzip. Those of the `recorded` spans (milliseconds, both ends within) are
    left out: what a recorder saw says more.
    """
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for row in recording.rows:
            if not any(first <= row.get("at", -1) <= last for first, last in recorded):
                file.write(f"{_text(row)}\n")
    return path


def _span(span: tuple[int, int]) -> str:
    return "/".join(format_utc(from_micros(1000 * at)) for at in span)


def _memberships(
    read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]], at_all: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The state of each group at each broker and proxy, at every change and every `CADENCE`. A group that a broker's
    log does not name has no consumer there since the broker started.
    """
    for process in (process for process in read if process.name):
        name = str(process.name)
        boot = next((at for at, event in process.logged if isinstance(event, Booted)), None)
        empty = [Changed(boot, GroupState())] if boot is not None else []
        for group in at_all:
            changes = groups[name].get(group, empty)
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


def _routes(read: Sequence[Process]) -> Iterator[dict[str, Any]]:
    """The route of each topic: the queues of the brokers that are alive. Of a broker without logs name servers and
    clients know the queues: it is alive as long as these are.
    """
    addresses = addresses_of(read)
    of_unnamed = spans_of(span for process in read if not process.name for span in process.alive)
    alive = defaultdict(lambda: of_unnamed, {str(process.name): process.alive for process in read if process.name})
    for topic, brokers in topics_of(read).items():
        times = {at for broker, changes in brokers.items() for at, _ in _at_times(alive[broker], changes)}
        for at in sorted(times):
            queues = {
                broker: _state_at(changes, at)
                for broker, changes in brokers.items()
                if any(first <= at <= last for first, last in alive[broker])
            }
            yield {"kind": "route", "at": at, "topic": topic} | _route(queues, addresses)


def _route(queues: dict[str, QueueCounts | None], addresses: dict[str, str]) -> dict[str, Any]:
    known = {broker: of_broker for broker, of_broker in sorted(queues.items()) if of_broker is not None}
    if not known:
        return {"error": "MQClientException CODE: 17  DESC: no broker of the logs has the topic"}
    queue_data = [
        {"brokerName": broker, "readQueueNums": counts.read, "writeQueueNums": counts.write, "perm": counts.perm}
        for broker, counts in known.items()
    ]
    broker_data = ",".join(
        f'{{"brokerName":{_text(broker)},"brokerAddrs":{{0:{_text(addresses[broker])}}}}}'
        for broker in known
        if broker in addresses
    )
    return {"body": f'{{"queueDatas":{_text(queue_data)},"brokerDatas":[{broker_data}]}}'}


def _clients(read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]]) -> Iterator[dict[str, Any]]:
    """Return what each client said of itself, to a broker or in its own log."""
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
        queues = (
            _text(_queue(MessageQueue(topic, broker, queue))) + ":{}"
            for topic, result in state.rebalanced.items()
            for broker, queue in result.queues
        )
        parts.append(f'"mqTable":{{{",".join(queues)}}}')
    if state.waits_for is not None:
        properties["PROP_CONSUMEORDERLY"] = "true"  # no other consumer asks for locks
        parts.append(f'"lockRefused":{_text(list(map(_queue, sorted(state.waits_for))))}')
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


def _state_at(changes: Sequence[QueuesChanged], at: int) -> QueueCounts | None:
    place = bisect_right(changes, at, key=attrgetter("at"))
    return changes[place - 1].queues if place else None
