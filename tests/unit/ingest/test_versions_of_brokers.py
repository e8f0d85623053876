"""Answers of brokers and clients of each version, cut from recordings of `make live`, with two queues of each table.

What a version does not report is null, also where today's admin client writes a default for it.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.ingest.files import Line
from spark_jobs.ingest.recording import Row, outcomes
from tests.support.tables import cells

BODIES = Path(__file__).parents[2] / "data" / "bodies_of_versions.jsonl"

#: Version | members with language and version | queue, next offset to write, to consume, to pull, of broker-a.
MEMBERS_AND_OFFSETS = """
4.3.0 | 10.9.1.1@1 JAVA 273, 10.9.1.2@1 JAVA 273 | 0 37 36 null, 1 37 36 null
4.7.1 | 10.9.1.1@1 JAVA 355, 10.9.1.2@1 JAVA 355 | 0 36 35 null, 1 36 35 null
4.9.4 | 10.9.1.1@1 JAVA 401, 10.9.1.2@1 JAVA 401 | 0 42 41 null, 1 42 41 null
5.1.4 | 10.9.1.1@1 JAVA 441, 10.9.1.2@1 JAVA 441 | 0 27 26 27, 1 27 26 27
5.5.1 | 10.9.3.1@1 JAVA 515, 10.9.3.2@1 JAVA 515 | 0 79 79 79, 1 79 78 79
"""
#: Version | client | orderly | rebalances itself | start | queues with committed offsets | response time (ms).
CLIENTS = """
4.3.0 | 10.9.1.1@1 | false | null | 01:36:10.768 | broker-a 0 46, broker-a 1 46 | 2.1157556270096465
4.7.1 | 10.9.1.1@1 | false | null | 01:21:00.340 | broker-a 0 44, broker-a 1 45 | 3.7535816618911175
4.9.4 | 10.9.1.1@1 | false | null | 01:50:29.107 | broker-a 0 50, broker-a 1 50 | 1.1904761904761905
5.1.4 | 10.9.1.2@1 | false | true | 01:55:54.104 | broker-b 0 32, broker-b 1 32 | 8.715
5.5.1 | 10.9.3.1@1 | true  | true | 22:49:24.126 | broker-a 0 82, broker-a 1 82 | 0.010638297872340425
"""
#: Version | broker, permission, read and write queues | message type | queue, oldest and next offset, of broker-a.
TOPICS = """
4.3.0 | broker-a 6 8 8, broker-b 6 8 8 | null   | 0 0 65, 1 0 64
4.7.1 | broker-a 6 8 8, broker-b 6 8 8 | null   | 0 0 61, 1 0 62
4.9.4 | broker-a 6 8 8, broker-b 6 8 8 | null   | 0 0 68, 1 0 68
5.1.4 | broker-a 6 8 8, broker-b 6 8 8 | NORMAL | 0 0 40, 1 0 40
5.5.1 | broker-a 6 4 4, broker-b 6 4 4 | null   | 0 0 99, 1 0 99
"""


def rows(version: str) -> dict[str, dict[str, Any]]:
    """The rows of a version's answers by kind of line."""
    lines = [line for line in map(json.loads, BODIES.read_text().splitlines()) if line["version"] == version]
    of_kind = {}
    for line in lines:
        (outcome,) = outcomes([Line(1, json.dumps(line).encode())], cluster="c")
        assert isinstance(outcome, Row), outcome
        of_kind[line["kind"]] = dict(outcome.values)
    return of_kind


def listed(structs: list[dict[str, Any]], *names: str) -> str:
    return ", ".join(" ".join(shown(struct[name]) for name in names) for struct in structs)


def shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.time().isoformat("milliseconds")
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(("version", "members", "offsets"), cells(MEMBERS_AND_OFFSETS))
def test_members_and_offsets(version: str, members: str, offsets: str) -> None:
    of_kind = rows(version)
    assert listed(of_kind["connection"]["connections"], "client_id", "language", "version") == members
    names = ("queue_id", "broker_offset", "consumer_offset", "pull_offset")
    assert listed(of_kind["stats"]["offsets"], *names) == offsets


@pytest.mark.parametrize(("version", "client", "orderly", "itself", "start", "queues", "millis"), cells(CLIENTS))
def test_clients(version: str, client: str, orderly: str, itself: str, start: str, queues: str, millis: str) -> None:
    said = rows(version)["running"]
    names = ("client_id", "consume_orderly", "client_rebalance", "started_at")
    assert [shown(said[name]) for name in names] == [client, orderly, itself, start]
    assert listed(said["owned_queues"], "broker_name", "queue_id", "commit_offset") == queues
    assert shown(said["consume_status"][1]["consume_rt_ms"]) == millis
    assert said["strategy_class"] == "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"
    assert (said["pull_batch_size"], said["pull_threshold_for_queue"], said["consume_max_span"]) == (32, 1000, 2000)


@pytest.mark.parametrize(("version", "queues", "message_type", "offsets"), cells(TOPICS))
def test_topics(version: str, queues: str, message_type: str, offsets: str) -> None:
    of_kind = rows(version)
    assert listed(of_kind["route"]["queues"], "broker_name", "perm", "read_queue_nums", "write_queue_nums") == queues
    assert shown(of_kind["route"]["message_type"]) == message_type
    assert listed(of_kind["topicstats"]["queues"], "queue_id", "min_offset", "max_offset") == offsets


def test_pull_offsets_are_those_of_brokers_that_report_them() -> None:
    """A body of both brokers of an upgrade; on the one that does, a group has consumed nothing yet."""

    def queue(broker: str, queue_id: int, consumed: int) -> str:
        key = f'{{"brokerName":"{broker}","queueId":{queue_id},"topic":"t"}}'
        return f'{key}:{{"brokerOffset":9,"consumerOffset":{consumed},"lastTimestamp":7,"pullOffset":0}}'

    body = f'{{"offsetTable":{{{queue("old", 0, 5)},{queue("old", 1, 0)},{queue("new", 0, 0)}}}}}'
    line = {"kind": "stats", "at": 1795657021055, "group": "g", "topic": "t", "body": body}
    (outcome,) = outcomes([Line(1, json.dumps(line).encode())], cluster="c")
    assert isinstance(outcome, Row)
    stored: Any = outcome.values["offsets"]
    assert listed(stored, "broker_name", "queue_id", "pull_offset") == "new 0 0, old 0 null, old 1 null"
