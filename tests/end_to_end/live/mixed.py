"""Clients of Go, Node, Python and old and new Java on one cluster: who they are, and what happens to them when."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.end_to_end.live import languages, processes
from tests.end_to_end.live.cluster import Cluster, cluster
from tests.end_to_end.live.scenario import Clock, start_recording
from tests.support.agreement import Holder
from tests.support.tables import cells

_BROKERS = ("broker-a", "broker-b", "broker-c")
#: A further broker, which registers with the first name server only.
HALF_KNOWN = "broker-d"
#: Topic: its brokers.
TOPICS = dict.fromkeys(
    ("kill", "twin", "circle", "hash", "avg", "old", "block", "order", "subs-1", "subs-2", "right", "wrong", "py"),
    ("broker-a", "broker-b"),
) | {"node": ("broker-a",), "wiped": ("broker-b", "broker-c"), "half": ("broker-a", HALF_KNOWN)}
_QUEUES = dict.fromkeys(TOPICS, "4:4") | dict.fromkeys(("right", "wrong", "hash"), "8:8")
#: Process | client | what it is started with. Go: group, topic, strategy, instance. Java, per member: group, topic, IP,
#: instance (the client id is `ip@instance`), kind, tags, ms per message, threads. Node and Python: group, topic, tag.
#: A message of `wiped` takes 5 s, so that some wait at each sample of its brokers.
_CLIENTS = """
    kill-1   | go 2.1.2   | go-kill kill AVG
    kill-2   | go 2.1.2   | go-kill kill AVG
    kill-3   | go 2.1.2   | go-kill kill AVG
    kill-4   | go 2.1.2   | go-kill kill AVG
    kill-5   | go 2.1.2   | go-kill kill AVG
    kill-6   | go 2.1.2   | go-kill kill AVG
    twin-1   | go 2.1.0   | go-twin twin AVG 1
    twin-2   | go 2.1.0   | go-twin twin AVG 1
    twin-3   | go 2.1.0   | go-twin twin AVG
    circle-1 | go 2.1.2   | go-circle circle CIRCLE c1
    circle-2 | go 2.1.2   | go-circle circle CIRCLE c2
    circle-3 | go 2.1.0   | go-circle circle CIRCLE c3
    hash-1   | go 2.1.2   | mix-hash hash HASH g1
    hash-2   | go 2.1.2   | mix-hash hash HASH g2
    hash-3   | java 5.4.0 | mix-hash,hash,10.9.1.1,1,hash,*,0
    avg-1    | go 2.1.2   | mix-avg avg AVG g1
    avg-2    | go 2.1.0   | mix-avg avg AVG g2
    avg-3    | java 5.4.0 | mix-avg,avg,10.9.2.1,1,avg,*,0
    old-1    | java 4.3.0 | old-avg,old,10.9.3.1,1,avg,*,0
    old-2    | java 4.9.8 | old-avg,old,10.9.3.2,1,avg,*,0
    old-3    | java 5.4.0 | old-avg,old,10.9.3.3,1,avg,*,0
    wiped-1  | java 5.4.0 | wiped,wiped,10.9.4.1,1,avg,*,5000,20 wiped,wiped,10.9.4.2,1,avg,*,5000,20
    block-1  | go 2.1.2   | go-block block AVG
    block-2  | go 2.1.2   | go-block block AVG
    order-1  | go 2.1.2   | go-order order ORDERLY
    order-2  | go 2.1.2   | go-order order ORDERLY
    order-3  | go 2.1.2   | go-order order ORDERLY
    subs-1   | go 2.1.2   | go-subs subs-1 AVG
    subs-2   | go 2.1.2   | go-subs subs-2 AVG
    right-1  | go 2.1.2   | go-right right AVG
    right-2  | go 2.1.0   | go-right right AVG
    wrong-1  | java 4.9.8 | old-wrong,wrong,10.9.5.1,1,avg,*,0 old-wrong,wrong,10.9.5.2,1,avg,*,0
    half-1   | java 5.4.0 | half,half,10.9.6.1,1,avg,*,0
    half-2   | java 5.4.0 | half,half,10.9.6.2,1,avg,*,0
    node-1   | node       | node-push node A
    node-2   | node       | node-push node B
    python-1 | python     | py-push py A
    python-2 | python     | py-push py A
