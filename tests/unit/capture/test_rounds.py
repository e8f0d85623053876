"""Requests about a group and a topic, and the lines that come of them."""

from __future__ import annotations

import json
from typing import Any

from spark_jobs.capture.asking import Backoff, CallRunner, RateLimit
from spark_jobs.capture.calls import Call, Callee, CallOutcome, Request
from spark_jobs.capture.cluster import Cluster, name_servers
from spark_jobs.capture.details import ask_broker, record_routes
from spark_jobs.capture.details import ask_topic as ask_details
from spark_jobs.capture.rounds import ask_group, ask_revive, ask_route, client_calls, discover
from spark_jobs.ingest.recording import NOT_LISTED
from tests.support.fakes import (
    NO_ROUTE,
    NOT_ONLINE,
    TIMED_OUT,
    FakeAdmin,
    brokers,
    connections,
    offset_table,
    queue,
    route,
    version,
)

A, B = Callee("a", "10.0.0.1:10911"), Callee("b", "10.0.0.2:10911")
BROKERS = brokers(a=A.address, b=B.address)
NO_MODES = '{"messageRequestModeMap":{}}'
#: As brokers before 5.0 say of requests that they do not know.
NOT_SUPPORTED = "MQBrokerException CODE: 3  DESC:  request type 351 not supported"
MODES = '{"messageRequestModeMap":{"t":{"g":{"consumerGroup":"g","mode":"POP","popShareQueueNum":2,"topic":"t"}}}}'


def asking(admin: FakeAdmin) -> CallRunner:
    return CallRunner(admin, RateLimit(10_000), Backoff(60), lambda _: None)


def cluster(admin: FakeAdmin) -> tuple[Cluster, CallRunner]:
    """What is discovered by other calls than those of the runner."""
    discovered = Cluster()
    discovered.discover(asking(admin))
    for broker in discovered.brokers.values():
        ask_broker(discovered, asking(admin), broker)
    return discovered, asking(admin)


def ask_topic(cluster: Cluster, ask: CallRunner, topic: str, *, offsets: bool, attributes: bool) -> None:
    """All that is asked about a topic in a round."""
    ask_route(cluster, ask, topic)
    ask_details(cluster, ask, topic, offsets=offsets, attributes=attributes)
    record_routes(cluster, ask)


def answers(**more: str) -> dict[tuple[str, ...], str]:
    """Two brokers that know the group g; `more` by `request_called`."""
    told: dict[tuple[str, ...], str] = {("brokers", "name server"): BROKERS}
    for broker in ("a", "b"):
        told |= {("groups", broker): "g\nTOOLS_CONSUMER", ("request_modes", broker): NO_MODES}
        told["broker_version", broker] = version("5.4.0")
        told["topic_config", broker] = NOT_SUPPORTED
    return told | {tuple(name.split("_", 1)): text for name, text in more.items()}


def lines(of: CallRunner, *kinds: str) -> list[dict[str, Any]]:
    taken = [json.loads(line) for line in of.take()[0]]
    assert all(line["at"] > 1_700_000_000_000 for line in taken)
    return [line | {"at": 0} for line in taken if line["kind"] in kinds]


def stats(topic: str, *entries: str, group: str = "g") -> dict[str, Any]:
    """The line of a topic with these entries of its offsetTable."""
    body = f'{{"offsetTable":{{{",".join(entries)}}}}}'
    return {"kind": "stats", "at": 0, "group": group, "topic": topic, "body": body}


def test_brokers_groups_and_modes_are_discovered_and_what_is_silent_stays_as_it_was() -> None:
    admin = FakeAdmin(answers())
    admin.answers["request_modes", "a"] = MODES
    discovered, _ = cluster(admin)
    assert discovered.brokers == {"a": A, "b": B}
    assert discovered.clusters == {"a": "Main", "b": "Main"}
    assert discovered.groups == {"g": ("a", "b")}
    group = {"g": {"consumerGroup": "g", "mode": "POP", "popShareQueueNum": 2, "topic": "t"}}
    assert json.loads(discovered.modes["a"]["g"]) == {"messageRequestModeMap": {"t": group}}
    admin.answers |= {("groups", "a"): TIMED_OUT, ("groups", "b"): "g\nh"}
    discovered.discover(asking(admin))
    assert discovered.groups == {"g": ("a", "b"), "h": ("b",)}
    admin.answers |= {("groups", "a"): "h", ("groups", "b"): "h"}
    discovered.discover(asking(admin))
    assert discovered.groups == {"h": ("a", "b")}
    admin.answers["brokers", "name server"] = TIMED_OUT
    assert discovered.discover(asking(admin))[0].outcome is CallOutcome.TIMED_OUT
    assert discovered.brokers == {"a": A, "b": B}


