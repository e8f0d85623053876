"""Clients' reports about themselves: subscriptions, to brokers; strategy and queues, in their own logs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from spark_jobs.domain.model.message_queue import MessageModel, MessageQueue
from spark_jobs.domain.model.window import Time, joined
from spark_jobs.ingest.logs.events import Connected, Event, LockAsked, Rebalanced, Registered, Subscription
from spark_jobs.ingest.logs.members import Changed
from spark_jobs.ingest.logs.sources import Process

#: Milliseconds (`rocketmq.client.rebalance.lockInterval`); a client that is silent twice as long wants no lock.
_ASKS_AGAIN: Final = 20_000


class WaitChanged(NamedTuple):
    """A client of a group asks for the lock of a queue in vain, from now on, or no longer."""

    group: str
    client_id: str
    queue: MessageQueue
    waits: bool


Key = tuple[str, str]
ClientEvent = tuple[int, Event | WaitChanged, Process | None]


@dataclass(frozen=True)
class KnownOfClient:
    """Known state of a client of a group. `subscriptions`: None: nothing; `rebalanced`: the last result of its
    rebalances, by topic; `waits_for`: the queues of which brokers refuse it the lock, None: it never asked in vain;
    `message_model`: that with which it connected to a group of which any member broadcasts.
    """

    subscriptions: tuple[Subscription, ...] | None = None
    waits_for: frozenset[MessageQueue] | None = None
    rebalanced: Mapping[str, Rebalanced] = field(default_factory=dict)
    message_model: str | None = None


class Client(NamedTuple):
    """A client of a group: its states from when on, and the spans (milliseconds) in which it is known to have lived."""

    group: str
    client_id: str
    changes: list[tuple[int, KnownOfClient]]
    alive: list[tuple[int, int]]


def clients_of(read: Sequence[Process], groups: Mapping[str, Mapping[str, list[Changed]]]) -> list[Client]:
    """The clients that said something of themselves. One that writes a log is known until the log ends; any
    other as long as a broker or proxy has its connection (`groups`: by process and group).
    """
    changes: dict[Key, list[tuple[int, KnownOfClient]]] = defaultdict(list)
    own_logs: dict[Key, list[tuple[int, int]]] = {}
    ids: dict[tuple[int, str], str] = {}
    connected = (event for process in read for _, event in process.logged if isinstance(event, Connected))
    broadcasting = {event.group for event in connected if event.message_model == MessageModel.BROADCASTING}
    for at, event, process in merge(*map(_of_process, read), _lock_waits(read), key=itemgetter(0)):
        if isinstance(event, Connected):
            key = event.group, event.connection.client_id
            ids[id(process), event.connection.address] = event.connection.client_id
            if event.group in broadcasting:
                _add(changes[key], at, message_model=event.message_model)
        elif isinstance(event, Registered) and event.address:
            client_id = ids.get((id(process), event.address))
            if client_id:
                _add(changes[event.group, client_id], at, subscriptions=event.subscriptions)
        elif isinstance(event, Rebalanced):
            key = event.group, event.client_id
            _add(changes[key], at, rebalanced={**_now(changes[key]).rebalanced, event.topic: event})
            own_logs[key] = process.alive if process else []
        elif isinstance(event, WaitChanged):
            key = event.group, event.client_id
            waits_for = _now(changes[key]).waits_for or frozenset()
            _add(changes[key], at, waits_for=waits_for | {event.queue} if event.waits else waits_for - {event.queue})
    listed = _listed(groups, {str(process.name): process.alive[-1][1] for process in read if process.name})
    alive = {key: own_logs.get(key) or listed.get(key, []) for key in changes}
    return [
        Client(*key, states, [(max(first, states[0][0]), last) for first, last in alive[key] if last >= states[0][0]])
        for key, states in changes.items()
    ]


def _of_process(process: Process) -> Iterator[ClientEvent]:
    return ((at, event, process) for at, event in process.logged)


def _add(states: list[tuple[int, KnownOfClient]], at: int, **known: object) -> None:
    states.append((at, replace(_now(states), **known)))  # type: ignore[arg-type]


def _now(states: Sequence[tuple[int, KnownOfClient]]) -> KnownOfClient:
    return states[-1][1] if states else KnownOfClient()


def _listed(
    groups: Mapping[str, Mapping[str, list[Changed]]], ends: Mapping[str, int]
) -> dict[Key, list[tuple[int, int]]]:
    """Spans (ms, inclusive) in which a broker or proxy has a connection of the client; `ends`: of each log."""
    spans: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    for name, of_process in groups.items():
        for group, changes in of_process.items():
            for now, following in pairwise([*changes, Changed(ends[name] + 1, None)]):
                for connection in now.state.members if now.state else ():
                    spans[group, connection.client_id].append((now.at, following.at))
    return {key: [(start, end - 1) for start, end in joined(of_client)] for key, of_client in spans.items()}


def _lock_waits(read: Sequence[Process]) -> list[ClientEvent]:
    """The waits of all clients: each from the first refusal until the client has the lock, or would ask again."""
    requests: dict[tuple[str, str, MessageQueue], list[tuple[int, bool]]] = defaultdict(list)
    for process in read:
        for at, event in process.logged:
            if isinstance(event, LockAsked):
                requests[event.group, event.client_id, event.queue].append((at, event.got))
    changes: list[ClientEvent] = []
    for key, answers in requests.items():
        for start, end in _spans(sorted(answers)):
            changes += [(start, WaitChanged(*key, waits=True), None), (end, WaitChanged(*key, waits=False), None)]
    return sorted(changes, key=itemgetter(0))


def _spans(answers: Sequence[tuple[int, bool]]) -> Iterator[Time]:
    since = refused_at = None
    for at, got in answers:
        if since is not None and refused_at is not None and (got or at > refused_at + 2 * _ASKS_AGAIN):
            yield since, min(at, refused_at + _ASKS_AGAIN)
            since = None
        if not got:
            since, refused_at = at if since is None else since, at
    if since is not None and refused_at is not None:
        yield since, refused_at + _ASKS_AGAIN
