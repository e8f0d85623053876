"""Who was connected, the routes, the clients' reports and the committed offsets → rows of the source tables."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeVar

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.rocketmq.strategies import STRATEGY_OF_CLASS
from spark_jobs.ingest.logs.clients import KnownOfClient, clients_of
from spark_jobs.ingest.logs.events import Booted, GroupState
from spark_jobs.ingest.logs.members import Changed
from spark_jobs.ingest.logs.read import CADENCE, Commit
from spark_jobs.ingest.logs.routes import addresses_of, presence_of, topics_of
from spark_jobs.ingest.logs.sources import Process

#: The columns of a `LoggedConnection`.
CONNECTION: Final = ("client_addr", "client_id", "language", "version")
#: A row of a source table, by column; its cluster is null.
LogRow = tuple[Table, Mapping[str, Any]]
_CLASS_OF_STRATEGY: Final = {
    name: f"org.apache.rocketmq.client.consumer.rebalance.{java}" for java, name in STRATEGY_OF_CLASS.items()
}


def _row(table: Table, at: int, **columns: Any) -> LogRow:
    """The row of a time (milliseconds); columns that are not given are null."""
    return table, dict.fromkeys(table.columns) | {"captured_at": from_micros(1000 * at)} | columns


def membership_rows(read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]]) -> Iterator[LogRow]:
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
                    columns = _columns(state if state.members else GroupState())
                    yield _row(MEMBERSHIP_SNAPSHOTS, at, consumer_group=group, broker_name=name, **columns)


def _columns(state: GroupState) -> dict[str, Any]:
    return {
        "message_model": state.message_model,
        "consume_type": state.consume_type,
        "consume_from_where": state.consume_from_where,
        "connections": [dict(zip(CONNECTION, member, strict=True)) for member in sorted(state.members)],
        "subscriptions": [subscription._asdict() for subscription in state.subscriptions],
    }


def route_rows(read: Sequence[Process]) -> Iterator[LogRow]:
    """The route of each topic at each change and every `CADENCE`; no row while the queues of a broker are unknown."""
    addresses, topics, presence = addresses_of(read), topics_of(read), presence_of(read)
    for topic, brokers in topics.items():
        times = {at for broker, changes in brokers.items() for at, _ in _at_times(presence[broker].up, changes)}
        for at in sorted(times):
            states = [(broker, presence[broker].state_at(at, changes)) for broker, changes in sorted(brokers.items())]
            if None not in (state for _, state in states):
                known = [(broker, state.queues) for broker, state in states if state and state.queues]
                queues = [{"broker_name": broker, **counts._asdict()} for broker, counts in known]
                hosts = [
                    {"broker_name": broker, "broker_id": 0, "address": addresses[broker]}
                    for broker, _ in known
                    if broker in addresses
                ]
                yield _row(ROUTE_SNAPSHOTS, at, topic=topic, queues=queues, addresses=hosts)


def client_rows(read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]]) -> Iterator[LogRow]:
    """Each client's reports, to a broker or in its own log: only what is known."""
    for client in clients_of(read, groups):
        for at, state in _at_times(client.alive, client.changes):
            columns = _reported(state)
            yield _row(CLIENT_SNAPSHOTS, at, consumer_group=client.group, client_id=client.client_id, **columns)


def _reported(state: KnownOfClient) -> dict[str, Any]:
    classes = {_CLASS_OF_STRATEGY.get(result.strategy.partition("-")[0]) for result in state.rebalanced.values()}
    known: dict[str, Any] = {"answered": True, "message_model": state.message_model}
    if state.subscriptions is not None:
        known["subscriptions"] = [subscription._asdict() for subscription in state.subscriptions]
    if state.rebalanced:
        queues = [queue for result in state.rebalanced.values() for queue in result.queues]
        known["strategy_class"] = classes.pop() if len(classes) == 1 else None
        known["owned_queues"] = [queue._asdict() for queue in queues]
    if state.waits_for is not None:
        known["consume_orderly"] = True  # no other consumer asks for locks
        known["lock_refused"] = [queue._asdict() for queue in sorted(state.waits_for)]
    return known


def offset_rows(commits: Mapping[Commit, tuple[int, int]]) -> Iterator[LogRow]:
    """A row per group, topic and collection interval, at the time of its last commit."""
    unknown = dict.fromkeys(("broker_offset", "pull_offset", "last_timestamp"))
    for (group, topic, _), queues in groupby(sorted(commits), key=lambda commit: commit[:3]):
        last = [(commit, *commits[commit]) for commit in queues]
        offsets = [
            {"broker_name": commit.broker, "queue_id": commit.queue_id, "consumer_offset": offset} | unknown
            for commit, _, offset in last
        ]
        at = max(at for _, at, _ in last)
        yield _row(OFFSET_SNAPSHOTS, at, consumer_group=group, topic=topic, offsets=offsets)


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