def said_deleted(discovered: Cluster, admin: FakeAdmin) -> list[tuple[str, str]]:
    """Group and broker of each line that another discovery writes of a deleted group."""
    ask = asking(admin)
    discover(discovered, ask)
    return [(line["group"], line["broker"]) for line in lines(ask, "connection") if line["error"] == NOT_LISTED]


def test_a_group_that_no_broker_lists_any_more_has_lines_that_say_so() -> None:
    """A few times, as a line may be lost; not before, and not once it is back."""
    admin = FakeAdmin(answers(groups_a="g\nh", groups_b="g"))
    discovered, _ = cluster(admin)
    assert said_deleted(discovered, admin) == []
    admin.answers["groups", "a"] = "h"
    assert said_deleted(discovered, admin) == []
    admin.answers["groups", "b"] = "i"
    assert [said_deleted(discovered, admin) for _ in range(4)] == [[("g", "b")]] * 3 + [[]]
    admin.answers |= {("groups", "a"): "g", ("groups", "b"): "g\nh\ni"}
    assert said_deleted(discovered, admin) == []
    admin.answers |= {("groups", "a"): "x", ("groups", "b"): "x"}
    assert sorted(said_deleted(discovered, admin)) == [("g", "a"), ("g", "b"), ("h", "b"), ("i", "b")]
    admin.answers["groups", "a"] = "g\nh\ni"
    assert said_deleted(discovered, admin) == []


def test_a_missing_answer_does_not_prove_that_a_group_is_deleted() -> None:
    admin = FakeAdmin(answers(groups_a="g\nh", groups_b="k"))
    discovered, _ = cluster(admin)
    # Broker b, which may list it by now, does not answer; nor does the name server.
    admin.answers |= {("groups", "a"): "h", ("groups", "b"): TIMED_OUT}
    assert said_deleted(discovered, admin) == []
    admin.answers |= {("groups", "b"): "k", ("brokers", "name server"): TIMED_OUT}
    assert said_deleted(discovered, admin) == []
    # Broker a, the only one that listed it, is gone, and h with it.
    admin.answers["brokers", "name server"] = brokers(b=B.address)
    assert said_deleted(discovered, admin) == []
    assert discovered.groups == {"k": ("b",)}
    # It is back, with h.
    admin.answers["brokers", "name server"] = BROKERS
    assert said_deleted(discovered, admin) == [("g", "a")]


def test_a_group_has_a_line_per_broker_and_one_per_topic() -> None:
    """Of what is popped again, which no member shares, too: its route is not asked for."""
    numbers = {"brokerOffset": 9, "consumerOffset": 8, "lastTimestamp": 7, "pullOffset": 8}
    body = connections("t", "c1", "c1", "c2")
    of_a = offset_table(*(queue("a", topic, **numbers) for topic in ("t", "%RETRY%g_t", "%RETRY%o")))
    # No topic, and nobody knows a route of it.
    light = queue("b", "%LMQ%$t$session-1", **numbers)
    of_b = offset_table(queue("b", "t", **numbers), queue("b", "%RETRY%g", **numbers), light)
    admin = FakeAdmin(answers(connection_a=body, connection_b=NOT_ONLINE, stats_a=of_a, stats_b=of_b))
    discovered, ask = cluster(admin)
    ask_group(discovered, ask, "g")
    assert lines(ask, "connection", "stats") == [
        {"kind": "connection", "at": 0, "group": "g", "broker": "a", "body": body, "request_modes": NO_MODES},
        {"kind": "connection", "at": 0, "group": "g", "broker": "b", "error": NOT_ONLINE, "request_modes": NO_MODES},
        stats("t", queue("a", "t", **numbers), queue("b", "t", **numbers)),
        stats("%RETRY%g_t", queue("a", "%RETRY%g_t", **numbers)),
        stats("%RETRY%g", queue("b", "%RETRY%g", **numbers)),
    ]
    assert discovered.consumed["g"] == {"t", "%RETRY%g"}
    assert client_calls(discovered, "g") == [Call(Request.RUNNING, A, group="g", client=name) for name in ("c1", "c2")]


