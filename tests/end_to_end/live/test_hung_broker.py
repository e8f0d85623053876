"""RocketMQ's own admin client, two brokers, and one that hangs: the recorder's time-outs say nothing of its clients."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, FINDINGS
from spark_jobs.capture.capture import Capture, Settings
from spark_jobs.capture.jars import TOOLS_DIR
from spark_jobs.capture.java_admin import ClusterAddress, start
from tests.end_to_end.live.fake_broker import FakeBroker
from tests.support.fakes import brokers, connections, offset_table, queue, route, version
from tests.support.kernel import published_hour, recorded_rows

pytestmark = pytest.mark.live

CADENCE, ROUNDS, HEALTHY = 5, 10, 2
#: Their clients are called in the even, and in the odd rounds.
GROUPS = ("g", "h")
RUNNING = 307


def bodies(name: str) -> dict[int, str]:
    """A broker's answers by request code (RequestCode): groups of topic t, whose members both brokers list."""
    return {
        201: json.dumps({"subscriptionGroupTable": {group: {"groupName": group} for group in GROUPS}}),
        203: connections("t", "c1", "c2"),
        208: offset_table(*(queue(name, "t", number) for number in range(2))),
        28: version("5.4.0"),
        402: '{"messageRequestModeMap":{}}',
        351: json.dumps({"topicName": "t", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}),
        202: offset_table(*(queue(name, "t", number, maxOffset=9, minOffset=0) for number in range(2))),
        RUNNING: '{"mqTable":{},"properties":{},"subscriptionSet":[{"subString":"*","topic":"t"}]}',
    }


@pytest.fixture
def servers() -> Iterator[dict[str, FakeBroker]]:
    named = {name: FakeBroker() for name in ("name server", "broker-a", "broker-b")}
    of_cluster = brokers(**{name: server.address for name, server in named.items() if name != "name server"})
    named["name server"].answer({106: of_cluster, 105: route("broker-a", "broker-a", "broker-b", "broker-b")})
    for name in ("broker-a", "broker-b"):
        named[name].answer(bodies(name))
    yield named
    for server in named.values():
        server.close()


def recorded_with(servers: dict[str, FakeBroker], folder: Path, fault: Any) -> dict[Any, list[dict[str, Any]]]:
    """Snapshots by table of ten rounds; the fault begins after two of them."""
    admin = start(ClusterAddress(servers["name server"].address), TOOLS_DIR)
    timer = threading.Timer(CADENCE * HEALTHY, fault)
    try:
        settings = Settings("fake", folder, CADENCE, duration=CADENCE * (ROUNDS - 0.5))
        timer.start()
        Capture(settings, admin, lambda _: None).run(lambda _: None, lambda _: None)
    finally:
        timer.cancel()
        admin.close()
    return recorded_rows(*sorted(folder.glob("*.jsonl.gz")))


def found(rows: dict[Any, list[dict[str, Any]]]) -> dict[str, set[str | None]]:
    """By rule the causes of an audit that takes two snapshots without an answer for a client that hangs."""
    rules: dict[str, set[str | None]] = {}
    for finding in published_hour(rows, CADENCE, silent_after_seconds=CADENCE)[FINDINGS]:
        rules.setdefault(finding["rule"], set()).add(finding["cause"])
    return rules


def test_a_hanging_broker_does_not_accuse_its_clients(servers: dict[str, FakeBroker], tmp_path: Path) -> None:
    def hang() -> None:
        servers["broker-a"].hangs = True

    rows = recorded_with(servers, tmp_path, hang)
    findings = found(rows)
    assert "CLIENT_HUNG" not in findings
    assert "SILENT_BROKER" in findings["UNOBSERVED"]
    # Broker b reaches the clients while a hangs, in every second round; a call may be under way when a begins to hang.
    answers = Counter((row["consumer_group"], row["client_id"]) for row in rows[CLIENT_SNAPSHOTS] if row["answered"])
    assert min(answers[group, client] for group in GROUPS for client in ("c1", "c2")) >= ROUNDS // 2 - 1


def test_clients_that_hang_are_found_while_their_brokers_answer(servers: dict[str, FakeBroker], tmp_path: Path) -> None:
    def hang() -> None:
        for name in ("broker-a", "broker-b"):
            servers[name].fault = (RUNNING, "never answers")

    findings = found(recorded_with(servers, tmp_path, hang))
    assert findings["CLIENT_HUNG"] == {"NO_ANSWER"}
    assert "SILENT_BROKER" not in findings["UNOBSERVED"]
