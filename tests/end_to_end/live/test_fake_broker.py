"""RocketMQ's own admin client and a broker that does not answer one kind of request, answers late, or closes the
connection: the answers of all other kinds of request arrive.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.capture.calls import Request
from spark_jobs.capture.capture import Capture, Settings
from spark_jobs.capture.jars import TOOLS_DIR
from spark_jobs.capture.java_admin import ClusterAddress, JavaAdmin, start
from tests.end_to_end.live.fake_broker import FakeBroker
from tests.support.fakes import offset_table, queue, recorded, route, version

pytestmark = pytest.mark.live

CADENCE, ROUNDS = 4.0, 3
#: Source: org.apache.rocketmq.remoting.protocol.RequestCode.
CODES = {Request.CONNECTION: 203, Request.STATS: 208, Request.BROKER_VERSION: 28, Request.REQUEST_MODES: 402}
CODES |= {Request.TOPIC_CONFIG: 351, Request.TOPIC_STATS: 202, Request.RUNNING: 307}
#: Lines of the group in each round.
KINDS = {Request.CONNECTION: "connection", Request.STATS: "stats", Request.ROUTE: "route"}


def bodies() -> dict[int, str]:
    """One group `g` of topic `t`; the address of the broker is filled in."""
    member = {"clientAddr": "10.9.9.9:4000", "clientId": "c1", "language": "JAVA", "version": 493}
    subscribed = {"t": {"subString": "*", "topic": "t"}}
    numbers = {"brokerOffset": 9, "consumerOffset": 8, "lastTimestamp": 7, "pullOffset": 8}
    return {
        105: route("broker-a"),
        201: json.dumps({"subscriptionGroupTable": {"g": {"groupName": "g"}}}),
        203: json.dumps({"connectionSet": [member], "messageModel": "CLUSTERING", "subscriptionTable": subscribed}),
        208: offset_table(queue("broker-a", "t", **numbers)),
        28: version("5.4.0"),
        402: '{"messageRequestModeMap":{}}',
        351: json.dumps({"topicName": "t", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6}),
        202: offset_table(queue("broker-a", "t", maxOffset=9, minOffset=0, lastUpdateTimestamp=1)),
        307: '{"mqTable":{},"properties":{}}',
    }


@pytest.fixture(scope="module")
def broker() -> Iterator[FakeBroker]:
    fake = FakeBroker()
    addresses = f'{{"brokerAddrs":{{0:"{fake.address}"}},"brokerName":"broker-a","cluster":"Main"}}'
    table = f'{{"brokerAddrTable":{{"broker-a":{addresses}}},"clusterAddrTable":{{"Main":["broker-a"]}}}}'
    fake.answer(bodies() | {106: table})
    yield fake
    fake.close()


@pytest.fixture(scope="module")
def admin(broker: FakeBroker) -> Iterator[JavaAdmin]:
    started = start(ClusterAddress(broker.address), TOOLS_DIR)
    yield started
    started.close()


@pytest.mark.parametrize("fault", ["", "never answers", "is late", "closes"])
@pytest.mark.parametrize("request_", CODES)
def test_the_answers_of_other_requests_arrive(
    request_: Request, fault: str, broker: FakeBroker, admin: JavaAdmin, tmp_path: Path
) -> None:
    broker.fault = (CODES[request_], fault)
    settings = Settings(broker.address, tmp_path, CADENCE, duration=CADENCE * (ROUNDS - 0.5))
    rounds: list[str] = []
    Capture(settings, admin, lambda _: None).run(rounds.append, lambda _: None)
    of_group = (line for line in recorded(tmp_path) if line.get("topic", "t") == "t" and line.get("group", "g") == "g")
    lines = Counter(line["kind"] for line in of_group if "body" in line)
    whole = {kind: ROUNDS for request, kind in KINDS.items() if request is not request_ or not fault}
    assert {kind: lines[kind] for kind in whole} == whole, rounds