def test_a_thread_that_goes_through_members_meets_no_change() -> None:
    """Whoever asks another group goes through the members of the proxies' group, while those are asked for."""
    online = connections("t", "c1")
    stats = {f"stats_{broker}": offset_table() for broker in "ab"}
    admin = FakeAdmin(answers(connection_a=online, connection_b=NOT_ONLINE, **stats))
    discovered, ask = cluster(admin)
    ask_group(discovered, ask, "g")
    for of_b, later in ((online, ["a", "b"]), (NOT_ONLINE, ["a"])):
        before, under_way = list(discovered.members["g"]), iter(discovered.members["g"])
        first = next(under_way)
        admin.answers["connection", "b"] = of_b
        ask_group(discovered, ask, "g")
        assert [first, *under_way] == before
        assert list(discovered.members["g"]) == later


def test_brokers_are_asked_how_far_they_revive_what_was_popped() -> None:
    """Of a group without members; a broker that has nothing to tell costs no line."""
    revive, group = "rmq_sys_REVIVE_LOG_Main", "CID_RMQ_SYS_REVIVE_GROUP"
    entry = queue("a", revive, brokerOffset=9, consumerOffset=8, lastTimestamp=7, pullOffset=8)
    admin = FakeAdmin(answers(stats_a=offset_table(entry), stats_b=offset_table()))
    discovered, ask = cluster(admin)
    ask_revive(discovered, ask)
    assert lines(ask, "stats") == [stats(revive, entry, group=group)]
    assert [(call.called.name, call.group) for _, call in admin.asked if call.group] == [("a", group), ("b", group)]
    assert discovered.topics() == []


def test_a_topic_that_was_never_committed_is_asked_for_by_name_unless_the_group_broadcasts() -> None:
    nothing = offset_table()
    admin = FakeAdmin(answers(connection_a=connections("t", "c1"), connection_b=NOT_ONLINE))
    admin.answers |= {("stats", "a"): nothing, ("stats", "b"): nothing}
    entry = queue("a", "t", brokerOffset=9, consumerOffset=0, lastTimestamp=0, pullOffset=0)
    admin.answers["stats", "a", "g t"] = offset_table(entry)
    discovered, ask = cluster(admin)
    discovered.hosts["t"] = ("a",)
    ask_group(discovered, ask, "g")
    assert lines(ask, "stats") == [stats("t", entry)]
    admin.answers["connection", "a"] = connections("t", "c1", model="BROADCASTING")
    ask_group(discovered, ask, "g")
    assert lines(ask, "stats") == []


def test_a_broker_that_does_not_answer_costs_its_own_rows_only_and_is_left_alone() -> None:
    entry = queue("a", "t", brokerOffset=9, consumerOffset=8, lastTimestamp=7, pullOffset=8)
    admin = FakeAdmin(answers(connection_a=connections("t", "c1"), stats_a=offset_table(entry)))
    discovered, ask = cluster(admin)
    ask_group(discovered, ask, "g")
    told = lines(ask, "connection", "stats", "call")
    result = [(line["kind"], line.get("broker"), line.get("error")) for line in told if line["kind"] != "call"]
    assert result == [("connection", "a", None), ("connection", "b", TIMED_OUT), ("stats", None, None)]
    assert fates(told) == [
        ("a", "connection", "ANSWERED"),
        ("b", "connection", "TIMED_OUT"),
        ("a", "stats", "ANSWERED"),
        ("b", "stats", "TIMED_OUT"),
    ]
    ask_group(discovered, ask, "g")
    not_asked = [line for line in lines(ask, "call") if line["called"] == "b"]
    assert fates(not_asked) == [("b", "connection", "NOT_ASKED"), ("b", "stats", "NOT_ASKED")]
    assert [json.loads(line["body"])["error"] for line in not_asked] == [TIMED_OUT] * 2


