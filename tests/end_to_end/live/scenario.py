"""Events of the cluster while it is recorded, by their seconds."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.end_to_end.live import processes
from tests.end_to_end.live.cluster import Cluster

CADENCE = 10
TOPICS = ["orders:8", "payments:8", "ticks:6", "ledger:4", "prices:4", "pops:4", "bills:4", "slips:4"]

#: Members of JVM 1 and JVM 2: group, topic, IP and instance (the client id is `ip@instance`), kind.
FIRST = (
    "healthy-service,orders,10.9.1.1,1,avg",
    "twin-service,payments,172.17.0.1,1,avg",
    "hash-service,ticks,10.9.2.1,1,hash",
    "orderly-service,ledger,10.9.3.1,1,orderly",
    "price-cache,prices,10.9.4.1,1,broadcast",
    "pop-service,pops,10.9.5.1,1,pop",
    "frozen-service,orders,10.9.6.1,1,avg",
)
SECOND = (
    "healthy-service,orders,10.9.1.2,1,avg",
    "twin-service,payments,172.17.0.1,1,avg",
    "hash-service,ticks,10.9.2.2,1,hash",
    "orderly-service,ledger,10.9.3.2,1,orderly",
    "price-cache,prices,10.9.4.2,1,broadcast",
    "pop-service,pops,10.9.5.2,1,pop",
)
FROZEN = ("frozen-service,orders,10.9.6.2,1,avg",)
KILLED = ("dead-service,slips,10.9.7.1,1,avg",)

#: Seconds after the beginning of the recording.
FREEZE, KILL, STOP_BROKER, START_BROKER, THAW, END = 30, 45, 185, 215, 225, 285


def begin(cluster: Cluster) -> None:
    """Topics, producers, consumers: all of them are at work when it returns."""
    cluster.start_proxy()
    cluster.admin("topics", *TOPICS)
    cluster.admin("pop", "pops", "pop-service", "1")
    cluster.clients("producer", "produce", [topic.partition(":")[0] for topic in TOPICS])
    for name, members in (("first", FIRST), ("second", SECOND), ("frozen", FROZEN), ("killed", KILLED)):
        cluster.consumers(name, members)
    cluster.grpc_consumers("proxy-service", "bills", 2)
    time.sleep(25)


class Clock:
    """Seconds of a recording; `times`: when it began, and when each thing that has a name was done."""

    def __init__(self) -> None:
        self._begun, self.times = time.monotonic(), {"begin": datetime.now(UTC)}

    def wait(self, second: float, name: str = "") -> None:
        time.sleep(max(self._begun + second - time.monotonic(), 0))
        self.times[name] = datetime.now(UTC)


def record(cluster: Cluster, out: Path) -> dict[str, datetime]:
    """Runs `rebalance-audit capture` while things happen; when each did."""
    capture = start_capture(cluster, out)
    clock = Clock()
    at = clock.wait
    at(FREEZE, "freeze")
    processes.kill(cluster.running["frozen"], signal.SIGSTOP)
    at(KILL, "kill")
    cluster.stop("killed")
    at(STOP_BROKER, "stop_broker")
    cluster.stop("broker-b")
    at(START_BROKER, "start_broker")
    cluster.start_broker("broker-b")
    processes.wait_listening(cluster.brokers["broker-b"])
    at(THAW, "thaw")
    processes.kill(cluster.running["frozen"], signal.SIGCONT)
    at(END, "end")
    stop_capture(capture)
    return clock.times


def start_recording(cluster: Cluster, out: Path, seconds: int) -> subprocess.Popen[bytes]:
    """`capture`, which ends by itself, after its first round."""
    capture = start_capture(cluster, out, options=("--for", f"{seconds}s"))
    processes.wait_until(lambda: "calls (" in cluster.log("capture"), 90, lambda: cluster.log("capture"))
    return capture


def start_capture(
    cluster: Cluster,
    out: Path,
    cadence: int = CADENCE,
    program: Sequence[str] = ("-m", "spark_jobs.cli"),
    options: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """The command as a user types it; the proxy's port is not the usual one, so it is named."""
    command = [sys.executable, *program, "capture", "--namesrv", cluster.namesrv, "--out", str(out)]
    command += ["--cadence", f"{cadence}s", *options]
    if "proxy" in cluster.running:
        command += ["--proxy", f"127.0.0.1:{cluster.proxy}"]
    with (cluster.folder / "capture.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=processes.die_with_parent)  # noqa: PLW1509


def stop_capture(capture: subprocess.Popen[bytes]) -> None:
    """Ends it by SIGTERM, after which it has written everything."""
    capture.send_signal(signal.SIGTERM)
    assert capture.wait(60) == 0
