"""Which groups, topics and proxies are asked for."""

import re

from spark_jobs.capture.calls import Callee
from spark_jobs.capture.cluster import groups_to_ask, proxies
from spark_jobs.domain.rocketmq.system_names import is_topic_of

PROXIES = "CID_DefaultHeartBeatSyncerTopic"


def test_groups_of_users_and_of_the_proxies() -> None:
    names = ["orders", "payments", "TOOLS_CONSUMER", "CID_RMQ_SYS_TRANS", "CID_ONSAPI_PULL", PROXIES, ""]
    assert groups_to_ask(names, None) == {"orders", "payments", PROXIES}
    assert groups_to_ask(names, re.compile("pay.*")) == {"payments", PROXIES}
    assert groups_to_ask(names, re.compile("pay")) == {PROXIES}


def test_topics_that_a_group_shares() -> None:
    assert is_topic_of("orders", "g")
    assert is_topic_of("%RETRY%g", "g")
    assert not is_topic_of("%RETRY%g_orders", "g")
    assert not is_topic_of("%RETRY%g+orders", "g")
    assert not is_topic_of("%RETRY%other", "g")
    assert not is_topic_of("rmq_sys_REVIVE_LOG_Main", "g")
    assert not is_topic_of("TBW102", "g")


def test_proxies_are_the_hosts_behind_the_connections_unless_they_are_named() -> None:
    connected = ["10.0.0.7:40112", "10.0.0.8:40113", "10.0.0.7:40114"]
    found = (Callee("proxy 10.0.0.7:8080", "10.0.0.7:8080"), Callee("proxy 10.0.0.8:8080", "10.0.0.8:8080"))
    assert proxies(connected) == found
    assert proxies(connected, ["p:9090"]) == (Callee("proxy p:9090", "p:9090"),)
    assert proxies([]) == ()
