"""The capacity of push consumers: measured on a real cluster (ten minutes), and predicted from their running info."""

import json
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.history import ClientHistory
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.status.throughput import AS_SET, Changes, throughputs
from spark_jobs.what_if.cases import EVERYBODY, Case
from spark_jobs.what_if.pace import Members
from tests.end_to_end.live import processes, scenario
from tests.end_to_end.live.cluster import Cluster, cluster
from tests.support.kernel import group_histories, recorded_rows

#: Clients are asked in every second round: every 10 s.
CADENCE = 5
#: Parts of the computed capacity that are sent, one after the other, and for how long.
LOADS, LOAD_SECONDS = (0.5, 0.9, 1.5), 70
#: A drain lasts so long by computation; before it the members of its time have been asked at least twice.
DRAIN_SECONDS, SETTLE_SECONDS = 20, 25
#: Part of what was measured by which the computed capacity may be off.
OFF = 0.15


class Group(NamedTuple):
    """How the members of a group are started."""

    name: str
    queues: int
    threads: int
    millis: int
    pull_interval: int = 0
    kind: str = "avg"

    @property
    def topic(self) -> str:
        return f"{self.name}-topic"

    def item(self, computed_seconds: float, after: float, seconds: float, members: int = 1) -> str:
        """What is sent, as `Clients.java` takes it: so many seconds of work for the members."""
        return f"{self.topic},{round(computed_seconds * self.capacity(members))},{after},{seconds}"

    def member(self, number: int) -> str:
        """As `Clients.java` takes it."""
        told = self.name, self.topic, f"10.9.1.{number}", self.name, self.kind, self.threads, self.millis
        return ",".join(map(str, (*told, self.pull_interval)))

    def capacity(self, members: int) -> float:
        """What is to be expected of so many, messages a second: how many the experiment sends."""
        if self.pull_interval:
            return self.queues * 32 * 1000 / self.pull_interval
        at_work = min(self.threads * members, self.queues) if self.kind == "orderly" else self.threads * members
        return at_work * 1000 / self.millis

    def shares(self, members: int) -> list[int]:
        """Queues of each of so many members."""
        queues, rest = divmod(self.queues, members)
        return [queues + (number < rest) for number in range(members)]


