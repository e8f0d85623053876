"""A broker is asked for what it can answer: by its version, or by one probe that is remembered."""

import pytest

from spark_jobs.capture.calls import Callee, Request
from spark_jobs.capture.cluster import Cluster
from spark_jobs.capture.details import ask_broker, ask_topic
from spark_jobs.capture.rounds import ask_route
from tests.support.fakes import NO_MODES, NO_ROUTE, NOT_SUPPORTED, REFUSED, TIMED_OUT, FakeAdmin, asking, route, version

A, B = Callee("a", "10.0.0.1:10911"), Callee("b", "10.0.0.2:10911")
NO_TOPIC = "MQBrokerException CODE: 17  DESC: No topic in this broker. topic: TBW102"
LOST_CONFIG = "topics' configuration: message types are unknown, and deleted topics look like lost routes"


def asked_of(number: str, times: int = 1, **answers: str) -> tuple[Cluster, FakeAdmin]:
    """Broker a of this version, whose answers are by request, after so many discoveries and one round of a topic."""
    admin = FakeAdmin({(request, "a"): answer for request, answer in answers.items()})
    admin.answers |= {("broker_version", "a"): version(number), ("route", "name server"): route("a")}
    cluster = Cluster(brokers={"a": A})
    for _ in range(times):
        ask = asking(admin)
        ask_broker(cluster, ask, A)
        ask_route(cluster, ask, "t")
        ask_topic(cluster, ask, "t", offsets=False, attributes=True)
    return cluster, admin


@pytest.mark.parametrize("number", ["4.3.0", "4.7.1", "4.9.0", "4.9.4", "4.9.8"])
def test_a_broker_before_5_is_never_asked_for_what_it_does_not_know(number: str) -> None:
    cluster, admin = asked_of(number, times=3)
    assert admin.counts() == {"broker_version": 3, "route": 3}
    # It has no POP, so nothing is lost without request modes.
    assert list(cluster.versions.left_out(cluster.brokers)) == [f"a ({number}) is not asked for {LOST_CONFIG}"]


@pytest.mark.parametrize("number", ["5.0.0", "5.1.4", "5.4.0", "5.5.1"])
def test_a_broker_of_5_is_asked_and_not_probed(number: str) -> None:
    cluster, admin = asked_of(number, request_modes=NO_MODES, topic_config='{"topicName":"t"}')
    assert [(call.request, call.topic) for _, call in admin.asked] == [
        (Request.BROKER_VERSION, ""),
        (Request.REQUEST_MODES, ""),
        (Request.ROUTE, "t"),
        (Request.TOPIC_CONFIG, "t"),
    ]
    assert list(cluster.versions.left_out(cluster.brokers)) == []


@pytest.mark.parametrize("number", ["5.6.0", "5.0.0.ALPHA", "9.1", "vendor"])
@pytest.mark.parametrize("answer", [NOT_SUPPORTED, TIMED_OUT])
def test_an_unknown_version_is_probed_once(number: str, answer: str) -> None:
    cluster, admin = asked_of(number, times=3, request_modes=answer, topic_config=answer)
    assert admin.counts() == {"broker_version": 3, "topic_config": 1, "request_modes": 1, "route": 3}
    assert list(cluster.versions.left_out(cluster.brokers)) == [
        f"a ({number}) is not asked for {LOST_CONFIG}",
        f"a ({number}) is not asked for request modes: which groups use POP is unknown",
    ]
    admin.answers |= {("broker_version", "a"): version("5.4.0"), ("request_modes", "a"): NO_MODES}
    ask_broker(cluster, asking(admin), A)
    assert admin.counts()["request_modes"] == 2
    assert list(cluster.versions.left_out(cluster.brokers)) == []


def test_a_probe_that_is_answered_is_remembered_and_a_connection_that_fails_is_no_answer() -> None:
    cluster, admin = asked_of("5.6.0", times=2, request_modes=REFUSED, topic_config=NO_TOPIC)
    assert [call.topic for _, call in admin.asked if call.request == "topic_config"] == ["TBW102", "t", "t"]
    assert admin.counts()["request_modes"] == 2
    assert list(cluster.versions.left_out(cluster.brokers)) == []


def test_a_release_that_does_not_know_a_request_all_the_same_is_not_asked_again_and_a_late_one_is() -> None:
    _, admin = asked_of("5.1.4", times=3, request_modes=NOT_SUPPORTED, topic_config=TIMED_OUT)
    assert (admin.counts()["request_modes"], admin.counts()["topic_config"]) == (1, 3)


def test_a_broker_that_does_not_report_its_version_is_probed() -> None:
    cluster, admin = asked_of("5.4.0", times=0)
    admin.answers |= {("broker_version", "a"): TIMED_OUT, ("request_modes", "a"): NOT_SUPPORTED}
    ask_broker(cluster, asking(admin), A)
    assert [line.partition(" is not")[0] for line in cluster.versions.left_out(cluster.brokers)] == [
        "a (unknown version)"
    ] * 2


def test_brokers_of_an_upgrade_are_asked_each_for_its_own() -> None:
    """Of a topic on both, the newer one tells the attributes; that it is deleted only both could tell."""
    admin = FakeAdmin({("broker_version", "a"): version("4.9.4"), ("broker_version", "b"): version("5.4.0")})
    admin.answers |= {("request_modes", "b"): NO_MODES, ("route", "name server"): route("a", "b")}
    admin.answers["topic_config", "b"] = '{"attributes":{"message.type":"FIFO"},"topicName":"t"}'
    cluster = Cluster(brokers={"a": A, "b": B})
    ask = asking(admin)
    for broker in (A, B):
        ask_broker(cluster, ask, broker)
    ask_route(cluster, ask, "t")
    ask_topic(cluster, ask, "t", offsets=False, attributes=False)
    assert cluster.attributes == {"t": '{"message.type":"FIFO"}'}
    admin.answers |= {("route", "name server"): NO_ROUTE, ("topic_config", "b"): NO_TOPIC}
    ask_route(cluster, ask, "t")
    ask_topic(cluster, ask, "t", offsets=False, attributes=False)
    assert cluster.is_deleted == {"t": False}
    assert {call.called.name for _, call in admin.asked if call.request in ("topic_config", "request_modes")} == {"b"}
