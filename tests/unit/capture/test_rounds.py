"""Requests about a group and a topic, and the lines that come of them."""

import json
from typing import Any

from spark_jobs.capture.asking import Backoff, CallRunner, RateLimit
from spark_jobs.capture.calls import Call, Callee, CallOutcome, Request
from spark_jobs.capture.cluster import Cluster, name_servers
from spark_jobs.capture.details import ask_broker, ask_topic, record_routes
from spark_jobs.capture.rounds import ask_group, ask_revive, ask_route, discover
from spark_jobs.ingest.recording import NOT_LISTED
from tests.support.fakes import (
    NO_MODES,
    NO_ROUTE,
    NOT_ONLINE,
    NOT_SUPPORTED,
    TIMED_OUT,
    Answers,
    FakeAdmin,
    asking,
    broker_answers,
    brokers,
    connections,
    offset_table,
    queue,
    route,
)

A, B = Callee("a", "10.0.0.1:10911"), Callee("b", "10.0.0.2:10911")
BROKERS = brokers(a=A.address, b=B.address)
BROKERS_ASKED, ROUTE = ("brokers", "name server"), ("route", "name server")
MODES = '{"messageRequestModeMap":{"t":{"g":{"consumerGroup":"g","mode":"POP","popShareQueueNum":2,"topic":"t"}}}}'
NO_OFFSETS = offset_table()


class Recorder:
    """Asks two brokers that know the group g. Answers are by request and who is called, of the two by `request_called`.

    What it discovers at first is by other calls than those of the runner.
    """

    def __init__(self, answers: Answers | None = None, servers: str = "n1:9876", **of_both: str) -> None:
        told: Answers = {BROKERS_ASKED: BROKERS}
        for name in "ab":
            told |= broker_answers(name, "g", "TOOLS_CONSUMER", topic_config=NOT_SUPPORTED)
        self.admin = FakeAdmin(
            told | {tuple(name.rsplit("_", 1)): text for name, text in of_both.items()} | (answers or {})
        )
        self.answers, self.ask = self.admin.answers, asking(self.admin)
        self.cluster = Cluster(name_servers=name_servers(servers))
        self.client_calls: list[Call] = []
        self.discover()
        for broker in self.cluster.brokers.values():
            ask_broker(self.cluster, asking(self.admin), broker)

    def discover(self) -> CallOutcome:
        return self.cluster.discover(asking(self.admin))[0].outcome

    def lines(self, *kinds: str) -> list[dict[str, Any]]:
        """The lines of these kinds since the last time."""
        taken = [json.loads(line) for line in self.ask.take()[0]]
        assert all(line["at"] > 1_700_000_000_000 for line in taken)
        return [line | {"at": 0} for line in taken if line["kind"] in kinds]

    def of_group(self, *kinds: str, group: str = "g") -> list[dict[str, Any]]:
        """The lines of a round about a group."""
        self.client_calls = ask_group(self.cluster, self.ask, group)
        return self.lines(*kinds)

    def of_topic(
        self, *kinds: str, topic: str = "t", offsets: bool = False, attributes: bool = False
    ) -> list[dict[str, Any]]:
        """The lines of a round about a topic."""
        ask_route(self.cluster, self.ask, topic)
        ask_topic(self.cluster, self.ask, topic, offsets=offsets, attributes=attributes)
        record_routes(self.cluster, self.ask)
        return self.lines(*kinds)

    def deleted(self) -> list[tuple[str, str]]:
        """Group and broker of each line that another discovery writes of a deleted group."""
        self.ask = asking(self.admin)
        discover(self.cluster, self.ask)
        return [(line["group"], line["broker"]) for line in self.lines("connection") if line["error"] == NOT_LISTED]

    def listed(self) -> str | None:
        """What another round's line of the route of `t` says of whether any broker has it."""
        self.ask = asking(self.admin)
        (line,) = self.of_topic("route")
        return line.get("listed")


def stats(topic: str, *entries: str, group: str = "g") -> dict[str, Any]:
    """The line of a topic with these entries of its offsetTable."""
    body = f'{{"offsetTable":{{{",".join(entries)}}}}}'
    return {"kind": "stats", "at": 0, "group": group, "topic": topic, "body": body}