"""
#: The only name server that a process knows, where that is not all of them.
_NAMESRV = {"half-1": "namesrv", "half-2": "namesrv-2"}
#: Second of the recording | what is done | to which process, broker or topic. Clients that start here do not before.
#: `block-1` stands for longer than the 300 s of a verdict: a shorter stop is a finding only if messages waited at each
#: sample before it, too.
_EVENTS = """
     60 | kill    | kill-2
     60 | start   | node-2
     60 | topic   | right 8:4
     60 | topic   | wrong 4:8
     90 | start   | twin-2
     90 | block   | block-1
    120 | suspend | circle-2
    120 | topic   | right 4:4
    120 | start   | avg-3
    150 | start   | kill-4
    180 | stop    | half-1 half-2
    200 | stop    | old-2
    210 | stop    | order-2
    270 | wipe    | broker-c
    300 | go on   | circle-2
    300 | start   | order-3
    300 | stop    | hash-3
    330 | kill    | twin-1
    330 | restore | broker-c
    360 | stop    | avg-3
    390 | stop    | kill-1 kill-3 kill-4
    450 | unblock | block-1
    480 | start   | kill-5 kill-6
"""
#: Seconds of the recording.
END = 540
_SIGNALS = {"suspend": signal.SIGSTOP, "go on": signal.SIGCONT, "block": signal.SIGUSR1, "unblock": signal.SIGUSR2}


class Client(NamedTuple):
    """A process of the scenario, and its groups."""

    process: str
    program: str
    arguments: Sequence[str]

    @property
    def groups(self) -> set[str]:
        if self.program.startswith("java"):
            return {member.partition(",")[0] for member in self.arguments}
        return {self.arguments[0]}


class Event(NamedTuple):
    """An event that was carried out, and when it was over, in seconds since 1970."""

    what: str
    subject: str
    done: float


@dataclass(frozen=True)
class Scenario:
    """A recorded run: its folder, when the recording began, and the events that were carried out."""

    folder: Path
    begin: float
    events: Sequence[Event]

    def save(self) -> None:
        (self.folder / "events.json").write_text(json.dumps([self.begin, self.events]))

    @classmethod
    def load(cls, folder: Path) -> Scenario:
        begin, events = json.loads((folder / "events.json").read_text())
        return cls(folder, begin, [Event(*event) for event in events])

    @property
    def recording(self) -> Path:
        return next((self.folder / "recordings").glob("*.jsonl.gz"))


CLIENTS = {process: Client(process, program, told.split()) for process, program, told in cells(_CLIENTS)}
GROUPS = sorted({group for client in CLIENTS.values() for group in client.groups})
#: Groups of Go and Java clients, whose listeners write down each message.
LISTENING = [group for group in GROUPS if group not in ("node-push", "py-push")]


def run(folder: Path) -> Scenario:
    """Starts the cluster and the clients, and records them while things happen."""
    brokers = dict.fromkeys(_BROKERS, "5.4.0")
    with cluster(folder, brokers=brokers, namesrvs=2, program="OldClients.java") as made:
        _begin(made)
        recorded = _record(made)
        # Brokers write down what they know of topics a while after it has changed.
        time.sleep(10)
    recorded.save()
    return recorded


def _begin(made: Cluster) -> None:
    made.start_further(HALF_KNOWN, f"namesrvAddr={made.namesrvs['namesrv']}\n")
    made.start_proxy()
    for broker in made.brokers:
        topics = [f"{topic}:{_QUEUES[topic]}" for topic, brokers in TOPICS.items() if broker in brokers]
        made.admin("topics", *topics, brokers=[broker])
    late = {name for _, what, subjects in cells(_EVENTS) if what == "start" for name in subjects.split()}
    made.clients("producer", "produce", ["250", *TOPICS])
    names = [name for name in CLIENTS if name not in late]
    for name in names:
        start(made, CLIENTS[name])
        made.wait_started(name)
    time.sleep(45)


def start(made: Cluster, client: Client) -> None:
    """Starts the process, which is up within seconds."""
    name = client.process
    language, _, version = client.program.partition(" ")
    if language == "java":
        jars = made.jars if version == "5.4.0" else languages.java_client(version)
        namesrv = made.namesrvs.get(_NAMESRV.get(name, ""), "")
        made.clients(name, "consume", client.arguments, jars, namesrv)
    elif language == "go":
        made.program(name, [*languages.go_consumer(version), made.namesrv, *client.arguments])
    else:
        command = languages.node_consumer() if language == "node" else languages.python_consumer()
        made.program(name, [*command, f"127.0.0.1:{made.grpc}", *client.arguments])


def _record(made: Cluster) -> Scenario:
    capture = start_recording(made, made.folder / "recordings", END)
    clock, begin, done = Clock(), time.time(), list[Event]()
    for second, what, subjects in cells(_EVENTS):
        clock.wait(int(second))
        for subject in [subjects] if what == "topic" else subjects.split():
            _ACTIONS[what](made, subject)
            done.append(Event(what, subject, time.time()))
    assert capture.wait(END) == 0, made.log("capture")
    return Scenario(made.folder, begin, done)


def _change_topic(made: Cluster, told: str) -> None:
    topic, queues = told.split()
    made.admin("topics", f"{topic}:{queues}", brokers=TOPICS[topic])


def _wipe(made: Cluster, broker: str) -> None:
    """All that it has stored but its logs."""
    made.stop(broker)
    for path in (made.folder / broker).iterdir():
        if path.name != "logs":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _signalled(number: int) -> Callable[[Cluster, str], None]:
    return lambda made, process: made.running[process].send_signal(number)


_ACTIONS: Mapping[str, Callable[[Cluster, str], None]] = {
    "start": lambda made, name: start(made, CLIENTS[name]),
    "topic": _change_topic,
    "kill": Cluster.stop,
    "stop": lambda made, process: processes.kill(made.running.pop(process), signal.SIGTERM),
    "wipe": _wipe,
    "restore": Cluster.start_broker,
    **{what: _signalled(number) for what, number in _SIGNALS.items()},
}


class Delivery(NamedTuple):
    """A message that a listener got; `queue`: `broker:queue`; `at`: seconds since 1970."""

    topic: str
    queue: str
    offset: int
    at: float


def delivered(folder: Path, process: str) -> Iterator[Delivery]:
    """Each message that listeners of a process got."""
    for line in (folder / f"{process}.log").read_text(errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["message"]:
            _, at, topic, queue, offset = words
            yield Delivery(topic, queue, int(offset), int(at) / 1000)


def deliveries(recorded: Scenario, group: str) -> dict[tuple[str, str], dict[int, list[float]]]:
    """By (topic, `broker:queue`) and offset the seconds at which listeners of a group got the message."""
    got: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name in (name for name, client in CLIENTS.items() if group in client.groups):
        for each in delivered(recorded.folder, name):
            got[each.topic, each.queue][each.offset].append(each.at)
    return got


def holders(recorded: Scenario, group: str) -> list[Holder]:
    """The queues that clients of a group wrote that they hold; none of clients behind a proxy."""
    found = [_holders(recorded, name, group) for name, client in CLIENTS.items() if group in client.groups]
    return [holder for of_process in found for holder in of_process]


def _holders(recorded: Scenario, process: str, group: str) -> Iterator[Holder]:
    lines = [line.split() for line in (recorded.folder / f"{process}.log").read_text(errors="replace").splitlines()]
    changes: dict[str, list[tuple[float, str, frozenset[str]]]] = {}
    for line in lines:
        if line[:1] in (["holds"], ["gone"]) and line[2] == group:
            topic, queues = line[4:] or ("*", "-")
            changes.setdefault(line[3], []).append((int(line[1]) / 1000, topic, frozenset(queues.split(",")) - {"-"}))
    times = {event.what: event.done for event in recorded.events if event.subject == process}
    suspended = [(times["suspend"], times["go on"])] if "suspend" in times else []
    for client_id, of_id in changes.items():
        killed = [(times["kill"], "*", frozenset[str]())] if "kill" in times else []
        yield Holder(client_id, [*of_id, *killed], suspended)
