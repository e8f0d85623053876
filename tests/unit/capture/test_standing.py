"""Queues that stand, and which clients are asked for stacks because of them."""

import json
from typing import Any

import pytest

from spark_jobs.capture.calls import Call, Callee, Request
from spark_jobs.capture.cluster import Cluster
from spark_jobs.capture.details import ask_client
from spark_jobs.capture.rounds import ask_group
from spark_jobs.capture.standing import StandingQueues
from tests.support.fakes import FakeAdmin, asking, connections, offset_table, queue

A = Callee("a", "10.0.0.1:10911")
QUEUE = ("t", "a", "0")
JSTACK = f"{'ConsumeMessageThread_g_1':<40}TID: 4 STATE: WAITING\n{'ConsumeMessageThread_g_1':<40}a.B.c(B.java:1)\n"


class Rounds:
    """A group g on broker a, and its clients, each of which holds queue 0 of topic t; time passes between rounds."""

    def __init__(self, after: float | None = 60.0, *clients: str, connected: str = "", held: str = "t") -> None:
        self.now = 1000.0
        clients = clients or ("c1",)
        running = f'{{"mqTable":{{{queue("a", held)}}}}}'
        self.admin = FakeAdmin(
            {
                ("connection", "a"): connected or connections("t", *clients),
                ("running", "a"): running,
                ("stacks", "a"): JSTACK,
            }
        )
        self.ask = asking(self.admin)
        self.cluster = Cluster(standing=StandingQueues(after, lambda: self.now))
        self.cluster.brokers, self.cluster.groups = {"a": A}, {"g": ("a",)}

    def round(self, consumed: int, end: int = 9, wait: float = 20.0) -> list[str]:
        """The clients that are asked for stacks in a round, after which so many seconds pass."""
        offsets = {"brokerOffset": end, "consumerOffset": consumed, "lastTimestamp": 7, "pullOffset": consumed}
        self.admin.answers["stats", "a"] = offset_table(queue("a", "t", **offsets))
        before = len(self.admin.asked)
        self.cluster.standing.begin_round()
        for call in ask_group(self.cluster, self.ask, "g"):
            ask_client(self.cluster, self.ask, call)
        self.now += wait
        return [call.client for _, call in self.admin.asked[before:] if call.request is Request.STACKS]

    def lines(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.ask.take().lines) if line["kind"] == kind]


def test_a_client_is_asked_once_its_queue_has_stood_for_a_minute() -> None:
    rounds = Rounds()
    assert [rounds.round(consumed) for consumed in (4, 5, 5, 5, 5)] == [[], [], [], [], ["c1"]]
    (line,) = rounds.lines("stacks")
    stack = {"state": "WAITING", "threads": 1, "frames": ["a.B.c(B.java:1)"]}
    assert json.loads(line.pop("body")) == {"threads": 1, "stacks": [stack]}
    assert line.pop("at") > 1_700_000_000_000
    assert line == {"kind": "stacks", "group": "g", "client": "c1"}


@pytest.mark.parametrize("consumed", [range(9), [9] * 9], ids=["it moves", "no backlog"])
def test_a_client_whose_queues_do_not_stand_is_never_asked(consumed: list[int]) -> None:
    rounds = Rounds()
    assert [rounds.round(offset, 9) for offset in consumed] == [[]] * 9
    assert rounds.admin.counts() == {"connection": 9, "stats": 9, "running": 9}


def test_a_client_is_asked_again_after_five_minutes() -> None:
    rounds = Rounds()
    asked = [number for number in range(40) if rounds.round(5)]
    assert asked == [3, 18, 33]


def test_ten_clients_are_asked_in_a_round() -> None:
    clients = [f"c{number:02}" for number in range(25)]
    rounds = Rounds(60.0, *clients)
    asked = [rounds.round(5) for _ in range(7)]
    assert asked[3:] == [clients[:10], clients[10:20], clients[20:], []]


def test_never_is_never() -> None:
    rounds = Rounds(None)
    assert [rounds.round(5, wait=600) for _ in range(3)] == [[]] * 3
    assert rounds.admin.counts()["running"] == 3


def test_a_client_that_does_not_hold_the_queue_is_not_asked() -> None:
    rounds = Rounds(held="u")
    assert [rounds.round(5, wait=600) for _ in range(3)] == [[]] * 3


def connected(*languages: str | None, model: str = "CLUSTERING") -> str:
    """Connections of one client id, in these languages."""
    each = [{"clientAddr": "10.9.9.9:1", "clientId": "c1", "language": language} for language in languages]
    table = {"t": {"subString": "*", "topic": "t"}}
    return json.dumps({"connectionSet": each, "messageModel": model, "subscriptionTable": table})


@pytest.mark.parametrize(
    ("connection", "asked"),
    [
        (connected("JAVA"), ["c1"]),
        (connected("GO"), []),
        (connected("JAVA", "CPP"), []),
        (connected(None), []),
        (connected("JAVA", model="BROADCASTING"), []),
    ],
    ids=["Java", "Go", "twins in two languages", "not named", "broadcasting"],
)
def test_only_clients_of_java_are_asked(connection: str, asked: list[str]) -> None:
    """Brokers do not have the offsets of a broadcasting group."""
    rounds = Rounds(connected=connection)
    assert rounds.round(5, wait=600) == []
    assert rounds.round(5, wait=600) == asked


def test_a_client_without_an_answer_has_no_line_and_counts_as_asked() -> None:
    rounds = Rounds()
    del rounds.admin.answers["stacks", "a"]
    assert [rounds.round(5) for _ in range(5)] == [[], [], [], ["c1"], []]
    assert rounds.lines("stacks") == []


def test_offsets_that_are_no_numbers_say_nothing() -> None:
    rounds = Rounds()
    rounds.round(5)
    rounds.admin.answers["stats", "a"] = offset_table(
        '{"brokerName":"a","queueId":0,"topic":"t"}:{"consumerOffset":"5","brokerOffset":9}'
    )
    assert ask_group(rounds.cluster, rounds.ask, "g") == [Call(Request.RUNNING, A, group="g", client="c1")]
    assert rounds.cluster.standing.queues("g") == set()
