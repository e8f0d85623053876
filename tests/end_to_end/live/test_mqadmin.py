"""RocketMQ's own tool and the published rows agree on an idle cluster: owner and lag of every
queue, totals, members.
"""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas import ALLOCATIONS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from tests.end_to_end.live import processes, scenario
from tests.end_to_end.live.cluster import Cluster, cluster
from tests.end_to_end.live.recorded import Recorded

pytestmark = pytest.mark.live

CADENCE = 5
#: Seconds in which nothing happens, beside the time that the tool takes.
STILL = 30
#: Ten minutes a message: what such a member has is its own until the test is over.
SLOW = "1,600000,0"
GROUPS = {
    "drained-service": [f"drained-service,orders,10.9.1.{number},1,avg" for number in (1, 2, 3)],
    "waiting-service": [f"waiting-service,payments,10.9.2.{number},1,avg,{SLOW}" for number in (1, 2)],
    "hash-service": [f"hash-service,ticks,10.9.3.{number},1,hash" for number in (1, 2)],
}
Queue = tuple[str, str, int]


class ToolOutput:
    """What the tool printed, and when it was asked."""

    def __init__(self, made: Cluster) -> None:
        self.at = datetime.now(UTC)
        self.progress = {group: _tool(made, "consumerProgress", "-g", group, "-s", "true") for group in GROUPS}
        self.connections = {group: _tool(made, "consumerConnection", "-g", group) for group in GROUPS}
        ids = ",".join(f"10.9.1.{number}@1" for number in (1, 2, 3))
        self.allocated = _tool(made, "allocateMQ", "-t", "orders", "-i", ids)

    def queues(self, group: str) -> Iterator[tuple[Queue, str, int]]:
        """Queue, the owner's address as the client gave it, and lag in messages."""
        for line in self.progress[group].splitlines():
            words = line.split()
            if len(words) > 6 and words[2].isdigit():
                yield (words[0], words[1], int(words[2])), words[5], int(words[6])

    def total(self, group: str) -> int:
        """Lag of all queues, in messages."""
        return _total(self.progress[group])


def _total(progress: str) -> int:
    (line,) = [line for line in progress.splitlines() if line.startswith("Consume Diff Total")]
    return int(line.partition(":")[2])


def _tool(made: Cluster, *arguments: str) -> str:
    log, main = made.folder / f"{arguments[0]}.log", "org.apache.rocketmq.tools.command.MQAdminStartup"
    log.unlink(missing_ok=True)
    words = [*arguments, "-n", made.namesrv]
    done = processes.java(f"{made.jars}/*", main, words, log, 128, f"-Drocketmq.home.dir={made.folder}")
    assert done.wait(60) == 0, log.read_text()
    return log.read_text()


ToolAndAudit = tuple[ToolOutput, dict[Table, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def tool_and_audit(tmp_path_factory: pytest.TempPathFactory) -> ToolAndAudit:
    """What the tool said, and what is published of the recording around it."""
    with cluster(tmp_path_factory.mktemp("mqadmin")) as made:
        made.admin("topics", "orders:8", "payments:4", "ticks:6")
        made.consumers("first", [f"waiting-service,payments,10.9.2.{number},1,avg" for number in (1, 2)])
        made.consumers("stay", GROUPS["drained-service"] + GROUPS["hash-service"])
        _send(made, "orders,900,0,5", "payments,70,0,5", "ticks,300,0,5")
        _wait_committed(made, *GROUPS)
        made.running["first"].send_signal(signal.SIGTERM)
        assert made.running.pop("first").wait(60) == 143
        _send(made, "payments,500,0,5")
        made.consumers("slow", GROUPS["waiting-service"])
        time.sleep(20)  # until both have their share
        capture = scenario.start_capture(made, made.folder / "recordings", CADENCE)
        time.sleep(STILL)
        tool = ToolOutput(made)
        time.sleep(2 * CADENCE)
        scenario.stop_capture(capture)
    recorded = Recorded.read(Path(made.folder / "recordings"))
    recorded.check_whole()
    return tool, recorded.audited(CADENCE)


def _send(made: Cluster, *messages: str) -> None:
    assert made.clients("send", "send", messages).wait(60) == 0


def _wait_committed(made: Cluster, *groups: str) -> None:
    """A member may hear of a new topic's second broker only when it asks for the route again, after 30 s; a queue of
    which nothing was ever committed is shown with all its messages.
    """

    def is_committed() -> bool:
        return not any(_total(_tool(made, "consumerProgress", "-g", group, "-s", "true")) for group in groups)

    processes.wait_until(is_committed, 120, every=5)


def _then(rows: list[dict[str, Any]], group: str, at: datetime) -> list[dict[str, Any]]:
    """The group's rows of the intervals that hold the moment."""
    of_group = [row for row in rows if row["consumer_group"] == group]
    return [row for row in of_group if row["interval_start"] <= at < row["interval_end"]]


def _queue(row: Mapping[str, Any]) -> Queue:
    return row["topic"], row["broker_name"], row["queue_id"]


@pytest.mark.parametrize("group", GROUPS)
def test_owners_and_lags_are_those_that_the_tool_shows(tool_and_audit: ToolAndAudit, group: str) -> None:
    tool, published = tool_and_audit
    owners = {_queue(row): row["owners"] for row in _then(published[ALLOCATIONS], group, tool.at)}
    lags = {_queue(row): row["lag_last"] for row in _then(published[QUEUE_PROGRESS], group, tool.at)}
    shown = list(tool.queues(group))
    assert {queue: owner for queue, owner, _ in shown} == {
        queue: own[0]["client_id"].partition("@")[0] for queue, own in owners.items() if len(own) == 1
    }
    assert {queue: lag for queue, _, lag in shown} == {queue: lags[queue] for queue, _, _ in shown}
    (status,) = [row for row in published[GROUP_STATUS] if row["consumer_group"] == group]
    assert tool.total(group) == status["backlog_end"] == {"waiting-service": 500}.get(group, 0)


@pytest.mark.parametrize("group", GROUPS)
def test_members_are_those_that_the_tool_shows(tool_and_audit: ToolAndAudit, group: str) -> None:
    tool, published = tool_and_audit
    intervals = _then(published[REBALANCE_INTERVALS], group, tool.at)
    members = {tuple(member["client_id"] for member in row["members"]) for row in intervals}
    lines = [line.split()[0] for line in tool.connections[group].splitlines() if "@" in line.partition(" ")[0]]
    assert members == {tuple(sorted(lines))}


def test_the_tools_own_allocation_has_the_same_shares_of_unsorted_queues(tool_and_audit: ToolAndAudit) -> None:
    """`allocateMQ` gives AVG the queues in the order of a hash set: how many each gets is right, which is not."""
    tool, published = tool_and_audit
    result = json.loads(tool.allocated[tool.allocated.index("{") :])["result"]
    owned = Counter(
        row["owners"][0]["client_id"]
        for row in _then(published[ALLOCATIONS], "drained-service", tool.at)
        if row["topic"] == "orders"
    )
    assert {client_id: len(queues) for client_id, queues in result.items()} == owned