def test_brokers_groups_and_modes_are_discovered_and_what_is_silent_stays_as_it_was() -> None:
    recorder = Recorder(request_modes_a=MODES)
    cluster, answers = recorder.cluster, recorder.answers
    assert cluster.brokers == {"a": A, "b": B}
    assert cluster.clusters == {"a": "Main", "b": "Main"}
    assert cluster.groups == {"g": ("a", "b")}
    group = {"g": {"consumerGroup": "g", "mode": "POP", "popShareQueueNum": 2, "topic": "t"}}
    assert json.loads(cluster.modes["a"]["g"]) == {"messageRequestModeMap": {"t": group}}
    answers |= {("groups", "a"): TIMED_OUT, ("groups", "b"): "g\nh"}
    recorder.discover()
    assert cluster.groups == {"g": ("a", "b"), "h": ("b",)}
    answers |= {("groups", "a"): "h", ("groups", "b"): "h"}
    recorder.discover()
    assert cluster.groups == {"h": ("a", "b")}
    answers[BROKERS_ASKED] = TIMED_OUT
    assert recorder.discover() is CallOutcome.TIMED_OUT
    assert cluster.brokers == {"a": A, "b": B}


def test_a_group_that_no_broker_lists_any_more_has_lines_that_say_so() -> None:
    """A few times, as a line may be lost; not before, and not once it is back."""
    recorder = Recorder(groups_a="g\nh", groups_b="g")
    assert recorder.deleted() == []
    recorder.answers["groups", "a"] = "h"
    assert recorder.deleted() == []
    recorder.answers["groups", "b"] = "i"
    assert [recorder.deleted() for _ in range(4)] == [[("g", "b")]] * 3 + [[]]
    recorder.answers |= {("groups", "a"): "g", ("groups", "b"): "g\nh\ni"}
    assert recorder.deleted() == []
    recorder.answers |= {("groups", "a"): "x", ("groups", "b"): "x"}
    assert sorted(recorder.deleted()) == [("g", "a"), ("g", "b"), ("h", "b"), ("i", "b")]
    recorder.answers["groups", "a"] = "g\nh\ni"
    assert recorder.deleted() == []


def test_a_missing_answer_does_not_prove_that_a_group_is_deleted() -> None:
    recorder = Recorder(groups_a="g\nh", groups_b="k")
    # Broker b, which may list it by now, does not answer; nor does the name server.
    recorder.answers |= {("groups", "a"): "h", ("groups", "b"): TIMED_OUT}
    assert recorder.deleted() == []
    recorder.answers |= {("groups", "b"): "k", BROKERS_ASKED: TIMED_OUT}
    assert recorder.deleted() == []
    # Broker a, the only one that listed it, is gone, and h with it.
    recorder.answers[BROKERS_ASKED] = brokers(b=B.address)
    assert recorder.deleted() == []
    assert recorder.cluster.groups == {"k": ("b",)}
    # It is back, with h.
    recorder.answers[BROKERS_ASKED] = BROKERS
    assert recorder.deleted() == [("g", "a")]


def test_a_group_has_a_line_per_broker_and_one_per_topic() -> None:
    """Of what is popped again, which no member shares, too: its route is not asked for."""
    body = connections("t", "c1", "c1", "c2")
    of_a = offset_table(*(queue("a", topic) for topic in ("t", "%RETRY%g_t", "%RETRY%o")))
    # No topic, and nobody knows a route of it.
    light = queue("b", "%LMQ%$t$session-1")
    of_b = offset_table(queue("b", "t"), queue("b", "%RETRY%g"), light)
    recorder = Recorder(connection_a=body, connection_b=NOT_ONLINE, stats_a=of_a, stats_b=of_b)
    assert recorder.of_group("connection", "stats") == [
        {"kind": "connection", "at": 0, "group": "g", "broker": "a", "body": body, "request_modes": NO_MODES},
        {"kind": "connection", "at": 0, "group": "g", "broker": "b", "error": NOT_ONLINE, "request_modes": NO_MODES},
        stats("t", queue("a", "t"), queue("b", "t")),
        stats("%RETRY%g_t", queue("a", "%RETRY%g_t")),
        stats("%RETRY%g", queue("b", "%RETRY%g")),
    ]
    assert recorder.cluster.consumed["g"] == {"t", "%RETRY%g"}
    clients = [Call(Request.RUNNING, A, group="g", client=name) for name in ("c1", "c2")]
    assert recorder.client_calls == clients