def fates(told: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Who was called, for what, and what came of it."""
    return [(one["called"], one["request"], json.loads(one["body"])["fate"]) for one in told if one["kind"] == "call"]


def test_a_client_that_hangs_is_no_word_about_its_broker() -> None:
    admin = FakeAdmin(answers())
    ask = asking(admin)
    for _ in range(3):
        ask.ask(Call(Request.RUNNING, A, group="g", client="c1"))
    assert [line["error"] for line in lines(ask, "running")] == [TIMED_OUT] * 3
    assert admin.counts() == {"running": 3}


def said_of_topic(discovered: Cluster, admin: FakeAdmin) -> str | None:
    """What another round's line of the route of `t` says of whether any broker has it."""
    ask = asking(admin)
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    ((listed),) = [line.get("listed") for line in lines(ask, "route")]
    return None if listed is None else str(listed)


def test_a_topic_that_all_brokers_of_its_last_route_lack_is_deleted() -> None:
    lacking = "MQBrokerException CODE: 17  DESC: No topic in this broker. topic: t"
    admin = FakeAdmin(answers(topic_config_a=lacking, topic_config_b=lacking))
    admin.answers["topic_config", "a"] = admin.answers["topic_config", "b"] = lacking
    discovered, _ = cluster(admin)
    # Which brokers had it is not known.
    admin.answers["route", "name server"] = NO_ROUTE
    assert said_of_topic(discovered, admin) is None
    admin.answers["route", "name server"] = route("a", "b")
    assert said_of_topic(discovered, admin) is None
    admin.answers["route", "name server"] = NO_ROUTE
    assert [said_of_topic(discovered, admin) for _ in range(2)] == ["false"] * 2
    # One of them still has it, does not answer, or does not know the request.
    for other in ('{"topicName":"t"}', TIMED_OUT, NOT_SUPPORTED):
        admin.answers["topic_config", "b"] = other
        assert said_of_topic(discovered, admin) is None
    # It restarts with another version.
    discovered.versions.learn("b", "V5_5_0")
    # The name server knows no such broker any more, as of one that is down.
    admin.answers["topic_config", "b"] = lacking
    del discovered.brokers["b"]
    assert said_of_topic(discovered, admin) is None
    discovered.brokers["b"] = B
    assert said_of_topic(discovered, admin) == "false"
    # The name server itself did not answer.
    admin.answers["route", "name server"] = TIMED_OUT
    assert said_of_topic(discovered, admin) is None


def test_only_hosts_of_the_groups_topics_are_asked_once_they_are_known() -> None:
    admin = FakeAdmin(answers(connection_a=connections("t", "c1"), stats_a=offset_table(), route_x=NO_ROUTE))
    admin.answers |= {("route", "name server", "t"): route("a"), ("route", "name server", "%RETRY%g"): NO_ROUTE}
    discovered, ask = cluster(admin)
    discovered.consumed["g"] = frozenset({"t", "%RETRY%g"})
    for topic in discovered.topics():
        ask_topic(discovered, ask, topic, offsets=False, attributes=False)
    assert [one.get("error") for one in lines(ask, "route")] == [NO_ROUTE, None]
    ask_group(discovered, ask, "g")
    assert {call.called.name for _, call in admin.asked if call.group} == {"a"}


def test_proxies_are_asked_where_brokers_list_nobody() -> None:
    proxied = connections("t", "h@1@0@9518a42c1")
    admin = FakeAdmin(answers(connection_a=NOT_ONLINE, connection_b=NOT_ONLINE, stats_a=offset_table()))
    admin.answers |= {("stats", "b"): offset_table(), ("connection", "proxy 10.9.9.9:8080"): proxied}
    discovered, ask = cluster(admin)
    heartbeats = "CID_DefaultHeartBeatSyncerTopic"
    admin.answers["connection", "a", heartbeats] = connections(
        "DefaultHeartBeatSyncerTopic", "p1", model="BROADCASTING"
    )
    discovered.groups |= {heartbeats: ("a",)}
    ask_group(discovered, ask, heartbeats)
    ask.take()
    ask_group(discovered, ask, "g")
    asked = lines(ask, "connection")
    assert [line["broker"] for line in asked] == ["a", "b", "proxy 10.9.9.9:8080"]
    assert asked[2] == {"kind": "connection", "at": 0, "group": "g", "broker": "proxy 10.9.9.9:8080", "body": proxied}
    assert discovered.consumed["g"] == {"t", "%RETRY%g"}
    assert client_calls(discovered, "g") == []


def test_offsets_of_a_topic_are_those_of_all_its_brokers() -> None:
    of_a = offset_table(queue("a", "t", lastUpdateTimestamp=1, maxOffset=9, minOffset=2))
    of_b = offset_table(queue("b", "t", lastUpdateTimestamp=1, maxOffset=8, minOffset=0))
    admin = FakeAdmin(answers(topicstats_a=of_a, topicstats_b=of_b))
    admin.answers["route", "name server"] = route("a", "b")
    discovered, ask = cluster(admin)
    ask_topic(discovered, ask, "t", offsets=True, attributes=False)
    body = '[["a",0,2,9],["b",0,0,8]]'
    assert lines(ask, "topicstats") == [{"kind": "topicstats", "at": 0, "topic": "t", "body": body}]


def test_a_route_carries_the_topics_attributes_which_are_seldom_asked_for() -> None:
    told = '{"attributes":{"message.type":"PRIORITY"},"readQueueNums":8,"topicName":"t"}'
    admin = FakeAdmin(answers())
    admin.answers |= {("topic_config", "b"): told, ("route", "name server"): route("a", "b")}
    discovered, ask = cluster(admin)
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    ask_topic(discovered, ask, "%RETRY%g", offsets=False, attributes=True)
    assert [line.get("attributes") for line in lines(ask, "route")] == ['{"message.type":"PRIORITY"}'] * 2 + [None]
    assert [call.called.name for _, call in admin.asked if call.request == "topic_config"] == ["a", "b"]
    admin.answers["topic_config", "a"] = '{"topicName":"t"}'
    discovered.versions.learn("a", "V5_5_0")
    ask_topic(discovered, ask, "t", offsets=False, attributes=True)
    assert [line["attributes"] for line in lines(ask, "route")] == ["{}"]


def test_brokers_without_attributes_are_not_asked_again_at_once_and_silent_ones_are() -> None:
    admin = FakeAdmin(answers())
    admin.answers |= {("topic_config", "a"): TIMED_OUT, ("route", "name server"): route("a")}
    discovered, ask = cluster(admin)
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    admin.answers["topic_config", "a"] = NOT_SUPPORTED
    for _ in range(2):
        ask_topic(discovered, asking(admin), "t", offsets=False, attributes=False)
    assert admin.counts()["topic_config"] == 2
    assert ["attributes" in line for line in lines(ask, "route")] == [False]


def test_an_answer_of_another_form_is_recorded_and_says_nothing() -> None:
    admin = FakeAdmin(answers(connection_a="{not json", connection_b=NOT_ONLINE, stats_a="{}", stats_b="{}"))
    discovered, ask = cluster(admin)
    ask_group(discovered, ask, "g")
    assert lines(ask, "connection")[0]["body"] == "{not json"
    assert discovered.consumed["g"] == {"%RETRY%g"}


def test_each_name_server_is_asked_where_there_are_several() -> None:
    """Who answers nothing is not in the line, and who has no route has one without queues."""
    admin = FakeAdmin(answers())
    admin.answers["route", "name server"] = route("a", "b")
    discovered, ask = cluster(admin)
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    assert "name_servers" not in lines(ask, "route")[0]
    assert "server_route" not in admin.counts()
    discovered.name_servers = name_servers("n1:9876;n2:9876; n3:9876;n4:9876")
    admin.answers |= {("server_route", "n1:9876"): route("a", "b"), ("server_route", "n2:9876"): route("a")}
    admin.answers["server_route", "n3:9876"] = NO_ROUTE
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    (line,) = lines(ask, "route")
    said = json.loads(line["name_servers"])
    result = {server: [one["brokerName"] for one in queues.get("queueDatas", ())] for server, queues in said.items()}
    assert result == {"n1:9876": ["a", "b"], "n2:9876": ["a"], "n3:9876": []}
    assert name_servers("n1:9876") == ()


def test_a_broker_that_one_name_server_knows_is_asked() -> None:
    """The admin client asks the second one, which does not know broker b. What the first one named stays while it is
    silent.
    """
    admin = FakeAdmin(answers(connection_a=NOT_ONLINE, connection_b=NOT_ONLINE, stats_a="{}", stats_b="{}"))
    admin.answers |= {("brokers", "n1:9876"): BROKERS, ("brokers", "n2:9876"): brokers(a=A.address)}
    admin.answers |= {("server_route", "n1:9876"): route("a", "b"), ("server_route", "n2:9876"): route("a")}
    admin.answers["route", "name server"] = route("a")
    discovered, ask = Cluster(name_servers=name_servers("n1:9876;n2:9876")), asking(admin)
    discovered.discover(ask)
    assert discovered.brokers == {"a": A, "b": B}
    discovered.consumed["g"] = frozenset({"t"})
    ask_topic(discovered, ask, "t", offsets=False, attributes=False)
    assert discovered.brokers_of("g") == [A, B]
    admin.answers["brokers", "n1:9876"] = TIMED_OUT
    discovered.discover(ask)
    assert discovered.brokers == {"a": A, "b": B}
    admin.answers["brokers", "n1:9876"] = brokers(a=A.address)
    discovered.discover(asking(admin))
    assert discovered.brokers == {"a": A}
