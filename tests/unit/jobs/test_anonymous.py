"""Other names of a case file: in the same order, of the same form, and nothing of the old ones."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.domain.model.message_queue import java_order
from spark_jobs.errors import OutputError
from spark_jobs.operate.anonymous import NewNames


def renamed(field: str, *texts: str, groups: tuple[str, ...] = ()) -> list[str]:
    names = NewNames(groups)
    for text in texts:
        names.add({field: text})
    names.order()
    return [names.renamed({field: text})[field] for text in texts]


@pytest.mark.parametrize(
    ("field", "old_and_new"),
    [
        ("cluster", {"eu": "cluster-1"}),
        (
            "consumer_group",
            {
                "pay": "group-2",
                "bill": "group-1",
                "CID_RMQ_SYS_TRANS": "CID_RMQ_SYS_TRANS",
                "CID_DefaultHeartBeatSyncerTopic": "CID_DefaultHeartBeatSyncerTopic",
            },
        ),
        (
            "topic",
            {
                "orders": "topic-2",
                "%RETRY%pay": "%RETRY%group-2",
                "%DLQ%pay": "%DLQ%group-2",
                "%RETRY%pay_orders": "%RETRY%group-2_topic-2",
                "%RETRY%pay+orders": "%RETRY%group-2+topic-2",
                "%RETRY%other": "%RETRY%group-1",
                "TBW102": "TBW102",
                "rmq_sys_REVIVE_LOG_eu": "rmq_sys_topic-1",
                "DefaultHeartBeatSyncerTopic": "DefaultHeartBeatSyncerTopic",
            },
        ),
        (
            "broker_name",
            {
                "broker-b": "broker-1",
                "dc1@broker-c": "broker-3@broker-2",
                "proxy 10.0.0.7:8080": "proxy 10.100.100.101:8080",
                "proxy 10.0.0.10:8081": "proxy 10.100.100.100:8081",
            },
        ),
        ("called", {"proxy p1:1": "proxy host-0000000:1", "b": "broker-1"}),
        ("address", {"10.0.0.2:10911": "10.100.100.100:10911", "fe80::1": "host-0000001:1"}),
        ("sub_string", {"*": "*", "": "", "paid || new": "tag-2 || tag-1", "new": "tag-1"}),
        (
            "strategy_class",
            {
                "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely": (
                    "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"
                ),
                "com.acme.AllocateMachineRoomNearby": "AllocateMachineRoomNearby",
                "com.acme.Weighted": "strategy-1",
            },
        ),
        (
            "error",
            {
                "RemotingTimeoutException wait response on the channel <10.0.0.1:1>": "RemotingTimeoutException",
                "org.apache.MQBrokerException: CODE: 1 DESC: pay": "MQBrokerException CODE: 1",
                "no route to eu": "error",
            },
        ),
        (
            "frames",
            {
                "java.base@17.0.15/java.lang.Thread.sleep(Native Method)": "java.lang.Thread.sleep(Native Method)",
                "acme//org.apache.rocketmq.client.Impl.run(Impl.java:411)": (
                    "org.apache.rocketmq.client.Impl.run(Impl.java:411)"
                ),
                "app//com.acme.Dao.query(Dao.java:12)": "method-2(:12)",
                "com.acme.Dao.query(Dao.java:14)": "method-2(:14)",
                "com.acme.Dao$$Lambda$135/0x0f.get(Unknown Source)": "method-1()",
                "com.acme.Dao.queryWithANameThatWasCutOff": "method-3()",
            },
        ),
        (
            "client_id",
            {
                "10.0.0.10@1": "10.100.100.100@1",
                "10.0.0.2@7177#1317818986079": "10.100.100.101@7177#1317818986079",
                "10.0.0.2@DEFAULT": "10.100.100.101@DEFAULT",
                "10.0.0.2@77#DEFAULT": "10.100.100.101@77#DEFAULT",
                "10.0.0.2@erp-1": "10.100.100.101@instance-3",
                "10.0.0.2@Billing": "10.100.100.101@A-2",
                "10.0.0.2@3_a9b8": "10.100.100.101@3_1",
                "10.0.0.2@10.0.9.9:9876@77": "10.100.100.101@10.100.100.102:9876@77",
                "10.0.0.2@orders|12": "10.100.100.101@instance-5|12",
                "10.0.0.2@erp-1@unit": "10.100.100.101@instance-4@instance-6",
                "7b-pod@12@0@3xk2p": "10.100.100.103-host@12@0@3xk2p",
                "pod-7@12@0@3xk2p": "host-0000005@12@0@3xk2p",
                "alone": "host-0000004",
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_new_names_have_the_form_of_the_old_ones(field: str, old_and_new: dict[str, str]) -> None:
    assert dict(zip(old_and_new, renamed(field, *old_and_new, groups=("pay",)), strict=True)) == old_and_new


def test_a_name_is_the_same_wherever_it_is() -> None:
    names = NewNames(["pay"])
    row: dict[str, Any] = {
        "consumer_group": "pay",
        "connections": [{"client_id": "10.0.0.2@1", "client_addr": "10.0.0.2:5001", "language": "JAVA"}],
        "subscriptions": [{"topic": "%RETRY%pay", "sub_string": "*", "sub_version": 5}],
        "listed": None,
    }
    names.add(row)
    names.order()
    assert names.renamed(row) == {
        "consumer_group": "group-1",
        "connections": [{"client_id": "10.100.100.100@1", "client_addr": "10.100.100.100:5001", "language": "JAVA"}],
        "subscriptions": [{"topic": "%RETRY%group-1", "sub_string": "*", "sub_version": 5}],
        "listed": None,
    }


WORDS = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,8}", fullmatch=True)
NUMBERS = st.integers(0, 99_999).map(str)
ADDRESSES = st.ip_addresses(v=4).map(str)
INSTANCES = st.one_of(
    NUMBERS,
    st.tuples(NUMBERS, NUMBERS).map("#".join),
    NUMBERS.map("{}#DEFAULT".format),
    st.just("DEFAULT"),
    st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True),
    st.tuples(WORDS, NUMBERS).map("|".join),
)
CLIENT_IDS = st.one_of(WORDS, st.tuples(ADDRESSES | WORDS, INSTANCES).map("@".join))


@settings(max_examples=200, deadline=None)
@given(st.lists(CLIENT_IDS, min_size=2, max_size=12, unique=True))
def test_new_client_ids_are_in_the_order_of_the_old_ones(client_ids: list[str]) -> None:
    in_order = sorted(client_ids, key=java_order)
    new = renamed("client_id", *in_order)
    assert new == sorted(set(new), key=java_order)


def test_names_whose_order_would_change_are_refused() -> None:
    with pytest.raises(OutputError, match="no other names of client_id keep their order: export without --anonymous"):
        renamed("client_id", "h@10.0.0.9:1@5", "h@10.5#1", "h@9.9.9.9:1@5")