def test_a_thread_that_goes_through_members_meets_no_change() -> None:
    """Whoever asks another group goes through the members of the proxies' group, while those are asked for."""
    online = connections("t", "c1")
    recorder = Recorder(connection_a=online, connection_b=NOT_ONLINE, stats_a=NO_OFFSETS, stats_b=NO_OFFSETS)
    recorder.of_group()
    members = recorder.cluster.members
    for of_b, later in ((online, ["a", "b"]), (NOT_ONLINE, ["a"])):
        before, under_way = list(members["g"]), iter(members["g"])
        first = next(under_way)
        recorder.answers["connection", "b"] = of_b
        recorder.of_group()
        assert [first, *under_way] == before
        assert list(members["g"]) == later


def test_brokers_are_asked_how_far_they_revive_what_was_popped() -> None:
    """Of a group without members; a broker that has nothing to tell costs no line."""
    revive, group = "rmq_sys_REVIVE_LOG_Main", "CID_RMQ_SYS_REVIVE_GROUP"
    recorder = Recorder(stats_a=offset_table(queue("a", revive)), stats_b=NO_OFFSETS)
    ask_revive(recorder.cluster, recorder.ask)
    assert recorder.lines("stats") == [stats(revive, queue("a", revive), group=group)]
    asked = [(call.called.name, call.group) for _, call in recorder.admin.asked if call.group]
    assert asked == [("a", group), ("b", group)]
    assert recorder.cluster.topics() == []


def test_a_topic_that_was_never_committed_is_asked_for_by_name_unless_the_group_broadcasts() -> None:
    entry = queue("a", "t", brokerOffset=9, consumerOffset=0, lastTimestamp=0, pullOffset=0)
    of_brokers = {"connection_a": connections("t", "c1"), "connection_b": NOT_ONLINE}
    of_brokers |= dict.fromkeys(("stats_a", "stats_b"), NO_OFFSETS)
    recorder = Recorder({("stats", "a", "g t"): offset_table(entry)}, **of_brokers)
    recorder.cluster.hosts["t"] = ("a",)
    assert recorder.of_group("stats") == [stats("t", entry)]
    recorder.answers["connection", "a"] = connections("t", "c1", model="BROADCASTING")
    assert recorder.of_group("stats") == []


def test_a_broker_that_does_not_answer_costs_its_own_rows_only_and_is_left_alone() -> None:
    recorder = Recorder(connection_a=connections("t", "c1"), stats_a=offset_table(queue("a", "t")))
    told = recorder.of_group("connection", "stats", "call")
    result = [(line["kind"], line.get("broker"), line.get("error")) for line in told if line["kind"] != "call"]
    assert result == [("connection", "a", None), ("connection", "b", TIMED_OUT), ("stats", None, None)]
    assert fates(told) == [
        ("a", "connection", "ANSWERED"),
        ("b", "connection", "TIMED_OUT"),
        ("a", "stats", "ANSWERED"),
        ("b", "stats", "TIMED_OUT"),
    ]
    not_asked = [line for line in recorder.of_group("call") if line["called"] == "b"]
    assert fates(not_asked) == [("b", "connection", "NOT_ASKED"), ("b", "stats", "NOT_ASKED")]
    assert [json.loads(line["body"])["error"] for line in not_asked] == [TIMED_OUT] * 2


