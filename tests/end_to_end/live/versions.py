"""Events of a cluster of any version while it is recorded, and their traces in the recording."""

import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from schemas import CAPTURE_CALLS
from tests.end_to_end.live import processes
from tests.end_to_end.live.cluster import Cluster
from tests.end_to_end.live.recorded import Recorded
from tests.end_to_end.live.scenario import Clock, start_recording

#: Queues to read and to write on each broker; the one whose offsets are reset has many messages in each of few queues.
TOPICS = dict.fromkeys(("healthy", "twins", "frozen", "dead", "tags", "shrunk", "ledger"), 8) | {"reset": 1}
#: Members of each JVM: group, topic, IP and instance (the client id is `ip@instance`), kind, tags, ms per message.
JVMS = {
    "first": (
        "healthy-service,healthy,10.9.1.1,1,avg,*,0",
        "twin-service,twins,172.17.0.1,1,avg,*,0",
        "frozen-service,frozen,10.9.3.1,1,avg,*,0",
        "tags-service,tags,10.9.4.1,1,avg,A,0",
        "shrunk-service,shrunk,10.9.5.1,1,avg,*,0",
        "reset-service,reset,10.9.6.1,1,avg,*,30",
        "orderly-service,ledger,10.9.7.1,1,orderly,*,0",
    ),
    "second": (
        "healthy-service,healthy,10.9.1.2,1,avg,*,0",
        "twin-service,twins,172.17.0.1,1,avg,*,0",
        "tags-service,tags,10.9.4.2,1,avg,B,0",
        "shrunk-service,shrunk,10.9.5.2,1,avg,*,0",
        "orderly-service,ledger,10.9.7.2,1,orderly,*,0",
    ),
    "frozen-jvm": ("frozen-service,frozen,10.9.3.2,1,avg,*,0",),
    "killed-jvm": ("dead-service,dead,10.9.8.1,1,avg,*,0",),
}
#: Joins the orderly group, which hands queues over to it.
JOINING = ("orderly-service,ledger,10.9.7.3,1,orderly,*,0",)
GROUPS = sorted({member.partition(",")[0] for members in JVMS.values() for member in members})
#: Seconds after the beginning of the recording.
FREEZE, KILL, SHRINK, RESET, JOIN, END = 20, 30, 45, 65, 80, 205


def begin(cluster: Cluster) -> None:
    """Topics, a producer, consumers: all of them are at work when it returns."""
    cluster.admin("topics", *(f"{topic}:{queues}:{queues}" for topic, queues in TOPICS.items()))
    cluster.clients("producer", "produce", ["50", *TOPICS])
    for name, members in JVMS.items():
        cluster.consumers(name, members)
    time.sleep(25)


def record(cluster: Cluster, out: Path) -> dict[str, datetime]:
    """Runs `rebalance-audit capture` while things happen, from the end of its first round on; when each did."""
    capture = start_recording(cluster, out, END)
    clock = Clock()
    times, at = clock.times, clock.wait
    at(FREEZE, "freeze")
    processes.kill(cluster.running["frozen-jvm"], signal.SIGSTOP)
    at(KILL, "kill")
    cluster.stop("killed-jvm")
    at(SHRINK, "shrink")
    cluster.admin("topics", "shrunk:4:8")
    at(RESET, "reset")
    # To a moment with messages before it: offset 0 is what a group has that never committed.
    cluster.ended("admin-reset", "reset", "reset", "reset-service", str(round(times["begin"].timestamp() * 1000)))
    at(JOIN, "join")
    cluster.consumers("joining-jvm", JOINING)
    assert capture.wait(END) == 0
    times["end"] = datetime.now(UTC)
    return times


def rounds(log: str) -> list[float]:
    """How many seconds late each round began, by what `capture` printed."""
    return [float(late) for late in re.findall(r"calls \(.*\), ([\d.]+) s behind", log)]


def shares(recorded: Recorded, number: int) -> dict[str, tuple[float, float]]:
    """Per group: the share of the rounds in which a broker listed its members or none, and in which it had offsets."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for call in recorded.rows(CAPTURE_CALLS):
        if call["outcome"] in ("ANSWERED", "NOT_ONLINE"):
            counts[call["request"], call["subject"], call["called"]] += 1
    return {
        group: (_share(counts, "connection", group, number), _share(counts, "stats", group, number)) for group in GROUPS
    }


def _share(counts: Counter[tuple[str, str, str]], request: str, group: str, number: int) -> float:
    """Of the broker with the fewest answers."""
    of_brokers = [count for (asked, subject, _), count in counts.items() if (asked, subject) == (request, group)]
    return min(of_brokers, default=0) / number


def proof(recorded: Recorded, log: str) -> Iterator[str]:
    """Lines of text: rounds, groups, calls by outcome, shares of each group, the longest time behind."""
    behind = rounds(log)
    fates = Counter(call["outcome"] for call in recorded.rows(CAPTURE_CALLS))
    yield f"{len(behind)} rounds, at most {max(behind)} s behind; {len(GROUPS)} groups; calls: {dict(fates)}"
    for group, (members, offsets) in shares(recorded, len(behind)).items():
        yield f"{group}: members in {members:.0%}, offsets in {offsets:.0%} of the rounds"