GROUPS = (
    *(Group(f"rt{millis}-t{threads}", 8, threads, millis) for millis in (5, 20, 100) for threads in (2, 4)),
    Group("pull-bound", 4, 20, 0, pull_interval=200),
    Group("orderly", 3, 20, 20, kind="orderly"),
)
#: Twice the threads, a quarter of the pull interval.
CHANGED = [one._replace(threads=one.threads * 2, pull_interval=one.pull_interval // 4) for one in GROUPS]


class Drain(NamedTuple):
    """Messages of a group that waited until they were consumed; `begin`, `end`: milliseconds UTC.

    `rate`: messages a second of all members, each without its first and last second. `consumed`: per member (process,
    client id) how many messages it had consumed in all, second by second.
    """

    group: str
    change: str
    messages: int
    begin: int
    end: int
    rate: float
    consumed: dict[str, list[tuple[int, int]]]


def _rate(told: Sequence[tuple[int, int]], begin: int) -> float:
    """Messages a second of one member while it consumes: one may get its first messages seconds after another. NaN: it
    was done too soon to tell.
    """
    started = max(at for at, count in told if count == told[0][1] or at <= begin)
    end = min(at for at, count in told if count == told[-1][1])
    inside = [one for one in told if started + 1000 <= one[0] <= end - 1000]
    if len(inside) < 2:
        return float("nan")
    return 1000 * (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


class Experiment:
    """What is done to the groups, all side by side; `measured.json` is written after each drain.

    It has the drains, and what was done: milliseconds UTC, group, what.
    """

    def __init__(self, made: Cluster, out: Path) -> None:
        self._cluster, self._out = made, out
        self._done: list[tuple[int, str, str]] = []
        self._drains: list[Drain] = []
        self._sent: Counter[str] = Counter()

    def run(self) -> None:
        self._cluster.admin("topics", *(f"{one.topic}:{one.queues}" for one in GROUPS), brokers=["broker-a"])
        self._consume("first", GROUPS)
        capture = scenario.start_capture(self._cluster, self._out / "recordings", CADENCE)
        time.sleep(SETTLE_SECONDS)
        self._load()
        self._drain("one member", GROUPS)
        self._consume("second", GROUPS, 2)
        self._drain("two members", GROUPS, 2)
        self._stop("first", "second")
        self._consume("changed", CHANGED)
        self._drain("changed", CHANGED)
        scenario.stop_capture(capture)

    def _load(self) -> None:
        """Less than they can, nearly as much, more: what piles up is the first thing that drains."""
        items = []
        for part, load in enumerate(LOADS):
            after = part * LOAD_SECONDS
            items += [one.item(load * LOAD_SECONDS, after, LOAD_SECONDS) for one in GROUPS]
            self._say(GROUPS, f"load {load}", after)
        self._measured("load 1.5", GROUPS, self._send("loads", items))

    def _drain(self, change: str, groups: Sequence[Group], members: int = 1) -> None:
        """Messages at once."""
        time.sleep(SETTLE_SECONDS)
        self._say(groups, f"burst: {change}")
        items = [one.item(DRAIN_SECONDS, 0, 0, members) for one in groups]
        self._measured(change, groups, self._send(f"burst-{change}", items))

    def _consume(self, jvm: str, groups: Sequence[Group], number: int = 1) -> None:
        """The n-th members start."""
        self._say(groups, f"member {number} starts ({jvm})")
        self._cluster.consumers(jvm, [one.member(number) for one in groups])

    def _stop(self, *jvms: str) -> None:
        """As a process is asked to: members that are killed keep the locks of orderly queues for a minute."""
        for jvm in jvms:
            self._say(GROUPS, f"members stop ({jvm})")
            processes.kill(self._cluster.running.pop(jvm), signal.SIGTERM)

    def _send(self, name: str, items: Sequence[str]) -> dict[str, int]:
        """When the last message of each topic was sent, in milliseconds."""
        for item in items:
            topic, messages, *_ = item.split(",")
            self._sent[topic] += int(messages)
        sending = self._cluster.clients(name, "send", items)
        assert sending.wait(900) == 0, self._cluster.log(name)
        return {topic: int(at) for at, topic in _lines(self._cluster.folder / f"{name}.log", "sent")}

    def _measured(self, change: str, groups: Sequence[Group], sent: Mapping[str, int]) -> None:
        """Waits until all is consumed, and keeps how."""
        processes.wait_until(
            lambda: all(self._total(one.name) >= self._sent[one.topic] for one in groups),
            300,
            lambda: [(one.name, self._total(one.name)) for one in groups],
            every=1,
        )
        for one in groups:
            self._drains.append(self._of_drain(change, one.name, sent[one.topic]))
        told = {"done": self._done, "drains": [drain._asdict() for drain in self._drains]}
        (self._out / "measured.json").write_text(json.dumps(told))

    def _total(self, group: str) -> int:
        return sum(told[-1][1] for told in _consumed(self._cluster.folder)[group].values())

    def _of_drain(self, change: str, group: str, sent: int) -> Drain:
        told = {
            member: [one for one in counts if one[0] > sent - 5000]
            for member, counts in _consumed(self._cluster.folder)[group].items()
        }
        told = {member: counts for member, counts in told.items() if counts}
        end = max(min(at for at, count in counts if count == counts[-1][1]) for counts in told.values())
        before = sum(max((count for at, count in counts if at <= sent), default=0) for counts in told.values())
        messages = sum(counts[-1][1] for counts in told.values()) - before
        rate = sum(_rate(counts, sent) for counts in told.values())
        return Drain(group, change, messages, sent, end, round(rate, 1), told)

    def _say(self, groups: Sequence[Group], what: str, after: float = 0) -> None:
        at = int((time.time() + after) * 1000)
        self._done += [(at, one.name, what) for one in groups]


def _consumed(folder: Path) -> dict[str, dict[str, list[tuple[int, int]]]]:
    """Group → member (JVM and client id) → (milliseconds, messages since its start), every second."""
    found: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for log in folder.glob("*.log"):
        for at, group, client, messages in _lines(log, "consumed"):
            found[group][f"{log.stem} {client}"].append((int(at), int(messages)))
    return found


def _lines(log: Path, first: str) -> Iterator[list[str]]:
    """The other words of whole lines that begin with that one."""
    for line in log.read_text(errors="replace").splitlines(keepends=True):
        word, *others = line.split() or [""]
        if word == first and line.endswith("\n"):
            yield others


def told(files: Sequence[Path]) -> dict[str, Mapping[str, ClientHistory]]:
    """By group, what its clients said of themselves."""
    return {history.consumer_group: history.clients for history in group_histories(recorded_rows(*files))}


def predicted(clients: Mapping[str, ClientHistory], group: Group, change: str, known_until: int) -> float | None:
    """Messages a second that the group can consume after a change, by what its clients said until a moment before it
    (milliseconds); None: nothing.
    """
    until = known_until * MILLISECOND
    known = Members(reported=throughputs(clients, 0, until))
    members = 2 if change == "two members" else 1
    changed = Changes(threads_times=2, pull_interval_ms=group.pull_interval // 4)
    case = Case(changes={EVERYBODY: changed if change == "changed" else AS_SET})
    of_each = [known.rates_of("one of them", case, np.array([until])) for _ in range(members)]
    shares = zip(of_each, group.shares(members), strict=True)
    rates = [float(min(one.rates.listener[0], queues * one.rates.queue[0])) for one, queues in shares if one]
    return sum(rates) if len(rates) == members else None


def measured(file: Path) -> list[Drain]:
    """The drains of a `measured.json`."""
    return [Drain(**drain) for drain in json.loads(file.read_text())["drains"]]


def compared(drains: Sequence[Drain], said: Mapping[str, Mapping[str, ClientHistory]]) -> Iterator[tuple[Drain, float]]:
    """Each drain, and what was predicted of it before the first burst, whose changes come later."""
    groups, begins = {one.name: one for one in GROUPS}, {(one.group, one.change): one.begin for one in drains}
    for one in drains:
        until = begins[one.group, "load 1.5" if one.change == "load 1.5" else "one member"]
        yield one, predicted(said[one.group], groups[one.group], one.change, until) or float("nan")


def experiment(out: Path) -> None:
    """A cluster, what is done to it, and its recording."""
    (out / "cluster").mkdir(parents=True)
    with cluster(out / "cluster") as made:
        Experiment(made, out).run()
