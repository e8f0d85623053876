"""What push consumers can consume at most: measured on a real cluster, and computed from their own running info.

`python -m tests.live.capacity FOLDER` runs the experiment (ten minutes) and prints its table; if the folder has
one, the table alone.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spark_jobs.ingest import fastjson
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.running import running_info
from tests.live import processes, scenario
from tests.live.cluster import Cluster, cluster

#: Clients are asked in every second round: every 10 s.
CADENCE = "5s"
#: Parts of the computed capacity that are sent, one after the other, and for how long.
LOADS, LOAD_SECONDS = (0.5, 0.9, 1.5), 70
#: A drain lasts so long by computation; before it the members of its time have been asked at least twice.
DRAIN_SECONDS, SETTLE_SECONDS = 20, 25
#: Part of what was measured by which the computed capacity may be off.
OFF = 0.15
#: What a client said last counts for so long.
ASKED_WITHIN_MS = 20_000


class Member(NamedTuple):
    """One push consumer, as its running info says; times in milliseconds, of one call of the listener, of one pull."""

    threads: int
    orderly: bool
    batch: int
    consume_rt: float
    queues: int
    pull_batch: int
    pull_interval: float
    pull_rt: float


def capacity(one: Member) -> float:
    """Messages a second: what the listener or the pulls allow, whichever is less.

    An orderly listener works at one batch of a queue at a time. Each queue is pulled by itself.
    """
    at_work = min(one.threads, one.queues) if one.orderly else one.threads
    consumed, pulled = at_work * one.batch, one.queues * one.pull_batch
    return 1000 * min(_per(consumed, one.consume_rt), _per(pulled, one.pull_interval + one.pull_rt))


def _per(messages: int, millis: float) -> float:
    return messages / millis if millis else float("inf")


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
        """What is to be expected of so many: how many messages the experiment sends."""
        queues, rest = divmod(self.queues, members)
        each = [queues + (number < rest) for number in range(members)]
        said = self.threads, self.kind == "orderly", 1, self.millis
        return sum(capacity(Member(*said, queues, 32, self.pull_interval, 0)) for queues in each)


GROUPS = (
    *(Group(f"rt{millis}-t{threads}", 8, threads, millis) for millis in (5, 20, 100) for threads in (2, 4)),
    Group("pull-bound", 4, 20, 0, pull_interval=200),
    Group("orderly", 3, 20, 20, kind="orderly"),
)
#: Twice the threads, a quarter of the pull interval.
CHANGED = [one._replace(threads=one.threads * 2, pull_interval=one.pull_interval // 4) for one in GROUPS]
UNPACED = [one._replace(pull_interval=0) for one in GROUPS if one.pull_interval]
#: They are consumed as fast as the machine can, which no running info tells.
UNPACED_MESSAGES = 400_000


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
    """Messages a second of one member while it consumes: one may get its first messages seconds after another."""
    started = max(at for at, count in told if count == told[0][1] or at <= begin)
    end = min(at for at, count in told if count == told[-1][1])
    inside = [one for one in told if started + 1000 <= one[0] <= end - 1000]
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
        capture = scenario.start_capture(self._cluster, self._out / "recordings", "--cadence", CADENCE)
        time.sleep(SETTLE_SECONDS)
        self._load()
        self._drain("one member", GROUPS)
        self._consume("second", GROUPS, 2)
        self._drain("two members", GROUPS, 2)
        self._stop("first", "second")
        self._consume("changed", CHANGED)
        self._drain("changed", CHANGED)
        self._stop("changed")
        self._preloaded("no pull interval", UNPACED)
        capture.send_signal(signal.SIGTERM)
        assert capture.wait(60) == 0

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

    def _preloaded(self, change: str, groups: Sequence[Group]) -> None:
        """What is consumed faster than it can be sent waits before its member starts."""
        time.sleep(SETTLE_SECONDS)
        self._say(groups, f"burst: {change}")
        self._send(f"burst-{change}", [f"{one.topic},{UNPACED_MESSAGES},0,0" for one in groups])
        self._consume("unpaced", groups)
        self._measured(change, groups, {one.topic: int(time.time() * 1000) for one in groups})

    def _consume(self, jvm: str, groups: Sequence[Group], number: int = 1) -> None:
        """The n-th members start."""
        self._say(groups, f"member {number} starts ({jvm})")
        self._cluster.clients(jvm, "consume", [one.member(number) for one in groups])
        scenario.wait_started(self._cluster.folder / f"{jvm}.log")

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
        assert sending.wait(900) == 0, (self._cluster.folder / f"{name}.log").read_text()
        return {topic: int(at) for at, topic in _lines(self._cluster.folder / f"{name}.log", "sent")}

    def _measured(self, change: str, groups: Sequence[Group], sent: Mapping[str, int]) -> None:
        """Waits until all is consumed, and keeps how."""
        until = time.monotonic() + 300
        while any(self._total(one.name) < self._sent[one.topic] for one in groups):
            assert time.monotonic() < until, [(one.name, self._total(one.name)) for one in groups]
            time.sleep(1)
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


class Said(NamedTuple):
    """One running info of a client; `consumed`, `pulled`: messages a second in its last minute."""

    at: int
    group: str
    client: str
    consumed: float
    pulled: float
    member: Member


def said(files: Sequence[Path]) -> list[Said]:
    """What the recorded clients said of themselves, in order of time."""
    lines = (json.loads(line.content) for file in files for line in read_lines(file))
    told = [_said(line) for line in lines if line["kind"] == "running" and "body" in line]
    return sorted(told, key=lambda one: one.at)


def _said(line: Mapping[str, Any]) -> Said:
    body: Any = fastjson.parse(line["body"])
    columns: Any = running_info(body)
    properties, group = body["properties"], line["group"]
    topic = f"{group}-topic"
    queues = sum(queue["topic"] == topic for queue in columns["owned_queues"])
    (status,) = [one for one in columns["consume_status"] if one["topic"] == topic]
    member = Member(
        columns["consume_threads"],
        columns["consume_orderly"],
        int(properties["consumeMessageBatchMaxSize"]),
        status["consume_rt_ms"],
        queues,
        int(properties["pullBatchSize"]),
        int(properties["pullInterval"]),
        status["pull_rt_ms"],
    )
    return Said(line["at"], group, line["client"], status["consume_ok_tps"], status["pull_tps"], member)


def computed(told: Sequence[Said], group: str, begin: int) -> float | None:
    """What the group can consume by what its clients said before that moment; None: they have not consumed anything.

    How they are set, and their queues, by their last word; the response times are those of the group while it
    consumed, as a client that has just started has none. A pull waits at the broker while there is nothing to pull, so
    the quickest one counts; in a minute without pulls its time is 0.
    """
    before = [one for one in told if one.group == group and one.at < begin]
    consume_rt = [one.member.consume_rt for one in before if one.consumed > 0]
    pull_rt = [one.member.pull_rt for one in before if one.pulled > 0]
    last = {one.client: one.member for one in before if one.at > begin - ASKED_WITHIN_MS}
    if not consume_rt or not pull_rt or not last:
        return None
    median, quickest = statistics.median(consume_rt), min(pull_rt)
    return sum(capacity(one._replace(consume_rt=median, pull_rt=quickest)) for one in last.values())


def measured(file: Path) -> list[Drain]:
    """The drains of a `measured.json`."""
    return [Drain(**drain) for drain in json.loads(file.read_text())["drains"]]


def table(drains: Sequence[Drain], told: Sequence[Said]) -> Iterator[str]:
    """A line per drain: what was measured, what was computed before it, by how much the latter is off."""
    yield f"{'group':<12}{'change':<18}{'messages':>9}{'seconds':>9}{'measured':>10}{'computed':>10}{'off':>8}"
    for one in drains:
        known = computed(told, one.group, one.begin)
        seconds = (one.end - one.begin) / 1000
        compared = f"{known:>10.1f}{known / one.rate - 1:>8.1%}" if known else f"{'?':>10}"
        yield f"{one.group:<12}{one.change:<18}{one.messages:>9}{seconds:>9.1f}{one.rate:>10.1f}{compared}"


def experiment(out: Path) -> None:
    """A cluster, what is done to it, and its recording."""
    (out / "cluster").mkdir(parents=True)
    with cluster(out / "cluster", os.environ.get("ROCKETMQ", "5.4.0")) as made:
        Experiment(made, out).run()


def main(out: Path) -> None:
    """The experiment, unless the folder has one, and its table."""
    if not out.exists():
        experiment(out)
    files = sorted((out / "recordings").glob("*.jsonl.gz"))
    print(*table(measured(out / "measured.json"), said(files)), sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