def fates(told: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Who was called, for what, and what came of it."""
    return [(one["called"], one["request"], json.loads(one["body"])["fate"]) for one in told if one["kind"] == "call"]


def test_clients_are_called_through_a_broker_that_answered_in_the_round() -> None:
    """Of a client that only a silent broker lists nothing is known."""
    of_a, of_b = connections("t", "c1", "c2"), connections("t", "c1", "c3")
    recorder = Recorder(connection_a=of_a, connection_b=of_b, stats_a=NO_OFFSETS, stats_b=NO_OFFSETS)
    recorder.of_group()
    assert [(call.client, call.called) for call in recorder.client_calls] == [("c1", A), ("c2", A), ("c3", B)]
    recorder.answers["connection", "a"] = TIMED_OUT
    recorder.of_group()
    assert [(call.client, call.called) for call in recorder.client_calls] == [("c1", B), ("c3", B)]
    recorder.answers["connection", "b"] = NOT_ONLINE
    recorder.of_group()
    assert recorder.client_calls == []


def test_no_client_is_called_through_a_broker_that_is_silent_by_now() -> None:
    """Nor does a client's call use up the try that a pause leaves to the broker."""
    recorder = Recorder(connection_a=TIMED_OUT, connection_b=NOT_ONLINE)
    clock = [0.0]
    recorder.ask = CallRunner(recorder.admin, RateLimit(10_000), Backoff(60, lambda: clock[0]), lambda _: None)
    recorder.of_group()
    clock[0] = 30.0
    through_a = Call(Request.RUNNING, A, group="g", client="c1")
    assert recorder.ask.ask(through_a).outcome is CallOutcome.NOT_ASKED
    recorder.answers["connection", "a"] = connections("t", "c1")
    told = recorder.of_group("connection", "running")
    assert [(line["kind"], line["broker"], "error" in line) for line in told] == [
        ("connection", "a", False),
        ("connection", "b", True),
    ]
    assert recorder.ask.ask(through_a).outcome is CallOutcome.TIMED_OUT


def test_a_client_that_hangs_is_no_word_about_its_broker() -> None:
    recorder = Recorder()
    before = recorder.admin.counts()
    for request in (Request.RUNNING, Request.STACKS) * 3:
        recorder.ask.ask(Call(request, A, group="g", client="c1"))
    assert [line["error"] for line in recorder.lines("running")] == [TIMED_OUT] * 3
    assert recorder.admin.counts() - before == {"running": 3, "stacks": 3}


def test_a_topic_that_all_brokers_of_its_last_route_lack_is_deleted() -> None:
    lacking = "MQBrokerException CODE: 17  DESC: No topic in this broker. topic: t"
    recorder = Recorder({ROUTE: NO_ROUTE}, topic_config_a=lacking, topic_config_b=lacking)
    answers, cluster = recorder.answers, recorder.cluster
    # Which brokers had it is not known.
    assert recorder.listed() is None
    answers[ROUTE] = route("a", "b")
    assert recorder.listed() is None
    answers[ROUTE] = NO_ROUTE
    assert [recorder.listed() for _ in range(2)] == ["false"] * 2
    # One of them still has it, does not answer, or does not know the request.
    for other in ('{"topicName":"t"}', TIMED_OUT, NOT_SUPPORTED):
        answers["topic_config", "b"] = other
        assert recorder.listed() is None
    # It restarts with another version.
    cluster.versions.learn("b", "V5_5_0")
    # The name server knows no such broker any more, as of one that is down.
    answers["topic_config", "b"] = lacking
    del cluster.brokers["b"]
    assert recorder.listed() is None
    cluster.brokers["b"] = B
    assert recorder.listed() == "false"
    # The name server itself did not answer.
    answers[ROUTE] = TIMED_OUT
    assert recorder.listed() is None


def test_only_hosts_of_the_groups_topics_are_asked_once_they_are_known() -> None:
    routes: Answers = {(*ROUTE, "t"): route("a"), (*ROUTE, "%RETRY%g"): NO_ROUTE}
    recorder = Recorder(routes, connection_a=connections("t", "c1"), stats_a=NO_OFFSETS)
    recorder.cluster.consumed["g"] = frozenset({"t", "%RETRY%g"})
    recorded = [recorder.of_topic("route", topic=topic) for topic in recorder.cluster.topics()]
    assert [line.get("error") for (line,) in recorded] == [NO_ROUTE, None]
    recorder.of_group()
    assert {call.called.name for _, call in recorder.admin.asked if call.group} == {"a"}


def test_proxies_are_asked_where_brokers_list_nobody() -> None:
    proxied, heartbeats = connections("t", "h@1@0@9518a42c1"), "CID_DefaultHeartBeatSyncerTopic"
    of_proxies: Answers = {
        ("connection", "proxy 10.9.9.9:8080"): proxied,
        ("connection", "a", heartbeats): connections("DefaultHeartBeatSyncerTopic", "p1", model="BROADCASTING"),
    }
    of_brokers = {"connection_a": NOT_ONLINE, "connection_b": NOT_ONLINE, "stats_a": NO_OFFSETS, "stats_b": NO_OFFSETS}
    recorder = Recorder(of_proxies, **of_brokers)
    recorder.cluster.groups |= {heartbeats: ("a",)}
    recorder.of_group(group=heartbeats)
    asked = recorder.of_group("connection")
    assert [line["broker"] for line in asked] == ["a", "b", "proxy 10.9.9.9:8080"]
    assert asked[2] == {"kind": "connection", "at": 0, "group": "g", "broker": "proxy 10.9.9.9:8080", "body": proxied}
    assert recorder.cluster.consumed["g"] == {"t", "%RETRY%g"}
    assert recorder.client_calls == []


def test_offsets_of_a_topic_are_those_of_all_its_brokers() -> None:
    of_a = offset_table(queue("a", "t", lastUpdateTimestamp=1, maxOffset=9, minOffset=2))
    of_b = offset_table(queue("b", "t", lastUpdateTimestamp=1, maxOffset=8, minOffset=0))
    recorder = Recorder({ROUTE: route("a", "b")}, topicstats_a=of_a, topicstats_b=of_b)
    body = '[["a",0,2,9],["b",0,0,8]]'
    expected = [{"kind": "topicstats", "at": 0, "topic": "t", "body": body}]
    assert recorder.of_topic("topicstats", offsets=True) == expected


def test_a_route_carries_the_topics_attributes_which_are_seldom_asked_for() -> None:
    told = '{"attributes":{"message.type":"PRIORITY"},"readQueueNums":8,"topicName":"t"}'
    recorder = Recorder({ROUTE: route("a", "b")}, topic_config_b=told)
    recorded = [*recorder.of_topic("route"), *recorder.of_topic("route")]
    recorded += recorder.of_topic("route", topic="%RETRY%g", attributes=True)
    assert [line.get("attributes") for line in recorded] == ['{"message.type":"PRIORITY"}'] * 2 + [None]
    asked = [call.called.name for _, call in recorder.admin.asked if call.request == "topic_config"]
    assert asked == ["a", "b"]
    recorder.answers["topic_config", "a"] = '{"topicName":"t"}'
    recorder.cluster.versions.learn("a", "V5_5_0")
    assert [line["attributes"] for line in recorder.of_topic("route", attributes=True)] == ["{}"]


def test_brokers_without_attributes_are_not_asked_again_at_once_and_silent_ones_are() -> None:
    recorder = Recorder({ROUTE: route("a")}, topic_config_a=TIMED_OUT)
    assert ["attributes" in line for line in recorder.of_topic("route")] == [False]
    recorder.answers["topic_config", "a"] = NOT_SUPPORTED
    for _ in range(2):
        recorder.ask = asking(recorder.admin)
        recorder.of_topic()
    assert recorder.admin.counts()["topic_config"] == 2


def test_an_answer_of_another_form_is_recorded_and_says_nothing() -> None:
    recorder = Recorder(connection_a="{not json", connection_b=NOT_ONLINE, stats_a="{}", stats_b="{}")
    assert recorder.of_group("connection")[0]["body"] == "{not json"
    assert recorder.cluster.consumed["g"] == {"%RETRY%g"}


def test_each_name_server_is_asked_where_there_are_several() -> None:
    """Who answers nothing is not in the line, and who has no route has one without queues."""
    recorder = Recorder({ROUTE: route("a", "b")})
    assert "name_servers" not in recorder.of_topic("route")[0]
    assert "server_route" not in recorder.admin.counts()
    recorder.cluster.name_servers = name_servers("n1:9876;n2:9876; n3:9876;n4:9876")
    recorder.answers |= {("server_route", "n1:9876"): route("a", "b"), ("server_route", "n2:9876"): route("a")}
    recorder.answers["server_route", "n3:9876"] = NO_ROUTE
    (line,) = recorder.of_topic("route")
    said = json.loads(line["name_servers"])
    result = {server: [one["brokerName"] for one in queues.get("queueDatas", ())] for server, queues in said.items()}
    assert result == {"n1:9876": ["a", "b"], "n2:9876": ["a"], "n3:9876": []}
    assert name_servers("n1:9876") == ()


def test_a_broker_that_one_name_server_knows_is_asked() -> None:
    """The admin client asks the second one, which does not know broker b. What the first one named stays while it is
    silent.
    """
    of_servers: Answers = {("brokers", "n1:9876"): BROKERS, ("brokers", "n2:9876"): brokers(a=A.address)}
    of_servers |= {
        ("server_route", "n1:9876"): route("a", "b"),
        ("server_route", "n2:9876"): route("a"),
        ROUTE: route("a"),
    }
    recorder = Recorder(of_servers, "n1:9876;n2:9876")
    cluster = recorder.cluster
    assert cluster.brokers == {"a": A, "b": B}
    cluster.consumed["g"] = frozenset({"t"})
    recorder.of_topic()
    assert cluster.brokers_of("g") == [A, B]
    recorder.answers["brokers", "n1:9876"] = TIMED_OUT
    recorder.discover()
    assert cluster.brokers == {"a": A, "b": B}
    recorder.answers["brokers", "n1:9876"] = brokers(a=A.address)
    recorder.discover()
    assert cluster.brokers == {"a": A}
